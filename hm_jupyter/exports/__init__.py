"""Pure functions of a transcript: text, markdown, html, mime bundles.

The renderers are imported when first used: they bring a markdown parser, a sanitiser and a highlighter.
"""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..transcript import Transcript

FORMATS = ("html", "md", "txt", "json", "jsonl")


def bundle(transcript: Transcript, turn: int) -> dict[str, Any]:
    """The mime bundle of one turn (:func:`hm_jupyter.exports.mime.bundle`)."""
    from . import mime

    return mime.bundle(transcript, turn)


def render(transcript: Transcript, format: str, title: str = "") -> str:
    """The whole session as a document: html, md, txt, json or jsonl. Raises :class:`UsageError` for anything else."""
    if format not in FORMATS:
        raise UsageError(f"A session is not written as {format!r}; let the name end in one of .{', .'.join(FORMATS)}.")
    from . import documents

    if format == "html":
        return documents.document_html(transcript, title=title)
    if format == "md":
        return documents.document_markdown(transcript, title=title)
    if format == "txt":
        return documents.document_text(transcript, title=title)
    if format == "jsonl":
        return documents.to_jsonl(transcript)
    import json

    from . import jsonl

    return json.dumps(jsonl.data(transcript, times=True), ensure_ascii=False, indent=1) + "\n"
