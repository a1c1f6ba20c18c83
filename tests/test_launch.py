"""What a person names becomes a program or an address; what the agent's process inherits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hm_jupyter import catalog as catalog_module
from hm_jupyter.errors import AgentNotFound, UsageError
from hm_jupyter.launch import environment, expanded, find, missing, named

SECRET = "sk-only-for-this-test"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "agents.toml"
    monkeypatch.setattr(catalog_module, "own_file", lambda: file)
    return file


def test_nothing_is_the_built_in_agent():
    assert find(None).builtin
    assert find(None).protocol == "hm"
    assert find("builtin") == find(None)


def test_the_demo_is_the_built_in_agent_on_its_scripts_whatever_keys_there_are():
    assert find("demo").builtin
    assert find("demo").program[-2:] == ["--provider", "demo"]


def test_a_name_is_looked_up_aliases_too():
    assert find("gemini").program == ["gemini", "--acp"]
    assert find("claude").name == "claude-agent-acp"
    assert find("claude").protocol == "acp"
    assert find("claude", "acp1").protocol == "acp1"


def test_a_bare_command_speaks_acp_unless_said_otherwise():
    assert find(["my-agent", "acp"]).protocol == "acp"
    assert find(["hm", "agent"], "hm").protocol == "hm"
    with pytest.raises(UsageError, match="command is empty"):
        find([])


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["/opt/bin/my-agent", "acp"], "my-agent"),
        (["python3.12", "-u", "/w/agent.py", "--v2"], "agent"),
        (["npx", "-y", "@google/gemini-cli@0.61.0", "--acp"], "gemini-cli"),
        (["node", "dist/agent.mjs"], "agent"),
        (["uvx", "mistral-vibe"], "mistral-vibe"),
        (["python"], "python"),
    ],
)
def test_a_command_is_called_by_what_it_runs(command: list[str], name: str):
    assert find(command).name == name


def test_an_unknown_name_says_what_is_near_and_how_to_give_a_command():
    with pytest.raises(AgentNotFound, match="Did you mean 'gemini'"):
        find("gemeni")
    with pytest.raises(AgentNotFound) as error:
        find("my agent --acp")
    assert "hm.connect(['my', 'agent', '--acp'])" in str(error.value)


def test_an_address_is_one_and_is_called_by_its_host():
    launch = find("https://host.example:8443/acp?project=7", token=SECRET)
    assert (launch.name, launch.program, launch.protocol) == ("host.example:8443", [], "acp")
    assert launch.headers == {"Authorization": f"Bearer {SECRET}"}
    assert find("wss://host/acp", "acp2").protocol == "acp2"


def test_no_token_and_no_query_is_in_a_repr():
    launch = find(f"https://host/acp?key={SECRET}", headers={"X-Api-Key": SECRET}, token=SECRET)
    assert SECRET not in repr(launch)
    assert SECRET not in str(launch)


def test_no_error_tells_a_token():
    for wrong in (
        lambda: find("gemini", token=SECRET),
        lambda: find(f"https://user:{SECRET}@", token=SECRET),
        lambda: find("https://h/acp", "hm", token=SECRET),
        lambda: find(f"https://h:{SECRET}/acp"),
    ):
        with pytest.raises(UsageError) as error:
            wrong()
        assert SECRET not in str(error.value)


def test_a_token_that_is_empty_is_a_variable_that_is_not_set():
    with pytest.raises(UsageError, match="environment variable"):
        find("https://host/acp", token="")


def test_headers_may_come_from_a_function_that_renews_them():
    def headers() -> dict[str, str]:
        return {"Authorization": "Bearer 1"}

    assert find("https://host/acp", headers=headers).headers is headers
    with pytest.raises(UsageError, match="function"):
        find("https://host/acp", headers=headers, token="t")


def test_a_remote_agent_of_the_catalog_takes_its_token_from_the_environment(own: Path, monkeypatch: pytest.MonkeyPatch):
    own.write_text('[agents.far]\nurl = "https://host/acp"\nheaders = { Authorization = "Bearer ${FAR_TOKEN}" }\n')
    with pytest.raises(UsageError, match="FAR_TOKEN"):
        find("far")
    monkeypatch.setenv("FAR_TOKEN", SECRET)
    assert find("far").headers == {"Authorization": f"Bearer {SECRET}"}
    assert find("far").name == "far"
    assert find("far", token="other").headers == {"Authorization": "Bearer other"}


def test_an_unknown_protocol_is_refused_and_hm_speaks_hm_only():
    with pytest.raises(UsageError, match="acp1, acp2"):
        find("gemini", "mcp")
    with pytest.raises(UsageError, match="speaks hm RPC"):
        find(None, "acp")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", None),
        ("gemini", "gemini"),
        (" https://host/acp?a=b c ", "https://host/acp?a=b c"),
        ("node agent.js 'a b'", ["node", "agent.js", "a b"]),
    ],
)
def test_a_setting_is_a_name_an_address_or_a_command(text: str, meant: object):
    assert named(text) == meant


def test_pitfall_19_the_environment_is_inherited_but_for_what_npm_sets_for_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("npm_config_prefix", "/x")
    monkeypatch.setenv("npm_lifecycle_event", "start")
    laid = environment(find(["my-agent"]))
    assert laid == {"npm_config_prefix": None, "npm_lifecycle_event": None}  # the rest stays as it is


def test_the_catalogs_variables_give_way_to_the_environment_and_that_to_the_caller(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GOOSE_MODE", raising=False)
    assert environment(find("goose"))["GOOSE_MODE"] == "approve"
    monkeypatch.setenv("GOOSE_MODE", "chat")
    assert "GOOSE_MODE" not in environment(find("goose"))
    assert environment(find("goose"), {"GOOSE_MODE": "auto", "VIRTUAL_ENV": None})["VIRTUAL_ENV"] is None
    assert environment(find("claude"))["IS_SANDBOX"] is None
    assert environment(find("claude"), {"IS_SANDBOX": "1"})["IS_SANDBOX"] == "1"


def test_a_program_that_is_not_there_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = str(missing(find("gemini")))
    assert "npm install -g @google/gemini-cli@" in said
    assert "Node.js 20" in said
    assert "'gemini'" in said
    program = tmp_path / "gemini"
    program.write_text(f"#!{sys.executable}\n")
    program.chmod(0o755)
    assert missing(find("gemini")) is None
    assert missing(find(["whatever"])) is None


def test_variables_are_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    assert expanded("Bearer ${MY_KEY}", "x") == expanded("Bearer $MY_KEY", "x") == f"Bearer {SECRET}"
    with pytest.raises(
        UsageError, match=r"--header A needs .*variable NOT_THERE.*os\.environ\['NOT_THERE'\] = getpass"
    ):
        expanded("$NOT_THERE", "--header A")
