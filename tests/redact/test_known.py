"""Secrets one knows of: where they are known from, and every form in which they are found again."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from hm_jupyter.redact import Redactor, dotenv_secrets, header_secrets, known_secrets

SECRET = 'co"rrect+horse/battery é=9'
WRITTEN = {
    "itself": SECRET,
    "json": json.dumps(SECRET),
    "json in json": json.dumps(json.dumps(SECRET)),
    "an address": quote(SECRET, safe=""),
    "a form": quote_plus(SECRET),
    "small hex digits": quote(SECRET, safe="").replace("%2B", "%2b").replace("%2F", "%2f").replace("%3D", "%3d").replace("%22", "%22").replace("%C3%A9", "%c3%a9"),
    "html": html.escape(SECRET),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 behind a name": base64.b64encode(f"bob:{SECRET}".encode()).decode(),
    "base64 in the middle": base64.b64encode(f"ab {SECRET} and more".encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "base64 in lines": base64.encodebytes(f"{'x' * 50}{SECRET}{'y' * 50}".encode()).decode(),
    "hex": SECRET.encode().hex(),
    "colours in it": f"{SECRET[:9]}\x1b[0m\x1b[1m{SECRET[9:]}",
    "a line end in it": f"{SECRET[:9]}\n    {SECRET[9:]}",
    "a diff": f"+{SECRET[:9]}\n+{SECRET[9:]}",
    "unseen characters in it": "\u200b".join(SECRET),
    "cut off": f"it is {SECRET[:14]}…",
}  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_known_secret_is_found_however_it_is_written(written: str) -> None:
    redactor = Redactor([("Password", SECRET)])
    made = redactor.text(f"before {written} behind" if "…" not in written else written)
    assert made.startswith("before" if "…" not in written else "it is")
    for form in (SECRET[2:12], base64.b64encode(SECRET.encode()).decode()[3:15], SECRET.encode().hex()[2:14]):
        assert form not in made
    assert redactor.summary() == ["1 password"]


def test_a_short_secret_is_taken_out_only_where_it_stands_by_itself() -> None:
    redactor = Redactor([("pin", "4711")])
    assert redactor.text("pin 4711, not 947113") == "pin [redacted pin], not 947113"


def test_the_environments_secrets_are_those_with_a_secrets_name_or_form() -> None:
    found = known_secrets(
        {
            "ANTHROPIC_API_KEY": "plain-7-value", "DB_PASSWORD": "swordfish", "SHOP_TOKEN": "abcd-efgh-1", "HOME": "/home/me",
            "PWD": "/home/me", "SSH_AUTH_SOCK": "/tmp/agent.1", "MAX_TOKENS": "4096", "SECRET_KEY": "true", "EMPTY_TOKEN": "",
            "ODD": "gh" + "p_" + "a1" * 18, "DATABASE_URL": "postgres://bob:tiger-lily@db/x", "PUBLIC_KEY": "abcdefg123",
        }
    )  # fmt: skip
    assert sorted(found) == [
        ("anthropic key", "plain-7-value"), ("github token", "gh" + "p_" + "a1" * 18), ("password", "swordfish"),
        ("token", "abcd-efgh-1"), ("url password", "tiger-lily"),
    ]  # fmt: skip


def test_a_dotenv_file_is_read_as_such_files_are_written() -> None:
    text = "# comment\nexport API_KEY='single 1'\nDB_PASSWORD=\"dou#ble\"\nTOKEN=bare-value-1 # why\nDEBUG=1\n"
    assert sorted(s for _, s in dotenv_secrets(text)) == ["bare-value-1", "dou#ble", "single 1"]


def test_a_connections_headers_hold_tokens_and_cookies() -> None:
    found = header_secrets(
        {
            "Authorization": "Bearer abc-def-1",
            "Cookie": "sid=cookie-1; x=y",
            "X-Api-Key": "key-number-1",
            "Accept": "*/*",
        }
    )
    assert sorted(s for _, s in found) == ["abc-def-1", "cookie-1", "key-number-1"]


def test_what_is_known_is_shown_nowhere() -> None:
    redactor = Redactor([("password", "correct-horse")])
    assert "correct-horse" not in repr(redactor) + repr(redactor._known)
