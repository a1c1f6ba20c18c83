"""What is shaped like a secret, or stands where one stands, is taken out and counted by its kind."""

from __future__ import annotations

import json

import pytest

from hm_jupyter.redact import Redactor

from .corpus.shapes import PLAIN, SHAPED, pem, placed


@pytest.mark.parametrize(("kind", "secret"), SHAPED, ids=lambda v: v if " " in v else "")
def test_a_providers_format_is_taken_out_wherever_it_stands(kind: str, secret: str) -> None:
    for before, behind in [
        ("", ""),
        ("key ", " end"),
        ('"', '"'),
        ("a=", "\n"),
        ("(", ")."),
        ("x\\n", "\\n"),
        ("%3D", ""),
    ]:
        redactor = Redactor()
        assert redactor.text(before + secret + behind) == f"{before}[redacted {kind}]{behind}"
        assert redactor.summary() == [f"1 {kind}"]


@pytest.mark.parametrize(("kind", "secret", "text"), placed(), ids=lambda v: v[:40])
def test_a_secret_is_told_by_its_place(kind: str, secret: str, text: str) -> None:
    redactor = Redactor()
    written = redactor.text(text)
    assert secret not in written
    assert f"[redacted {kind}]" in written
    assert text.split(secret)[0] in written  # what stands before it is left
    assert redactor.text(written) == written


@pytest.mark.parametrize(
    "kind", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
@pytest.mark.parametrize(
    "around",
    [
        lambda key: key,
        lambda key: "cat k\n" + key + "\ndone",
        lambda key: json.dumps({"private_key": key + "\n", "type": "service_account"}),
        lambda key: json.dumps(json.dumps({"private_key": key})),
        lambda key: "\n".join("+" + line for line in key.split("\n")),
        lambda key: "\n".join(f"{n:6}\t{line}" for n, line in enumerate(key.split("\n"), 1)),
        lambda key: "key: |\n" + "\n".join("    " + line for line in key.split("\n")),
        lambda key: key.replace("\n", "\r\n"),
        lambda key: key.replace("\n", " "),
        lambda key: 'k = (\n' + "\n".join(f'    "{line}\\n"' for line in key.split("\n")) + ")",
    ],
    ids=["alone", "output", "json", "json in json", "diff", "listing", "yaml", "crlf", "one line", "code"],
)  # fmt: skip
def test_a_private_key_goes_whole(kind: str, around: object) -> None:
    key = pem(kind)
    redactor = Redactor()
    written = redactor.text(around(key))  # type: ignore[operator]
    lines = key.split("\n")
    assert [line for line in lines[1:-1] if line in written] == []
    assert redactor.found["private key"] >= 1
    assert redactor.text(written) == written


@pytest.mark.parametrize("cut", [slice(0, 6), slice(0, 2), slice(5, None), slice(-3, None)], ids=str)
def test_a_private_key_whose_end_or_beginning_is_cut_off_goes_too(cut: slice) -> None:
    lines = pem().split("\n")[cut]
    written = Redactor().text("$ head key.pem\n" + "\n".join(lines) + "\n$ ls\n")
    assert [line for line in lines if "-----" not in line and line in written] == []
    assert written.startswith("$ head key.pem\n")
    assert written.endswith("\n$ ls\n")


def test_a_private_keys_lines_without_its_frame_are_told_by_how_they_begin() -> None:
    body = "b3BlbnNza" + "C1rZXktdjE" + pem().split("\n")[1]
    assert body[20:60] not in Redactor().text(f"{body}\nrest")


def test_what_only_speaks_of_a_key_is_left() -> None:
    text = "The file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----."
    assert Redactor().text(text) == text


def test_an_aws_secret_right_behind_its_id_goes_with_it() -> None:
    key = next(s for k, s in SHAPED if k == "aws key")
    assert Redactor().text(f"{key},{PLAIN['aws']}\n") == "[redacted aws key],[redacted aws key]\n"


@pytest.mark.parametrize(("kind", "secret"), [s for s in SHAPED if len(s[1]) > 60][:8])
def test_a_format_broken_by_colours_or_a_line_end_is_still_seen(kind: str, secret: str) -> None:
    for at in (7, 20, len(secret) - 24):
        for between in ("\x1b[0m\x1b[31m", "\n", "\r\n    ", "\\\n", "\u200b"):
            redactor = Redactor()
            written = redactor.text(f"the key is {secret[:at]}{between}{secret[at:]}\nand prose goes on")
            assert secret[at:] not in written, (at, between)
            assert secret[: max(at, 12)] not in written
            assert written.endswith("\nand prose goes on")


def test_json_is_redacted_by_its_names_and_stays_json() -> None:
    given = {
        "password": "swordfish", "n": 3, "max_tokens": 4096, "deep": [{"apiKey": PLAIN["token"]}], "Authorization": f"Bearer {PLAIN['token']}",
        "args": ["--token", PLAIN["token"], "--verbose"], SHAPED[0][1]: None, "password_hint": "a fish", "note": "no secret", "token": None,
    }  # fmt: skip
    redactor = Redactor()
    made = redactor.value(given)
    assert made == {
        "password": "[redacted password]", "n": 3, "max_tokens": 4096, "deep": [{"apiKey": "[redacted api key]"}],
        "Authorization": "Bearer [redacted authorization header]", "args": ["--token", "[redacted token]", "--verbose"],
        "[redacted anthropic key]": None, "password_hint": "a fish", "note": "no secret", "token": None,
    }  # fmt: skip
    assert redactor.summary() == ["1 anthropic key", "1 api key", "1 authorization header", "1 password", "1 token"]
    assert redactor.value(made) == made


def test_the_count_is_told_most_first() -> None:
    redactor = Redactor()
    redactor.text(f"{SHAPED[0][1]} {SHAPED[1][1]} password='{PLAIN['word']}'")
    assert redactor.summary() == ["2 anthropic key", "1 password"]
