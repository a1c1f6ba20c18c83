"""Code colouring for the frozen output: Pygments' tokens in the six classes of the live view.

Only lexers on a list are used (a fence names its language, and what an agent names is not to choose among hundreds), and
only for code of ordinary length: a lexer is made of regular expressions, and an agent's text is hostile. Those of Java, C#
and make are not on the list, for they take seconds for 20 kB of well-chosen nonsense.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from . import safe

MAX = 10_000  # characters; longer code is shown without colour
LONGEST_LINE = 1_000  # characters; a longer line is no code anybody reads

_LEXERS: dict[str, str] = {}  # what a fence may say: Pygments' name
for _lexer, _names in {
    "python": "python py python3 ipython ipython3",
    "pycon": "pycon",
    "bash": "bash sh shell zsh console",
    "docker": "docker dockerfile",
    "javascript": "javascript js jsx",
    "typescript": "typescript ts tsx",
    "c": "c",
    "cpp": "cpp c++",
    "go": "go golang",
    "rust": "rust rs",
    "kotlin": "kotlin",
    "swift": "swift",
    "scala": "scala",
    "php": "php",
    "ruby": "ruby rb",
    "sql": "sql sqlite postgresql mysql",
    "r": "r",
    "julia": "julia jl",
    "json": "json",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini",
    "html": "html",
    "xml": "xml",
    "css": "css",
    "text": "text txt markdown md diff csv",
}.items():
    for _name in _names.split():
        _LEXERS[_name] = _lexer

LANGUAGES = frozenset(_LEXERS)

_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment, "c"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Operator, "o"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "d"),
    (Name.Class, "d"),
)


def language(info: str) -> str:
    """The language a fence names, in lower case, if it is one we know; else ""."""
    word = info.strip().split(None, 1)[0].lower() if info.strip() else ""
    word = word.strip("{}.")
    return word if word in _LEXERS else ""


def markup(code: str, info: str = "") -> str:
    """``code`` as HTML: escaped, with ``hm-k hm-s hm-n hm-d hm-o hm-c`` spans where the language is known."""
    name = _LEXERS.get(language(info), "text")
    if name == "text" or len(code) > MAX or max(map(len, code.split("\n"))) > LONGEST_LINE:
        return safe.markup(code)
    tokens = list(_lexer_of(name).get_tokens_unprocessed(code))
    if "".join(text for _, _, text in tokens) != code:  # a lexer that drops what it does not expect would hide it
        return safe.markup(code)
    out: list[str] = []
    for kind, run in groupby(tokens, key=_kind):
        shown = safe.markup("".join(text for _, _, text in run))
        out.append(f'<span class="hm-{kind}">{shown}</span>' if kind else shown)
    return "".join(out)


def _kind(found: tuple[int, _TokenType, str]) -> str:
    _, token, text = found
    return "" if text == "." or not text.strip() else next((cls for parent, cls in _CLASSES if token in parent), "")


@cache
def _lexer_of(name: str) -> Any:
    return get_lexer_by_name(name)
