"""Secrets told by where they stand: beside a secret's name, behind a flag, in a header or an address.

Each finder looks from a word that may begin such a place, a bounded way back and ahead, so that hostile text costs no
more than other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from . import names
from .names import Category
from .spans import Span, View

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_REACH = 80  # characters of a name that are looked at
_LONGEST = 4_096  # … of a value
# Behind a name: what closes it (quotes, brackets, a type), what gives it its value.
_GIVES = re.compile(
    r"""\\{0,3}["'`]?\]?\\{0,3}["']?(?:[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][\w.\[\]| ]{0,40})?[ \t]{0,12}"""
    r"""(?P<sep>={1,3}>?|!==?|:=|\?=|\|\|=|:|>|,)(?:[ \t]{0,12}|[ \t]*\n[ \t]{1,12}(?=\\{0,3}["']))"""
)
_CALLED = re.compile(r"""(?P<sep>\()(?=[rbfu]?["'`])""")
_SPACED = re.compile(r"(?P<sep>[ \t]{1,4})")
_IS = re.compile(r"""["'`*]{0,2}[ \t](?P<sep>is)[ \t]*:?[ \t]*["'`*]{0,2}""")
_QUOTED = re.compile(
    rf"""[rbfuRBFU]{{0,2}}(?P<q>\\{{0,3}}(?:\"\"\"|'''|["'`]))(?P<v>(?:(?!(?P=q))[^\n]){{1,{_LONGEST}}}?)(?P=q)"""
)
_BARE = re.compile(r"""[^\s"'`,;&<>]{1,1000}""")
_LINE_END = re.compile(r"[ \t]*(?:[#;]|//|\\?$|\\n|\\r|\r)", re.M)
_SHELL_END = re.compile(r"""\s*(?:$|-{1,2}\w|[|;&"'`)])""", re.M)
_NEXT_PAIR = re.compile(r" [a-z]\w{0,30}=[^=\s]")
_PAIR_BEFORE = re.compile(r"=[^=\s,(]+ $")  # of "host=db password=…", which a database's library takes
_KINDS: dict[Category, str] = {"password": "password", "secret": "secret", "token": "token", "key": "api key"}

_HEADER = re.compile(
    r"""\\{0,3}["'`]?\]?\\{0,3}[ \t]{0,4}[:=,][ \t]{0,4}[rbfu]?\\{0,3}["'`]?"""
    r"""(?:(?P<scheme>[A-Za-z][\w-]{2,30})[ \t]+)?(?P<v>[^\s"'`\\,;)]{4,4096})(?P<rest>[^\n"'`]{0,2000})"""
)
_COOKIE = re.compile(
    r"""\\{0,3}["'`]?[ \t]{0,4}:[ \t]{0,4}\\{0,3}["'`]?(?P<v>[^\s=;"'`{}$<]{1,100}=[^\n"'`\\]{4,4096})"""
)
_BEARER = re.compile(r"\b[Bb]earer[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,4096})")

_URL = re.compile(
    r"://(?P<user>[^\s/?#\"'<>@:\\]{0,200}):(?P<v>[^\s/?#\"'<>@\\]{1,400}(?:@[^\s/?#\"'<>@\\:]{1,60}(?=@))?)@"
)
_URL_USER = re.compile(r"://(?P<v>[A-Za-z0-9_-]{20,400})@")
_QUERY = re.compile(
    r"[?&](?P<name>sig|signature|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature|AWSAccessKeyId|code|key|auth|sas)"
    r"=(?P<v>[^\s&#\"'<>\\]{12,4096})",
    re.I,
)

_TOOL = re.compile(
    r"\b(?P<tool>mysql(?:dump|admin|import|show)?|mariadb(?:-dump|-admin)?|sshpass|docker|podman|helm|az|skopeo|buildah|redis-cli"
    r"|ldap(?:search|modify|add|passwd)|sqlcmd|curl|smbclient|openssl|rsync|lftp|wget|http|xh)\b(?P<args>[^\n|;]{0,400})"
)
_OPTIONS: dict[str, re.Pattern[str]] = {
    "mysql": re.compile(r"""\s-p(?P<v>[^\s"']{2,200}|["'][^"'\n]{2,200}["'])"""),
    "sshpass": re.compile(r"""\s-p[ =]?["']?(?P<v>[^\s"']{2,200})"""),
    "login": re.compile(r"""\s-p[ =]["']?(?P<v>[^\s"']{2,200})"""),
    "redis-cli": re.compile(r"""\s-a[ ]{1,3}["']?(?P<v>[^\s"']{2,200})"""),
    "ldap": re.compile(r"""\s-w[ ]{0,3}["']?(?P<v>[^\s"']{2,200})"""),
    "sqlcmd": re.compile(r"""\s-P[ ]{0,3}["']?(?P<v>[^\s"']{2,200})"""),
    "curl": re.compile(r"""\s(?:-u|--user|--proxy-user|-U|-a)[ =]?["']?[^\s:"']{1,100}:(?P<v>[^\s"'@]{2,200})"""),
    "smbclient": re.compile(r"""\s-U[ ]?["']?[^\s%"']{1,100}%(?P<v>[^\s"']{2,200})"""),
    "openssl": re.compile(r"""\bpass:["']?(?P<v>[^\s"']{2,200})"""),
}
_NETRC = re.compile(r"\blogin[ \t\n]{1,20}[^\s]{1,200}[ \t\n]{1,20}password[ \t]{1,20}(?P<v>[^\s]{3,400})")


def assignments(view: View) -> Iterator[Span]:
    """``API_KEY=…``, ``"password": "…"``, ``--token …``, ``X-Api-Key: …``, ``Authorization: …``, ``Cookie: …``."""
    text, done = view.text, 0
    for hit in names.SUSPECT.finditer(text):
        if hit.start() < done:
            continue
        start, end = _name(text, hit.start(), hit.end())
        done = end
        found = _header(text, text[start:end].lower(), end) or _given(text, start, end)
        if found:
            at, to, kind = found
            done = max(done, to)
            yield Span(view.start(at), view.end(to), kind, 3)


def _name(text: str, at: int, to: int) -> tuple[int, int]:
    first, last = max(0, at - _REACH), min(len(text), to + _REACH)
    start, end = at, to
    while start > first and text[start - 1] in _NAME:
        start -= 1
    while end < last and text[end] in _NAME:
        end += 1
    if start and text[start - 1] == "\\" and text[start] in "nrt":  # an escape of JSON, and not the name's first letter
        start += 1
    return start, end


def _header(text: str, name: str, end: int) -> tuple[int, int, str] | None:
    if name in ("authorization", "proxy-authorization", "--header.authorization"):
        m = _HEADER.match(text, end)
        if m is None:
            return None
        value, scheme = m["v"], (m["scheme"] or "").lower()
        if scheme in ("digest", "aws4-hmac-sha256", "signature", "oauth"):
            return m.start("v"), m.end("rest"), "authorization header"
        known = scheme in (
            "bearer",
            "basic",
            "token",
            "apikey",
            "api-key",
            "negotiate",
            "ntlm",
            "bot",
            "key",
            "jwt",
            "sso-key",
        )
        if known and len(value) >= 8 and not names.no_secret(value) and not (value.isalpha() and scheme != "basic"):
            return m.start("v"), m.end("v"), "authorization header"
        if (
            not scheme
            and "," not in text[end : m.start("v")]
            and names.random_like(value, 12)
            and not names.no_secret(value)
        ):
            return m.start("v"), m.end("v"), "authorization header"
    elif name in ("cookie", "set-cookie"):
        m = _COOKIE.match(text, end)
        if m is not None:
            pair = m["v"]
            at = m.start("v") + pair.index("=") + 1
            stop = pair.find(";") if name == "set-cookie" else -1
            to = m.start("v") + stop if stop > 0 else m.end("v")
            value = text[at:to].strip()
            if len(value) >= 4 and not names.no_secret(value):
                return at, at + len(text[at:to].rstrip()), "cookie"
    return None


def _given(text: str, start: int, end: int) -> tuple[int, int, str] | None:
    name = text[start:end]
    flag = name.startswith("-")
    shorn = name.rstrip("-.")
    what = names.category(shorn)
    if not what and not (name == "auth" and text[start - 1 : start] in ('"', "'")):
        return None
    sep = _GIVES.match(text, end) or _CALLED.match(text, end)
    if sep is None and (flag or (name == "PASSWORD" and text[end : end + 2] == " '")):
        sep = _SPACED.match(text, end)
    if sep is None and what == "password":
        sep = _IS.match(text, end)
    if sep is None:
        return None
    kind, at = _KINDS[what or "secret"], sep.end()
    sign = sep["sep"]
    quoted = _QUOTED.match(text, at)
    if not what:  # docker's {"auth": "…"}
        good = quoted is not None and len(quoted["v"]) >= 12 and names.random_like(quoted["v"], 12)
        return (quoted.start("v"), quoted.end("v"), "password") if quoted and good else None
    if quoted is not None:
        value = quoted["v"]
        if sign == "," and not flag:  # a list of names
            return None
        called = names.random_like(value) and any(c.isdigit() for c in value) and value[0] not in "@:"
        good = called and not names.no_secret(value) if sign == "(" else names.quoted_secret(value, what)
        return (quoted.start("v"), quoted.end("v"), kind) if good else None
    if sign in (",", "("):
        return None
    bare = _BARE.match(text, at) if text[at : at + 1] not in ("[", "(", "{", "$") else None
    if bare is None:
        return None
    value, to = bare[0], bare.end()
    if sign == ">" and text[to : to + 1] != "<":
        return None
    value = re.split(r"\\[nrt]", value, maxsplit=1)[0].rstrip(".:)]}*\\") if sign != ">" else value
    to = at + len(value)
    place = _place(text, start, at, to, sign, name, flag)
    return (at, to, kind) if names.bare_secret(value, what, place) else None


def _place(
    text: str, start: int, at: int, to: int, sign: str, name: str, flag: bool
) -> Literal["line", "shell", "code", "text"]:
    before = text[max(0, start - 12) : start]
    tight = at == start + len(name) + 1 and sign == "="
    if flag:
        return "shell" if sign == "=" or _SHELL_END.match(text, to) else "text"
    if tight and name == name.upper() and before[-1:] not in ("(", ",", "."):
        return "shell"
    if sign == "is" or sign == ">":
        return "text"
    if before[-1:] in ("?", "&", ";") or (tight and (_NEXT_PAIR.match(text, to) or _PAIR_BEFORE.search(before))):
        return "text"
    begins = (
        not before.strip(" \t")
        or before.rstrip(" \t")[-1:] in ("\n", "+", "-", ">", "|")
        or before.endswith(("export ", "\\n"))
    )
    if begins and _LINE_END.match(text, to):
        return "line"
    return "text" if name.lower().startswith("x-") or text[to : to + 1] in ("&", ";") else "code"


def addresses(view: View) -> Iterator[Span]:
    """``https://user:password@host``, tokens before an ``@``, signatures in a query."""
    text = view.text
    if "://" in text:
        for m in _URL.finditer(text):
            value = m["v"]
            weak = value.lower() in ("password", "pass", "pwd", "secret", "token", "pw", "port")
            if not weak and len(set(value)) > 1 and value[0] not in "$<{%[*." and not value.isupper():
                yield Span(view.start(m.start("v")), view.end(m.end("v")), "url password", 2)
        for m in _URL_USER.finditer(text):
            if names.random_like(m["v"], 20):
                yield Span(view.start(m.start("v")), view.end(m.end("v")), "url password", 2)
    if "=" in text and ("?" in text or "&" in text):
        for m in _QUERY.finditer(text):
            least = 32 if m["name"].lower() in ("key", "code", "auth") else 12
            if names.random_like(m["v"], least) and not names.no_secret(m["v"]):
                yield Span(view.start(m.start("v")), view.end(m.end("v")), "url signature", 2)


def bearers(view: View) -> Iterator[Span]:
    """A bearer token wherever it stands."""
    if "earer" in view.text:
        for m in _BEARER.finditer(view.text):
            if names.random_like(m[1], 16) and not names.no_secret(m[1]):
                yield Span(view.start(m.start(1)), view.end(m.end(1)), "authorization header", 3)


def command_lines(view: View) -> Iterator[Span]:
    """Passwords behind the short flags of well-known tools, and those of a netrc file."""
    text = view.text
    for m in _TOOL.finditer(text) if " -" in text or "pass:" in text else ():
        tool, args = m["tool"], m["args"]
        if tool.startswith(("mysql", "mariadb")):
            option = _OPTIONS["mysql"]
        elif tool.startswith("ldap"):
            option = _OPTIONS["ldap"]
        elif tool in ("docker", "podman", "helm", "az", "skopeo", "buildah"):
            if " login" not in args:
                continue
            option = _OPTIONS["login"]
        else:
            option = _OPTIONS.get(tool, _OPTIONS["curl"])
        found = option.search(args)
        if found is None:
            continue
        value = found["v"].strip("\"'")
        glued = tool.startswith(("mysql", "mariadb"))
        if not value or value[0] in "$<{[%-" or value.isupper() or (glued and value.lower() in ("assword", "ort")):
            continue
        if names.no_secret(value) and value.lower() not in ("admin", "postgres"):
            continue
        at = m.start("args") + found.start("v") + (found["v"][0] in "\"'")
        yield Span(view.start(at), view.end(at + len(value)), "password", 3)
    if "login" in text and "password" in text:
        for m in _NETRC.finditer(text):
            if not names.no_secret(m["v"]):
                yield Span(view.start(m.start("v")), view.end(m.end("v")), "password", 3)
