"""hm.toml and the environment: which providers there are, where they are, and how a fault is told."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from hm_jupyter.agents.config import (
    Config,
    ConfigError,
    ModeConfig,
    Price,
    ProviderConfig,
    config_file,
    load_config,
    parsed,
)  # fmt: skip
from hm_jupyter.agents.llm import keys, source
from hm_jupyter.agents.llm.known import PRESETS
from hm_jupyter.agents.providers import Registry, UnknownModel

KEY = "sk-test-0123456789abcdefghij"


def read(text: str) -> Config:
    return parsed(text, "hm.toml", PRESETS)


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_in_keyring", lambda variable: "")


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_installed", lambda api: True)


# ---- the file ----


def test_all_of_it_is_read():
    config = read(
        """
        provider = "local"
        model = "qwen3"
        effort = "high"
        max_steps = 40
        compact_at = 0.7
        [providers.local]
        base_url = "http://127.0.0.1:11434/v1"
        models = ["qwen3", "gpt-oss:20b"]
        context_size = 32768
        [providers.local.prices."qwen3"]
        input = 0.1
        [modes.docs]
        help = "texts only"
        edits = "allow"
        commands = "refuse"
        instructions = "Change nothing but documentation."
        """
    )
    assert (config.provider, config.model, config.effort) == ("local", "qwen3", "high")
    assert (config.max_steps, config.compact_at) == (40, 0.7)
    local = config.providers["local"]
    assert (local.api, local.models, local.context_size) == ("openai", ["qwen3", "gpt-oss:20b"], 32768)
    assert local.prices["qwen3"].input == 0.1
    assert (config.modes["docs"].edits, config.modes["docs"].commands) == ("allow", "refuse")


def test_a_known_provider_need_only_give_what_differs():
    anthropic = read('[providers.anthropic]\nmodel = "claude-x"').providers["anthropic"]
    assert (anthropic.api, anthropic.key_variable, anthropic.model) == ("anthropic", "ANTHROPIC_API_KEY", "claude-x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("provider = \n", "line 1"),
        ('\nprovidr = "x"', "line 2: providr: there is no such setting"),
        ('[providers.x]\nbase_url = "http://h/v1"\nmodel = 3', "line 3: providers.x.model: input should be a valid string"),
        ('[providers.x]\napi = "soap"\nbase_url = "http://h"', "line 2: providers.x.api: input should be 'anthropic'"),
        ('[providers.x]\nbase_url = "h:80"', "line 2: providers.x.base_url: begin it with https:// or http://"),
        ('[providers.x]\nbase_url = "https://me:pw@h/v1"', "providers.x.base_url: no passwords"),
        ("[providers.x]\n", "line 1: providers.x.base_url: say where it is"),
        ('[providers.openai]\napi_key = "sk-abcdef"', "line 2: providers.openai.api_key: keys do not belong"),
        ('[providers.openai]\nkey_variable = "sk-abc-def"', "key_variable: give the name of an environment variable"),
        ('[providers."a b"]\nbase_url = "http://h/v1"', "a name is letters"),
        ("[providers.demo]\n", "choose another name"),
        ('effort = "ultra"', "line 1: effort: input should be"),
        ("compact_at = 3", "line 1: compact_at: must be between 0"),
        ("max_steps = -1", "line 1: max_steps: must be at least 1"),
        ("[providers.ollama]\ntimeout = 0", "line 2: providers.ollama.timeout: must be more than 0"),
        ("[providers.ollama]\nretries = -1", "retries: must not be negative"),
        ('[modes.x]\nedits = "yes"', "line 2: modes.x.edits"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_place_and_the_fix(text, says):
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value).startswith("hm.toml")
    assert says in str(caught.value)
    assert "sk-abc" not in str(caught.value)


def test_the_file_is_the_persons_own_or_the_one_named(monkeypatch, tmp_path):
    monkeypatch.delenv("HM_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if sys.platform.startswith("linux"):
        assert config_file() == tmp_path / "hm_jupyter" / "hm.toml"
    monkeypatch.setenv("HM_CONFIG", "")
    assert config_file() is None
    assert load_config() == Config()
    mine = tmp_path / "mine.toml"
    monkeypatch.setenv("HM_CONFIG", str(mine))
    assert load_config() == Config()
    mine.write_text('provider = "ollama"', encoding="utf-8")
    assert (load_config().provider, load_config().file) == ("ollama", mine)
    mine.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config()


def test_a_workspace_cannot_bring_settings(start, tmp_path):
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "hm.toml").write_text('provider = "evil"\n[providers.evil]\nbase_url = "http://127.0.0.1:9/v1"', "utf-8")
    agent = start(cwd=folder)
    assert agent.seen[0]["provider"] == "demo"


def test_a_file_that_is_not_right_ends_the_start_with_its_fault(run_once, tmp_path, monkeypatch):
    """HM-037"""
    file = tmp_path / "hm.toml"
    file.write_text("providr = 1", encoding="utf-8")
    monkeypatch.setenv("HM_CONFIG", str(file))
    done = run_once("--rpc", "--no-session")
    assert (done.returncode, done.stdout) == (2, "")
    assert "providr" in done.stderr


# ---- which providers there are ----


def test_without_a_key_and_settings_it_is_the_demo():
    assert Registry(Config()).default() == "demo"
    assert Registry(Config()).names() == ["demo"]


@pytest.mark.usefixtures("extra")
def test_the_first_provider_with_a_key_is_taken(monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    assert Registry(Config()).default() == "openrouter"
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)  # the second name of Gemini's
    assert Registry(Config()).default() == "google"
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert Registry(Config()).default() == "anthropic"
    assert Registry(Config()).names() == ["anthropic", "google", "openrouter", "demo"]
    assert Registry(read('provider = "ollama"\n[providers.ollama]')).default() == "ollama"


def test_a_key_alone_does_not_choose_a_provider_whose_extra_is_missing(monkeypatch):
    monkeypatch.setattr(source, "_installed", lambda api: False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert Registry(Config()).default() == "demo"
    with pytest.raises(UnknownModel, match=r"pip install 'hm-jupyter\[llm\]'"):
        Registry(Config()).get("anthropic").make("")


@pytest.mark.usefixtures("extra")
def test_what_a_provider_lacks_is_named(monkeypatch):
    registry = Registry(read('[providers.team]\nbase_url = "https://h/v1"\nheaders = { "X-Team" = "MY_TEAM" }'))
    with pytest.raises(UnknownModel, match="OPENAI_API_KEY, or keep it in the keyring"):
        registry.get("openai").make("")
    with pytest.raises(UnknownModel, match="header X-Team: set the environment variable MY_TEAM"):
        registry.get("team").make("m")
    with pytest.raises(UnknownModel, match="there are team, anthropic"):
        registry.get("nope")
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    with pytest.raises(UnknownModel, match="name a model"):
        registry.get("openrouter").make("")
    with pytest.raises(UnknownModel, match="no name of a model"):
        registry.get("ollama").make("a\nb")


@pytest.mark.usefixtures("extra")
def test_a_key_is_taken_from_the_keyring_where_the_environment_has_none(monkeypatch):
    monkeypatch.setattr(keys, "_in_keyring", lambda variable: KEY if variable == "OPENAI_API_KEY" else "")
    model = Registry(Config()).get("openai").make("")
    assert KEY not in repr(vars(model)) + repr(model)


@pytest.mark.usefixtures("extra")
def test_models_are_those_of_the_settings_first(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    provider = Registry(read('[providers.openai]\nmodel = "mine"')).get("openai")
    assert provider.models()[0] == "mine"
    assert len(provider.models()) > 1
    assert provider.make("").name == "mine"
    assert provider.make("other").name == "other"
    assert Registry(read('provider = "openai"\nmodel = "top"')).get("openai").make("").name == "top"


@pytest.mark.parametrize(
    ("variable", "value", "name", "url"),
    [
        ("OLLAMA_HOST", "", "ollama", "http://127.0.0.1:11434/v1"),
        ("OLLAMA_HOST", "0.0.0.0", "ollama", "http://127.0.0.1:11434/v1"),
        ("OLLAMA_HOST", "gpu.lan:9000", "ollama", "http://gpu.lan:9000/v1"),
        ("OLLAMA_HOST", "https://gpu.lan", "ollama", "https://gpu.lan:11434/v1"),
        ("OPENAI_BASE_URL", "https://gateway/v1/", "openai", "https://gateway/v1"),
        ("OPENAI_BASE_URL", "https://gateway/v1", "vllm", "http://127.0.0.1:8000/v1"),
    ],
)
def test_where_a_provider_is_may_be_said_by_the_environment(monkeypatch, variable, value, name, url):
    monkeypatch.setenv(variable, value)
    assert source.base_url_of(name, source.settings_of(name, Config()))[0] == url
    own = ProviderConfig(base_url="http://own/v1", api="openai")
    assert source.base_url_of(name, own)[0] == "http://own/v1"


@pytest.mark.parametrize(
    ("url", "secret", "warns"),
    [
        ("http://gpu.lan/v1", True, True),
        ("http://10.0.0.3:8000/v1", True, True),
        ("http://gpu.lan/v1", False, False),
        ("https://gpu.lan/v1", True, False),
        ("http://localhost:11434/v1", True, False),
        ("http://127.0.0.1/v1", True, False),
        ("http://[::1]:80/v1", True, False),
        ("http://127.0.0.1.evil.net/v1", True, True),
    ],
)
def test_a_key_sent_in_the_clear_to_another_machine_is_warned_of(url, secret, warns):
    assert bool(source._warning("x", url, secret)) is warns


@pytest.mark.usefixtures("extra")
def test_how_much_a_model_takes_is_known_by_its_name_or_the_settings(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    registry = Registry(read("[providers.ollama]\ncontext_size = 8192"))
    assert registry.get("anthropic").make("claude-haiku-4-5").context_size == 200_000
    assert registry.get("ollama").make("qwen3").context_size == 8192


def test_a_start_imports_neither_a_provider_nor_pydantic():
    code = (
        "import sys; from hm_jupyter.agents.providers import default_provider, make_model, provider_names;"
        "default_provider(); make_model('ollama', 'x'); provider_names();"
        "print({m.split('.')[0] for m in sys.modules} & {'pydantic', 'pydantic_ai', 'openai', 'anthropic', 'httpx2'})"
    )
    pytest.importorskip("pydantic_ai", reason="needs the extra llm")
    root = Path(__file__).resolve().parents[2]
    out = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "set()"


# ---- the page about it ----


def blocks() -> list[str]:
    page = Path(__file__).resolve().parents[2] / "docs" / "models.md"
    return [part.partition("```")[0] for part in page.read_text("utf-8").split("```toml\n")[1:]]


def test_every_example_of_the_page_is_taken():
    for block in blocks():
        read(block.replace('base_url = ""', 'base_url = "https://h/v1"'))


def test_the_page_lists_every_setting_with_its_default():
    (whole,) = [b for b in blocks() if "[modes.NAME]" in b]
    config = read(whole.replace('base_url = ""', 'base_url = "https://h/v1"'))
    provider, mode = config.providers["NAME"], config.modes["NAME"]
    (price,) = provider.prices.values()
    provider.base_url, provider.prices, config.providers, config.modes = "", {}, {}, {}
    assert (config, provider, mode, price) == (Config(), ProviderConfig(), ModeConfig(), Price())
    for shape in (config, provider, mode, price):
        missing = [f.name for f in fields(shape) if f"\n{f.name} = " not in f"\n{whole}"]
        assert [m for m in missing if m not in ("file", "providers", "modes", "prices")] == []
