"""Exports of a session full of secrets leak none, in any format: the bytes that are written are searched."""

from __future__ import annotations

import base64
import html
import io
import json
import re

import pytest
from PIL import Image as Pillow
from PIL import PngImagePlugin

from hm_jupyter.events import FileDiff, Image
from hm_jupyter.exports import FORMATS, render
from hm_jupyter.exports.redacted import copied, redacted
from hm_jupyter.redact import Redactor
from hm_jupyter.redact.pictures import without_metadata
from hm_jupyter.transcript import (
    Append,
    CompactionEntry,
    Decision,
    MessageEntry,
    NoticeEntry,
    PlanEntry,
    Put,
    QuestionEntry,
    Rope,
    State,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    TurnEntry,
    UnknownEntry,
    UserEntry,
)
from tests.redact.corpus.shapes import SHAPED, pem, placed, some

KEY = pem()
KNOWN = "Tr0ub4dor-and-three"
SECRETS = [secret for _, secret in SHAPED] + [secret for _, secret, _ in placed() if len(secret) > 7] + [KNOWN]


def picture(comment: str, format: str = "PNG") -> bytes:
    """A picture with ``comment`` beside its pixels."""
    out, drawn = io.BytesIO(), Pillow.new("RGB", (8, 6), (25, 118, 210))
    if format == "PNG":
        info = PngImagePlugin.PngInfo()
        info.add_text("Comment", comment)
        info.add_itxt("Long", comment)
        drawn.save(out, "PNG", pnginfo=info)
    elif format == "GIF":
        drawn.save(out, "GIF", comment=comment.encode())
    else:
        exif = Pillow.Exif()
        exif[0x010E], exif[0x0112] = comment, 6
        drawn.save(out, format, exif=exif, **({"comment": comment.encode()} if format == "JPEG" else {}))
    return out.getvalue() + (b"" if format == "WEBP" else comment.encode())


def full() -> Transcript:
    """A transcript with secrets in every place a transcript has."""
    told = Transcript()
    lines = [secret for _, secret in SHAPED] + [text for _, _, text in placed()] + [KNOWN]
    half = len(lines) // 2
    key = KEY
    shot = Image(base64.b64encode(picture(SHAPED[0][1])).decode())
    words = "\n\n".join(lines)
    entries = [
        TurnEntry("t1", 1, "failed", "error", error=f"cannot reach {SHAPED[0][1]}", started=1.0, ended=3.0),
        UserEntry("u1", 1, f"my key is {SHAPED[1][1]}", attachments=[f"{KNOWN} (DataFrame)"], images=[shot]),
        ThoughtEntry("h1", 1, Rope(words), False),
        ToolEntry("x1", 1, "c1", "shell", f"curl {SHAPED[2][1]}", "shell", "completed", {"command": "\n".join(lines[:half])}, Rope(f"\x1b[31m{words}\x1b[0m\n{key}"), images=[shot]),
        ToolEntry("d1", 1, "c2", "edit_file", "", "edit", "completed", {"path": f"{SHAPED[3][1]}.py", "password": KNOWN},
                  diffs=[FileDiff(f"{SHAPED[3][1]}.py", f"a\n{words}\n", f"b\n{key}\n")], locations=[f"{SHAPED[3][1]}.py:3"],
                  decision=Decision("denied", "you", note=f"not {KNOWN}", rule=f"echo {SHAPED[4][1]}")),
        ToolEntry("o1", 1, "c3", SHAPED[5][1], "", "other", "failed", {SHAPED[6][1]: [{"apiKey": KNOWN}]}, Rope(words), parent="c1"),
        QuestionEntry("q1", 1, "c4", f"is {KNOWN} right?", status="answered", answer=SHAPED[7][1]),
        PlanEntry("p1", 1, [{"text": f"use {KNOWN}", "status": "done"}], f"# {SHAPED[8][1]}"),
        CompactionEntry("k1", 1, "done", words),
        NoticeEntry("n1", 1, f"it said {KNOWN}. Look.", detail=words),
        UnknownEntry("w1", 1, SHAPED[9][1], {"token": KNOWN, "deep": [lines]}),
        MessageEntry("m1", 1, Rope(), True, images=[shot]),
    ]  # fmt: skip
    told.apply(State({"agent": "hm", "title": f"about {SHAPED[0][1]}"[:60], "model": "m", "root": "/work", "turn": 1}))
    for entry in entries:
        told.apply(Put(entry))
    for at in range(0, len(words), 7):  # as it streams: a key is never whole in one piece
        told.apply(Append("m1", "text", words[at : at + 7]))
    return told


@pytest.mark.parametrize("format", FORMATS)
def test_no_secret_is_in_the_bytes_of_an_export(format: str) -> None:
    redactor = Redactor([("password", KNOWN)])
    written = render(full(), format, f"the session of {KNOWN}", redactor)
    # as it is, and as it is read: without tags, entities, escapes
    read = html.unescape(re.sub(r"<[^>]*>", "", written)), html.unescape(re.sub(r"\\(?=\W)", "", written))
    lines = KEY.split("\n")[1:-1]
    leaked = [s for s in [*SECRETS, *lines] for text in (written, *read) if s in text or json.dumps(s)[1:-1] in text]
    assert leaked == []
    assert len(redactor.found) > 40
    if format in ("json", "jsonl", "ipynb"):
        for line in written.splitlines() if format == "jsonl" else [written]:
            json.loads(line)


@pytest.mark.parametrize("format", ["html", "md", "ipynb"])
def test_a_picture_is_shown_without_what_is_written_in_it(format: str) -> None:
    written = render(full(), format, "", Redactor())
    found = _pictures(written)
    assert found
    assert all(SHAPED[0][1].encode() not in p for p in found)
    assert all(Pillow.open(io.BytesIO(p)).size == (8, 6) for p in found)


def _pictures(written: str) -> list[bytes]:
    return [base64.b64decode(b) for b in re.findall(r"(?:iVBORw0KGgo)[A-Za-z0-9+/=]+", written)]


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_pictures_pixels_stay_and_its_words_go(format: str) -> None:
    secret = some(40)
    data = picture(secret, format)
    assert secret.encode() in data
    bare = without_metadata(data)
    assert bare is not None
    assert secret.encode() not in bare
    before, after = Pillow.open(io.BytesIO(data)), Pillow.open(io.BytesIO(bare))
    assert (after.format, after.size) == (format, (8, 6))
    assert after.convert("RGB").tobytes() == before.convert("RGB").tobytes()
    assert without_metadata(bare) == bare
    if format == "JPEG":
        assert after.getexif()[0x0112] == 6  # how it is turned


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_that_cannot_be_read_to_its_end_is_left_out(format: str) -> None:
    data = picture("x" * 40, format)
    for cut in range(12, len(data) - 60, 5):
        bare = without_metadata(data[:cut])
        assert bare is None or b"x" * 40 not in bare
    assert without_metadata(b"<svg xmlns='http://www.w3.org/2000/svg'/>") is None


def test_the_session_itself_is_not_changed() -> None:
    told = full()
    before = render(told, "jsonl")
    redacted(told, Redactor([("password", KNOWN)]))
    assert render(told, "jsonl") == before
    assert KNOWN in before


def test_a_copy_does_not_grow_when_the_session_goes_on() -> None:
    told = full()
    copy = copied(told)
    before = render(copy, "jsonl")
    told.apply(Append("m1", "text", "more"))
    assert render(copy, "jsonl") == before


def test_a_document_says_what_was_taken_out_and_nothing_where_nothing_was() -> None:
    told = Transcript()
    told.apply(Put(MessageEntry("m1", 0, Rope(f"it is {KNOWN}"), False)))
    for format in ("html", "md", "txt", "ipynb"):
        assert "Taken out as secret: 1 password." in render(told, format, "", Redactor([("password", KNOWN)]))
        assert "Taken out" not in render(told, format, "", Redactor())
