"""What the agent's export leaves out: the secrets it knows of, and anything shaped like a key."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.redact.corpus.shapes import SHAPED, pem, placed

FORMATS = ("html", "md", "jsonl")


def exported(agent, format: str) -> tuple[str, list[str]]:
    data = agent.call("export", format=format, path=f"out.{format}")["data"]
    return Path(data["path"]).read_text("utf-8"), data["redacted"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_key_of_the_environment_and_one_that_only_looks_like_one_are_taken_out(start, format):
    """HM-135 HM-136"""
    known, shaped = "plain-but-known-77", SHAPED[0][1]
    agent = start(env={"SHOP_DB_PASSWORD": known})
    agent.turn(f"say: it is {known}, in base64 {base64.b64encode(known.encode()).decode()}, and {shaped}")
    text, redacted = exported(agent, format)
    assert known not in text
    assert base64.b64encode(known.encode()).decode() not in text
    assert shaped not in text
    assert base64.b64encode(known.encode()).decode()[:12] not in text  # not cut off in a title either
    assert "redacted password" in text
    assert redacted == ["4 password", "2 anthropic key"]  # in the prompt and in the answer


def test_what_stands_in_an_env_file_that_was_read_is_known(start):
    agent = start("--approve", "all")
    (agent.cwd / "deploy.env").write_text("MASTER_KEY=sleepy-otter-fjord-5\nDEBUG=1\n")
    agent.turn("run: cat deploy.env")
    agent.turn("say: sleepy-otter-fjord-5 opens it")
    for format in FORMATS:
        text, redacted = exported(agent, format)
        assert "sleepy-otter-fjord-5" not in text
        assert "DEBUG=1" in text
        assert len(redacted) == 1
        assert redacted[0].endswith(" api key")


def test_an_export_without_a_secret_says_so(start):
    agent = start()
    agent.turn("say: nothing to hide")
    for format in FORMATS:
        assert exported(agent, format)[1] == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_session_with_every_shape_of_secret_leaks_none(start, format):
    """HM-135; acceptance: the bytes of the file are searched."""
    agent = start("--approve", "all")
    secrets = [s for _, s in SHAPED]
    keys = pem().split("\n")
    placed_secrets = [(secret, text) for _, secret, text in placed() if len(secret) > 7]
    lines = [*secrets, *(text for _, text in placed_secrets)]
    (agent.cwd / "all.txt").write_text("\n".join(lines) + "\n" + "\n".join(keys) + "\n")
    agent.turn("run: cat all.txt")
    agent.turn("say: " + "\n\n".join(lines))
    text, redacted = exported(agent, format)
    leaked = [s for s in [*secrets, *(s for s, _ in placed_secrets), *keys[1:-1]] if s in text]
    assert leaked == []
    assert len(redacted) > 40
