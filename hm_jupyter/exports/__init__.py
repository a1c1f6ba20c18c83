"""Pure functions of a transcript: text, markdown, html, mime bundles.

The renderers are imported when first used: they bring a markdown parser, a sanitiser and a highlighter.
"""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..redact import Redactor
from ..transcript import Transcript

FORMATS = ("html", "md", "txt", "json", "jsonl", "ipynb")


def bundle(transcript: Transcript, turn: int) -> dict[str, Any]:
    """The mime bundle of one turn (:func:`hm_jupyter.exports.mime.bundle`)."""
    from . import mime

    return mime.bundle(transcript, turn)


def known_format(format: str) -> str:
    """``format`` if a session is written as that. Raises :class:`UsageError`."""
    if format not in FORMATS:
        raise UsageError(f"A session is not written as {format!r}; let the name end in one of .{', .'.join(FORMATS)}.")
    return format


def render(transcript: Transcript, format: str, title: str = "", redactor: Redactor | None = None) -> str:
    """The whole session as a document: html, md, txt, json, jsonl or ipynb. Raises :class:`UsageError` for anything else.

    With a ``redactor`` what it finds is taken out, and the document says what that was. Give a transcript that does not
    change meanwhile (:func:`.redacted.copied`).
    """
    known_format(format)
    from . import documents

    taken: list[str] = []
    if redactor is not None:
        from .redacted import redacted

        transcript = redacted(transcript, redactor)
        taken = redactor.summary()
        title = redactor.uncounted(title)
    if format == "html":
        return documents.document_html(transcript, title=title, redacted=taken)
    if format == "md":
        return documents.document_markdown(transcript, title=title, redacted=taken)
    if format == "txt":
        return documents.document_text(transcript, title=title, redacted=taken)
    if format == "ipynb":
        from . import ipynb

        return ipynb.notebook(transcript, title=title, redacted=taken)
    if format == "jsonl":
        return documents.to_jsonl(transcript)
    import json

    from . import jsonl

    return json.dumps(jsonl.data(transcript, times=True), ensure_ascii=False, indent=1) + "\n"
