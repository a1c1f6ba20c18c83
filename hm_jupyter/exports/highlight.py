"""Code colouring with one small lexer for every language: strings, comments, numbers, keywords, operators.

Good enough to read by, linear in the length of hostile text (every alternative is bounded or fails at once), and the
same five classes as the live view. It does not know grammars and does not try to.
"""

from __future__ import annotations

import re

from . import safe

MAX = 60_000  # characters; longer code is shown without colour

_PYTHON = (
    "and as assert async await break class continue def del elif else except finally for from global if import in is "
    "lambda nonlocal not or pass raise return try while with yield match case None True False"
)
_SHELL = "if then else elif fi for while until do done case esac in function return export local set unset"
_C_LIKE = (
    "abstract async await bool break case catch char class const continue default delete do double else enum export "
    "extends extern false final finally float fn for from func function go if impl implements import in instanceof int "
    "interface let long loop match mod mut namespace new nil null package private protected pub public return self "
    "short static struct super switch this throw throws trait true try type typeof undefined union unsafe use using "
    "var void while yield"
)
_SQL = (
    "select from where group by order having join left right inner outer full on as and or not null is in insert into "
    "values update set delete create table view drop alter with union all distinct limit case when then else end"
)
_R = "if else repeat while function for in next break TRUE FALSE NULL NA library begin end using struct"
_DATA = "true false null yes no"

_FAMILIES: dict[str, tuple[str, str]] = {}  # language: (keywords, comment introducers)
for _names, _words, _comment in (
    ("python py python3 ipython pycon", _PYTHON, "#"),
    ("bash sh shell zsh console dockerfile docker makefile make", _SHELL, "#"),
    ("javascript js jsx typescript ts tsx java c cpp c++ csharp cs go rust rs kotlin swift scala php", _C_LIKE, "//"),
    ("sql sqlite postgresql mysql", _SQL, "--"),
    ("r julia jl", _R, "#"),
    ("json yaml yml toml ini", _DATA, "#"),
    ("html xml css markdown md text txt diff csv", "", ""),
):
    for _name in _names.split():
        _FAMILIES[_name] = (_words, _comment)

LANGUAGES = frozenset(_FAMILIES)


def _lexer(words: str, comment: str) -> re.Pattern[str]:
    parts = []
    if comment == "//":
        parts.append(r"(?P<c>//[^\n]*|/\*(?:[^*]|\*(?!/)){0,5000}\*/)")
    elif comment == "#":
        parts.append(r"(?P<c>(?<![^\s;])#[^\n]*)")
    elif comment:
        parts.append(r"(?P<c>--[^\n]*)")
    parts.append(
        r'(?P<s>"""(?:[^"]|"(?!"")){0,5000}"""|\'\'\'(?:[^\']|\'(?!\'\')){0,5000}\'\'\''
        r'|"(?:[^"\\\n]|\\[^\n]){0,1000}"|\'(?:[^\'\\\n]|\\[^\n]){0,1000}\')'
    )
    parts.append(r"(?P<w>[^\W\d]\w*)")
    parts.append(r"(?P<n>\d[\w.]*)")
    parts.append(r"(?P<o>[-+*/=<>!%|&~^]+)")
    return re.compile("|".join(parts))


_LEXERS: dict[str, tuple[re.Pattern[str], frozenset[str], bool]] = {}


def language(info: str) -> str:
    """The language a fence names, in lower case, if it is one we know; else ""."""
    word = info.strip().split(None, 1)[0].lower() if info.strip() else ""
    word = word.strip("{}.")
    return word if word in _FAMILIES else ""


def markup(code: str, info: str = "") -> str:
    """``code`` as HTML: escaped, with ``hm-k hm-s hm-n hm-d hm-o hm-c`` spans where the language is known."""
    name = language(info)
    words, comment = _FAMILIES.get(name, ("", ""))
    if not words or len(code) > MAX:
        return safe.markup(code)
    if name not in _LEXERS:
        _LEXERS[name] = (_lexer(words, comment), frozenset(words.split()), words is _SQL)
    lexer, keywords, fold = _LEXERS[name]
    out: list[str] = []
    at = 0
    after_def = False
    for m in lexer.finditer(code):
        out.append(safe.markup(code[at : m.start()]))
        at, kind, text = m.end(), m.lastgroup, m[0]
        shown = safe.markup(text)
        if kind == "w":
            kind = "k" if (text.lower() if fold else text) in keywords else "d" if after_def else ""
            after_def = text in ("def", "class", "function", "func", "fn")
        out.append(f'<span class="hm-{kind}">{shown}</span>' if kind else shown)
    out.append(safe.markup(code[at:]))
    return "".join(out)
