"""The secrets one knows of, in every form in which they may turn up, and where to know them from.

``known_secrets`` reads an environment, ``dotenv_secrets`` the text of a ``.env`` file, ``header_secrets`` the headers of
a connection. Nothing is read from disk here.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from . import names, shapes
from .spans import BROKEN, MARKED, Span, View, without

Known = list[tuple[str, str]]

SHORTEST = 4
"""Characters of the shortest secret that is looked for; one this short only where it stands as a word."""
_APART = 12
"""… of the shortest that is looked for in pieces and in base64."""
_CUT = 8
"""… of the beginning that counts as one that was cut off."""
_LONGEST = 4_000  # characters before a text's end that are looked at for one that was cut off
_MAY_BREAK = re.compile("[\n\r\x1b\u200b-\u200d\u2060\ufeff\xad]")
_PROVIDERS = {
    "anthropic": "anthropic key", "claude": "anthropic key", "openai": "openai key", "gemini": "google key",
    "google": "google key", "github": "github token", "gh": "github token", "gitlab": "gitlab token", "aws": "aws key",
    "hf": "hugging face token", "huggingface": "hugging face token", "mistral": "mistral key", "groq": "groq key",
    "xai": "xai key", "deepseek": "deepseek key", "openrouter": "openrouter key", "perplexity": "perplexity key",
    "cohere": "cohere key", "together": "together key", "azure": "azure key", "stripe": "stripe key",
    "slack": "slack token", "npm": "npm token", "pypi": "pypi token",
}  # fmt: skip
_LINE = re.compile(
    r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\n#]*))", re.M
)
_URL_PASSWORD = re.compile(r"://[^\s/@:]*:([^\s/@]{4,})@")


def kind_for(name: str, value: str) -> str:
    """What a secret is called: by its own format, by the provider in its name, by what its name says it is."""
    found = shapes.kind_of(value)
    if found:
        return found
    parts = names.words(name)
    what = names.category(name)
    if what in ("key", "token", "secret"):
        for part in parts:
            if part in _PROVIDERS:
                return _PROVIDERS[part]
    return {"password": "password", "token": "token", "key": "api key"}.get(what, "secret")


def known_secrets(environ: Mapping[str, str]) -> Known:
    """``(kind, secret)`` of each variable with a secret's name, and of each value that is shaped like a secret."""
    out: Known = []
    for name, value in environ.items():
        value = value.strip()
        if len(value) < SHORTEST:
            continue
        if shapes.kind_of(value):
            out.append((shapes.kind_of(value), value))
        elif names.category(name) and _worth(value):
            out.append((kind_for(name, value), value))
        out += [("url password", m[1]) for m in _URL_PASSWORD.finditer(value) if _worth(m[1])]
    return out


def dotenv_secrets(text: str) -> Known:
    """The same of the text of a ``.env`` file."""
    found = {m[1]: next((g for g in m.groups()[1:] if g is not None), "").strip() for m in _LINE.finditer(text)}
    return known_secrets(found)


def header_secrets(headers: Mapping[str, str]) -> Known:
    """What the headers of a connection hold: tokens without their scheme, cookies one by one."""
    out: Known = []
    for name, value in headers.items():
        low = name.lower()
        if low in ("authorization", "proxy-authorization"):
            out.append(("authorization header", value.split(None, 1)[-1].strip()))
        elif low == "cookie":
            out += [("cookie", part.partition("=")[2].strip()) for part in value.split(";")]
        elif names.category(name) or low.startswith("x-") or "key" in low:
            out.append((kind_for(name, value), value.strip()))
    return [(kind, value) for kind, value in out if len(value) >= 6]


def _worth(value: str) -> bool:
    """Is it worth looking for? A path, a word that is in every text, a switch is not."""
    if (
        len(value) < 6
        or value.startswith(("/", "./", "~", "$", "[redacted"))
        or re.match(r"[a-z][a-z0-9+.-]*://", value)
    ):
        return False
    low = value.lower()
    return low not in names._STOP and len(set(value)) > 2 and not (value.isdigit() and len(value) < 8)


def forms(secret: str) -> set[str]:
    """How ``secret`` may be written: as it is, in JSON, HTML, an address, base64, hexadecimal digits."""
    out = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret)}
    out |= {json.dumps(form)[1:-1] for form in list(out)}
    for quoted in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        out |= {quoted, re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), quoted), quote(quoted, safe="")}
    if len(secret) >= _APART:
        raw = secret.encode("utf-8", "surrogatepass")
        out |= {raw.hex(), raw.hex().upper()}
        for before in range(3):
            for behind in range(3):
                if (before + len(raw) + behind) % 3:
                    continue
                # Of a text that has it in the middle, the characters that are made of the secret's bytes alone.
                text = base64.b64encode(b"\0" * before + raw + b"\0" * behind).decode()
                core = text[(0, 2, 3)[before] : len(text) - (0, 2, 3)[behind]]
                out |= {core, core.replace("+", "-").replace("/", "_")}
    return out


class Finder:
    """Finds known secrets. Holds them, and shows them to nobody: its repr tells their number."""

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        self._kind: dict[str, str] = {}
        self._count = 0
        for kind, secret in secrets:
            secret = secret.strip()
            if len(secret) < SHORTEST:
                continue
            self._count += 1
            for form in forms(secret):
                self._kind.setdefault(form, kind)
        self._long: dict[str, str] = {}
        for form, kind in self._kind.items():
            squeezed = without(form, BROKEN).text
            if len(squeezed) >= _APART:
                self._long.setdefault(squeezed, kind)
        # By how they begin, which is the same for most forms of one secret: a text is searched for a few words only.
        self._by_head = _by_head(self._kind)
        self._long_by_head = _by_head(self._long)
        self.shortest = min(map(len, self._kind), default=0)

    def __repr__(self) -> str:
        return f"<{self._count} known secrets>"

    def __bool__(self) -> bool:
        return bool(self._kind)

    def find(self, text: str, broken: View | None = None) -> Iterator[Span]:
        """Where they stand in ``text``, also broken by escapes, line ends, and the marks of a diff, or cut off. ``broken``:
        the text without line ends, where one has it already."""
        yield from self._cut(text)
        plain = View(text, [], [])
        for head, all_of in self._by_head.items():
            if head in text:
                for form in all_of:
                    yield from _each(plain, form, self._kind[form])
        seen = [BROKEN]
        if "\n+" in text or "\n-" in text or "\n>" in text or "\n|" in text:
            seen.append(MARKED)
        for noise in seen if _MAY_BREAK.search(text) and self._long else ():
            view = broken if noise is BROKEN and broken is not None else without(text, noise)
            for head, all_of in self._long_by_head.items():
                if view.cuts and head in view.text:
                    for form in all_of:
                        yield from _each(view, form, self._long[form])

    def _cut(self, text: str) -> Iterator[Span]:
        """The beginning of one at the text's end, or before an ellipsis: titles are cut."""
        end = len(text.rstrip("\u2026. \n"))
        for head, all_of in self._long_by_head.items():
            for form in all_of if text.find(head, max(0, end - _LONGEST), end) >= 0 else ():
                at = text.find(head, max(0, end - len(form)), end)
                if at >= 0 and form.startswith(text[at:end]):
                    yield Span(at, end, self._long[form], 0)


def _by_head(forms: Iterable[str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for form in forms:
        out.setdefault(form[:_CUT], []).append(form)
    return out


def _each(view: View, form: str, kind: str) -> Iterator[Span]:
    at = view.text.find(form)
    while at >= 0:
        end = at + len(form)
        if len(form) >= 8 or _stands_alone(view.text, at, end):
            yield Span(view.start(at), view.end(end), kind, 0)
        at = view.text.find(form, end)


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())
