"""An agent's markdown as HTML that cannot run, fetch, submit, or look like the widget.

Two nets, either of which would do: markdown-it with raw HTML off and every leaf written by our own rules (text escaped,
hidden characters shown, links allow-listed, pictures turned into words), then nh3 over an allow-list of elements,
attributes and class names. Knows no transcript.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from . import highlight, links, safe

MAX = 50_000  # characters of one message that are rendered as markdown; a longer one is shown as plain text
MAX_PLAIN = 400_000  # characters of it that are shown

TAGS = frozenset(
    [
        "p",
        "br",
        "strong",
        "em",
        "del",
        "s",
        "code",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "li",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "a",
        "span",
        "b",
        "div",
    ]
)
ATTRIBUTES = {"a": {"href", "target"}, "ol": {"start"}}
CLASSES = {
    "span": {"hm-k", "hm-s", "hm-n", "hm-d", "hm-o", "hm-c"},
    "b": {"hm-esc"},
    "div": {"hm-scroll", "hm-well"},
    "pre": {"hm-pre"},
    "a": set[str](),
}


@cache
def parser() -> Any:
    """The markdown parser of all exports: CommonMark, tables and strikethrough, no raw HTML, every link target kept.

    (Targets are judged when they are written: a link that is not allowed shows its address as text.)
    """
    from markdown_it import MarkdownIt

    md = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    md.validateLink = lambda url: True  # type: ignore[method-assign]
    return md


def _text(tokens: Sequence[Any], i: int, options: Any, env: Any) -> str:
    return safe.markup(tokens[i].content)


def _code(tokens: Sequence[Any], i: int, options: Any, env: Any) -> str:
    return f"<code>{safe.markup(tokens[i].content)}</code>"


def _fence(tokens: Sequence[Any], i: int, options: Any, env: Any) -> str:
    code = tokens[i].content.rstrip("\n")
    return f'<div class="hm-well"><pre class="hm-pre"><code>{highlight.markup(code, tokens[i].info)}</code></pre></div>'


def _image(tokens: Sequence[Any], i: int, options: Any, env: Any) -> str:
    token = tokens[i]
    alt, url = safe.markup(token.content or "picture"), str(token.attrs.get("src", ""))
    if links.allowed(url):
        return f'<a href="{safe.attribute(url)}" target="_blank">{alt}</a> (picture, not loaded)'
    return f"{alt} (picture, not loaded)"


def _link_open(tokens: Sequence[Any], i: int, options: Any, env: Any) -> str:
    url = str(tokens[i].attrs.get("href", ""))
    if links.allowed(url):
        env["links"].append("</a>")
        return f'<a href="{safe.attribute(url)}" target="_blank">'
    text = tokens[i + 1].content if i + 1 < len(tokens) else ""
    env["links"].append(
        "" if not url or url == text else f" (<code>{safe.markup(safe.one_line(url), exact=True)}</code>)"
    )
    return ""


def _link_close(tokens: Sequence[Any], i: int, options: Any, env: Any) -> str:
    return str(env["links"].pop()) if env["links"] else ""


def _heading(tokens: Sequence[Any], i: int, options: Any, env: Any) -> str:
    level = min(int(tokens[i].tag[1:]) + 2, 6)
    return f"<h{level}>" if tokens[i].nesting == 1 else f"</h{level}>\n"


@cache
def _renderer() -> Any:
    from markdown_it.renderer import RendererHTML

    renderer = RendererHTML()
    rules: Any = renderer.rules
    rules.update(
        text=_text,
        code_inline=_code,
        fence=_fence,
        code_block=_fence,
        image=_image,
        html_block=_text,
        html_inline=_text,
        link_open=_link_open,
        link_close=_link_close,
        heading_open=_heading,
        heading_close=_heading,
        table_open=lambda *_: '<div class="hm-scroll"><table>',
        table_close=lambda *_: "</table></div>",
    )
    return renderer


@cache
def _cleaner() -> Any:
    import nh3

    return nh3.Cleaner(
        tags=set(TAGS), attributes={k: set(v) for k, v in ATTRIBUTES.items()},
        allowed_classes={k: set(v) for k, v in CLASSES.items() if v}, url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer", strip_comments=True, clean_content_tags={"script", "style"},
        generic_attribute_prefixes=None,
    )  # fmt: skip


def plain(text: str) -> str:
    """``text`` as one ``<pre>``, for what is not rendered as markdown."""
    shown = text[:MAX_PLAIN]
    more = f"\nand {len(text) - len(shown):,} more characters" if len(text) > len(shown) else ""
    return f'<pre class="hm-pre hm-out">{safe.markup(shown + more)}</pre>'


def render(text: str) -> str:
    """The markdown ``text`` as HTML to put inside ``<div class="hm-md">``. Never fails and never trusts."""
    if len(text) > MAX:
        return plain(text)
    try:
        tokens = parser().parse(text)
        html = _renderer().render(tokens, parser().options, {"links": []})
    except (ValueError, RecursionError, IndexError):  # a fault in the parser must not cost the transcript
        return plain(text)
    return str(_cleaner().clean(html)).strip()
