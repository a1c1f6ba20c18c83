"""The agents known by name, and a person's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hm_jupyter import catalog as module
from hm_jupyter.catalog import Agent, catalog, own_file, parsed
from hm_jupyter.errors import UsageError

KNOWN = {
    "gemini", "claude-agent-acp", "codex-acp", "opencode", "qwen", "vibe", "fast-agent", "goose", "kimi", "openhands",
    "hoplite", "omp", "pi",
}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's configuration folder, an empty one."""
    file = tmp_path / "hm_jupyter" / "agents.toml"
    file.parent.mkdir()
    monkeypatch.setattr(module, "own_file", lambda: file)
    return file


def test_these_agents_are_known_by_name(config: Path):
    assert set(catalog().agents) == KNOWN
    assert [catalog().get(alias)[0] for alias in ("claude", "codex", "mistral-vibe", "Gemini")] == [  # type: ignore[index]
        "claude-agent-acp", "codex-acp", "vibe", "gemini",
    ]  # fmt: skip
    assert catalog().get("nobody") is None


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_each_says_how_it_is_installed_and_which_mode_asks(name: str):
    agent = module._ours()[name]
    assert agent.title and agent.command and agent.install and agent.asks and agent.sign_in


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_one_whose_default_never_asks_is_set_to_ask_and_warned_of(name: str):
    agent = module._ours()[name]
    assert bool(agent.warning) == bool(agent.env or (agent.mode and name != "openhands")), name
    assert agent.mode in ("", agent.asks)


def test_a_version_known_to_work_is_named_where_a_registry_has_it():
    pinned = [a for a in module._ours().values() if a.install.startswith(("npm", "pip"))]
    assert len(pinned) == 11
    assert all("@" in a.install or "==" in a.install or "<" in a.install for a in pinned)


def test_claude_is_started_without_the_variable_that_stops_it_as_root():
    assert "IS_SANDBOX" in module._ours()["claude-agent-acp"].remove


def test_gemini_is_told_that_a_missing_file_is_empty():
    assert module._ours()["gemini"].quirks.missing_file == "empty"


def test_agents_of_ones_own_are_added_and_go_before_ours(config: Path):
    config.write_text(
        '[agents.mine]\ncommand = ["mine", "acp"]\nmode = "ask"\noptions = { web = false, effort = "high" }\n'
        '[agents.gemini]\ncommand = ["/opt/gemini", "--acp"]\n'
        '[agents.far]\nurl = "https://host/acp"\nheaders = { Authorization = "Bearer ${FAR_TOKEN}" }\n'
    )
    agents = catalog().agents
    assert agents["mine"].options == {"web": False, "effort": "high"}
    assert agents["gemini"].command == ["/opt/gemini", "--acp"]
    assert agents["far"].url
    assert catalog().file == config
    assert len(agents) == len(KNOWN) + 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agents.x\n", ["is not TOML", "line 1"]),
        ('[agents.x]\ntitle = "a"\ncomand = ["a"]\n', ["agents.x.comand", "(line 3)", "no such field"]),
        (
            '[agents.a]\ncommand = ["a"]\n\n[agents.x]\ncommand = "a b"\n',
            ["agents.x.command", "(line 5)", "valid list"],
        ),
        ('[agents.x]\ntitle = "x"\n', ["agents.x (line 1)", "command", "url"]),
        ('[agents.x]\ncommand = ["a"]\nurl = "https://h"\n', ["agents.x", "either"]),
        ('[agents.x]\nurl = "host/acp"\n', ["agents.x.url (line 2)", "https://"]),
        ('[agents.x]\ncommand = ["a"]\nprotocol = "mcp"\n', ["agents.x.protocol (line 3)"]),
        ('[agents.x]\ncommand = ["a"]\n[agents.x.quirks]\nfs_reed = true\n', ["agents.x.quirks.fs_reed (line 4)"]),
        ('[agents.hm]\ncommand = ["a"]\n', ["'hm'", "(line 1)"]),
        ('[agents."a b"]\ncommand = ["a"]\n', ["'a b'", "is no name"]),
        ('[x]\ncommand = ["a"]\n', ["(line 1)", "[agents.NAME]"]),
    ],
)
def test_a_file_that_is_not_right_is_told_with_its_line_and_field(config: Path, text: str, said: list[str]):
    config.write_text(text)
    with pytest.raises(UsageError) as error:
        catalog()
    assert str(config) in str(error.value)
    for part in said:
        assert part in str(error.value)


def test_a_file_that_cannot_be_read_is_told(config: Path):
    config.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        catalog()


def test_the_file_lies_in_the_persons_configuration_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert own_file().name == "agents.toml"
    assert own_file().parent.name == "hm_jupyter"


def test_an_entry_is_not_changed_by_who_reads_it():
    with pytest.raises(ValueError):
        Agent(command=["a"]).command = ["b"]  # type: ignore[misc]


def test_no_agents_is_a_file_too():
    assert parsed("", "f") == {}
