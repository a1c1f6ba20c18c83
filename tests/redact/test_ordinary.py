"""Ordinary code, prose, hashes and pages come through as they are; and no text, however made, takes long."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm_jupyter.redact import Redactor

from .corpus.shapes import SHAPED, pem, placed

ORDINARY = sorted((Path(__file__).parent / "corpus" / "ordinary").iterdir())
OURS = sorted((Path(__file__).parents[2] / "hm_jupyter").rglob("*.py"))


@pytest.mark.parametrize("path", ORDINARY, ids=lambda p: p.name)
def test_ordinary_text_comes_through_unchanged(path: Path) -> None:
    changed = [(line, new) for line in path.read_text("utf-8").split("\n") if (new := Redactor().text(line)) != line]
    assert changed == []
    text = path.read_text("utf-8")
    assert Redactor().text(text) == text


def test_our_own_code_comes_through_unchanged() -> None:
    """Two hundred files that speak of keys, tokens, passwords and cookies, and hold none."""
    changed = [path.name for path in OURS if Redactor().text(text := path.read_text("utf-8")) != text]
    assert changed == []


HOSTILE = {
    "a": "a", "spaces": " ", "lines": "\n", "tokens": "token", "key=": "key=", "password: ": "password: ", "quotes": 'password="',
    "sk-": "sk-", "sk-ant-": "sk-ant-", "jwt": "eyJ", "jwt-": "eyJhbGci-", "dots": "eyJhbGciOiJI.", "begin": "-----BEGIN PRIVATE KEY-----",
    "end": "-----END PRIVATE KEY-----", "base64 lines": "A" * 64 + "\n", "backslash n": "AAAA\\n", "urls": "://a:b", "url": "://a:" + "b" * 40,
    "ansi": "\x1b[31m", "osc": "\x1b]8;;", "curl": "curl -u ", "mysql": "mysql -p", "docker": "docker login ", "headers": "Authorization: ",
    "cookie": "Cookie: a=", "netrc": "login a password ", "done": "[redacted ", "dashes": "--password ", "brackets": "token=[", "equals": "token=a1.", "hex": "deadbeef0",
    "dots and dashes": "M" + "a" * 23 + ".", "zero width": "\u200b", "queries": "?sig=", "ellipses": "sk-ant-abc1…", "ends": "...",
}  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_half_a_megabyte_of_anything_is_read_in_a_moment(piece: str) -> None:
    """Quadratic time would take hours; the bound is far above what it takes, and far below that."""
    redactor = Redactor([("password", "correct-horse-battery")])
    began = time.process_time()
    redactor.text(piece * (500_000 // len(piece)))
    assert time.process_time() - began < 8


PIECES = st.sampled_from(
    [text for _, _, text in placed()] + [secret for _, secret in SHAPED] + [pem(), "[redacted password]", "password", "token=", '"', "\n", ": ", " "]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=8), max_size=6).map("".join))
@settings(max_examples=150, deadline=None)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    redactor = Redactor([("password", "hunter-the-second")])
    once = redactor.text(text)
    assert Redactor().text(once) == once
