"""Whatever an agent writes, in whatever field: exports run nothing, fetch nothing, and cannot be mistaken for the widget."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser

import nh3
import pytest
from markdown_it import MarkdownIt

from hm_jupyter.exports import documents, html, markdown, mime, text
from hm_jupyter.exports.ansi import lines as lines_of
from hm_jupyter.exports.ansi import strip as text_of
from hm_jupyter.exports.style import frozen
from hm_jupyter.transcript import MessageEntry, Rope, Transcript

from ..hostile import CORPUS, GROWING, LARGE
from ..planting import KINDS, transcripts

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)

ELEMENTS = {
    "style": set(), "div": {"class"}, "span": {"class", "style"}, "p": {"class"}, "details": {"class", "open"},
    "summary": {"class"}, "b": {"class"}, "code": {"class"}, "pre": {"class"}, "br": set(), "hr": set(), "strong": set(),
    "em": set(), "del": set(), "ins": set(), "s": set(), "blockquote": set(), "ul": {"class"}, "ol": {"start"},
    "li": {"class"}, "h3": set(), "h4": set(), "h5": set(), "h6": set(), "table": set(), "thead": set(), "tbody": set(),
    "tr": set(), "th": set(), "td": set(), "a": {"href", "target", "rel"}, "img": {"src", "alt"},
    "svg": {"class", "width", "height", "viewbox", "fill", "stroke", "stroke-width", "aria-hidden"},
    "path": {"d", "fill", "stroke-width"}, "circle": {"cx", "cy", "r"},
    "rect": {"x", "y", "width", "height", "fill"},
}  # fmt: skip
VALUES = {
    "class": re.compile(r"(?:(?:hm-[\w-]+|mathjax_ignore|tex2jax_ignore)(?: |$))+"),
    "style": re.compile(r"color:#[0-9a-f]{6}"),
    "href": re.compile(r"(?:https?://|mailto:)[^\s\"'<>\\]+"),
    "src": re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+"),
    "target": re.compile("_blank"),
    "rel": re.compile("noopener noreferrer"),
    "start": re.compile(r"\d+"),
}
ALARMING = {"script", "iframe", "img", "object", "embed", "form", "input", "button", "link", "meta", "base", "video", "audio", "svg",
            "math", "style", "template", "section", "textarea", "select", "body", "frameset", "portal", "picture", "source"}  # fmt: skip


@cache
def everywhere(name: str) -> Transcript:
    """The named text in every string of every kind of entry, in every state."""
    return transcripts(CORPUS[name], thorough=name not in LARGE)


@cache
def once(name: str) -> Transcript:
    """The named text in every string of every kind of entry."""
    return transcripts(CORPUS[name], thorough=False)


class Checker(HTMLParser):
    """Every element and attribute against an allow-list."""

    def __init__(self, elements: dict[str, set[str]]) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.styles, self.inside, self.depth = elements, 0, "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.elements, f"<{tag}>"
        for name, value in attrs:
            assert name in self.elements[tag], f"<{tag} {name}={value!r}>"
            if name in VALUES:
                assert VALUES[name].fullmatch(value or ""), f"<{tag} {name}={value!r}>"
            assert not HIDDEN.search(value or "")
        if tag == "div":
            self.depth += 1
        self.inside = tag
        self.styles += tag == "style"

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self.depth -= 1
            assert self.depth >= 0

    def handle_data(self, data: str) -> None:
        assert not HIDDEN.search(data), repr(data[:80])

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]}")

    handle_decl = unknown_decl = handle_pi = handle_comment


def check_html(page: str) -> None:
    checker = Checker(ELEMENTS)
    checker.feed(page)
    checker.close()
    assert checker.depth == 0, "an agent closed or opened a box of ours"
    assert checker.styles == 1
    style = re.match(r"<style>(.*?)</style>", page, re.S)
    assert style
    assert style[1] == frozen(page[style.end() :]), "the stylesheet is ours, whole"
    for mark in ("hm-frame", "hm-btn", "hm-dock", "data-commandlinker"):
        assert not re.search(rf"<[^>]*{mark}", page)
    # the same question to a parser that follows the standard: without style and drawings, is anything alarming left?
    rest = re.sub(r'<svg class="hm-ic".*?</svg>', "", page[style.end() :])
    known = set(ELEMENTS) - {"style", "svg", "path", "circle", "rect", "img"}
    strict = nh3.clean(rest, tags=known, attributes={}, clean_content_tags=set())
    assert strict == nh3.clean(rest, tags=known | ALARMING, attributes={}, clean_content_tags=set())


def without_jupyterlab_math(source: str) -> tuple[str, list[str]]:
    """What JupyterLab 4's ``removeMath`` does: cuts formulas out of markdown source, ``@@0@@`` in their place.

    Told after its behaviour: delimiters count everywhere but for dollars in code; a formula ends at its own delimiter or
    is given up at an empty line; braces must balance.
    """
    pieces = re.split(
        r"(\$\$?|\\(?:begin|end)\{[a-z]*\*?\}|\\[{}$]|[{}]|(?:\n\s*)+|@@\d+@@|\\\\(?:\(|\)|\[|\]))", source
    )
    ends = {"$": "$", "$$": "$$", "\\\\(": "\\\\)", "\\\\[": "\\\\]"}
    formulas: list[str] = []
    out: list[str] = []
    start, end, depth = -1, "", 0
    for n, piece in enumerate(pieces):
        out.append(piece)
        if start >= 0:
            if piece == end and depth <= 0:
                formulas.append("".join(out[start:]))
                out[start:] = [f"@@{len(formulas) - 1}@@"]
                start = -1
            elif re.search(r"\n.*\n", piece):
                start = -1
            else:
                depth += (piece == "{") - (piece == "}")
        elif n % 2 and (piece in ends or piece.startswith("\\begin")):
            start, depth = len(out) - 1, 0
            end = ends.get(piece) or piece.replace("\\begin", "\\end")
    return "".join(out), formulas


MD_ELEMENTS = {
    tag: set()
    for tag in "p em strong s del pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody tr hr br".split()
}
MD_ELEMENTS |= {
    "a": {"href"},
    "img": {"src", "alt"},
    "code": {"class"},
    "th": {"style"},
    "td": {"style"},
    "ol": {"start"},
}
MD_VALUES = {"class": re.compile(r"language-[\w+]+"), "style": re.compile(r"text-align:(?:left|right|center)")}


class MarkdownChecker(Checker):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in MD_VALUES:
                assert MD_VALUES[name].fullmatch(value or ""), f"<{tag} {name}={value!r}>"
        super().handle_starttag(tag, [(n, v) for n, v in attrs if n not in MD_VALUES])

    handle_startendtag = handle_starttag


def as_marked_reads_labels(source: str) -> str:
    """What JupyterLab's parser (marked) makes of links: it takes the backslashes of brackets out of a label, then reads it."""
    return re.sub(
        r"\[((?:\\.|[^\[\]\\\n])*)\](?=\(<)", lambda m: "[" + re.sub(r"\\([\[\]])", r"\1", m[1]) + "]", source
    )


def check_markdown(source: str) -> None:
    assert not HIDDEN.search(source)
    cut, formulas = without_jupyterlab_math(source)
    for given in (source, cut, as_marked_reads_labels(source)):
        rendered = (
            MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"]).render(given)
        )
        for n, formula in enumerate(formulas):
            formula = formula.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            rendered = rendered.replace(f"@@{n}@@", formula)
        checker = MarkdownChecker(MD_ELEMENTS)
        checker.feed(rendered)
        checker.close()


class Seen(HTMLParser):
    """Every element, with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))


@pytest.mark.parametrize("name", CORPUS)
def test_html_holds_only_what_is_on_the_list(name: str) -> None:
    check_html(html.fragment(everywhere(name), prompts=True))


@pytest.mark.parametrize("name", CORPUS)
def test_markdown_is_inert_where_raw_html_is_on_and_math_is_cut_out_first(name: str) -> None:
    check_markdown(markdown.fragment(everywhere(name), prompts=True))
    check_markdown(documents.document_markdown(once(name), title=CORPUS[name]))


@pytest.mark.parametrize("name", [n for n in CORPUS if n not in LARGE])
def test_markdown_is_inert_in_nbconvert(name: str) -> None:
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    source = markdown.fragment(once(name), prompts=True)
    rendered = markdown2html_mistune(source)
    rendered = re.sub(r'<input class="task-list-item-checkbox" type="checkbox" disabled(?: checked)?/>', "", rendered)
    seen = Seen()
    seen.feed(rendered)
    for tag, attrs in seen.tags:
        assert tag not in ALARMING - {"img"}, tag
        for attr, value in attrs:
            assert not re.match(r"on|srcset|srcdoc|action|formaction|style|data-", attr) or (
                attr == "style" and "text-align" in str(value)
            )
            if attr in ("href", "src"):
                assert re.match(
                    r"https?:|mailto:|#|data:image/png" if attr == "href" else "data:image/png", value or ""
                ), value


@pytest.mark.parametrize("name", CORPUS)
def test_text_shows_no_hidden_character(name: str) -> None:
    told = once(name)
    for written in (text.plain(told), documents.document_text(told, title=CORPUS[name])):
        assert not HIDDEN.search(written)


@pytest.mark.parametrize("name", CORPUS)
def test_the_whole_bundle_can_be_saved_in_a_notebook(name: str) -> None:
    import json

    bundle = mime.bundle(transcripts(CORPUS[name], thorough=False))
    assert json.loads(json.dumps(bundle).encode("utf-8")) == bundle
    json.dumps(bundle, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("name", CORPUS)
def test_a_page_has_no_more_than_its_own_anchors_and_head(name: str) -> None:
    page = documents.document_html(once(name), title=CORPUS[name])
    head, _, body = page.partition("</head>")
    assert head.count("<") == 11, head[:600]  # doctype, html, head, meta × 4, title and style with their ends
    assert re.fullmatch(r'\n<body><main class="hm-root hm-frozen">.*</main></body></html>\n', body, re.S)
    assert set(re.findall(r'\sid="([^"]*)"', body)) <= {"turn-1", "turn-2", "turn-3"}


def test_every_kind_of_entry_is_planted() -> None:
    told = transcripts("planted text")
    assert {type(e) for e in told.entries.values()} == set(KINDS)
    for written in (html.fragment(told), markdown.fragment(told), text.plain(told)):
        assert written.count("planted text") > 80


def test_terminal_escapes_leave_only_their_text() -> None:
    assert text_of("\x1b]8;;https://evil.example\x07here\x1b]8;;\x07 \x1b[2J\x1b[31mred\x1b[0m") == "here red"
    assert text_of("10%\r20%\r100%\ndone\r\n") == "100%\ndone\n"
    assert text_of("bo\bold") == "bold"
    assert lines_of("\x1b[38;2;255;255;255mwhite") == ["white"], "no colour that could be the paper's"


def test_a_link_keeps_its_words_and_loses_a_target_that_is_not_allowed() -> None:
    page = html.prose.render("[press here](javascript:alert(1)) [join](src/join.py) [docs](https://a.example/b)")
    assert "press here (<code>javascript:alert(1)</code>)" in page
    assert "join (<code>src/join.py</code>)" in page
    assert page.count("<a ") == 1
    assert 'rel="noopener noreferrer"' in page


def _seconds(f: Callable[[], object]) -> float:
    best = 1e9
    for _ in range(2):
        start = time.process_time()
        f()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", GROWING)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    def whole(n: int) -> Callable[[], object]:
        told = transcripts(GROWING[name](n), thorough=False)
        return lambda: mime.bundle(told)

    small, large = _seconds(whole(2_000)), _seconds(whole(8_000))
    assert large < max(12 * small, 1.0), f"{small:.3f} s for 2,000 characters, {large:.3f} s for 8,000"


def test_a_megabyte_of_brackets_is_no_trouble() -> None:
    def said(words: str) -> Callable[[], object]:
        told = Transcript(entries={"m": MessageEntry("m", 1, Rope(words), False)})
        return lambda: mime.bundle(told)

    plain, brackets = _seconds(said("plain words " * 80_000)), _seconds(said("[" * 960_000))
    assert brackets < 20 * plain + 1.0
