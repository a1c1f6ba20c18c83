"""The gutter's glyphs as inline drawings: 16 px, one stroke, sized and filled by attributes so that no style is needed."""

from __future__ import annotations

PATHS = {
    "check": '<path d="M3.5 8.5l3 3 6-7"/>',
    "cross": '<path d="M4 4l8 8M12 4l-8 8"/>',
    "off": '<circle cx="8" cy="8" r="5.5"/><path d="M5.5 8h5"/>',
    "todo": '<circle cx="8" cy="8" r="5"/>',
    "now": '<circle cx="8" cy="8" r="5"/><path d="M6.5 5.5l3.5 2.5-3.5 2.5z" fill="currentColor"/>',
    "chev": '<path d="M6 4l4 4-4 4"/>',
    "ask": '<circle cx="8" cy="8" r="6"/><path d="M6.2 6.3a1.9 1.9 0 1 1 2.7 1.7c-.6.3-.9.7-.9 1.3M8 11.4v.1"/>',
    "stop": '<rect x="3.5" y="3.5" width="9" height="9" fill="currentColor"/>',
    "warn": '<path d="M8 2.5l6 10.5H2zM8 6.5v3M8 11.2v.1"/>',
    "info": '<circle cx="8" cy="8" r="6"/><path d="M8 7.3v3.5M8 5.1v.1"/>',
    "steer": '<path d="M3 13V8a3 3 0 0 1 3-3h7M10 2l3 3-3 3"/>',
    "thought": '<path d="M3.5 8h.1M8 8h.1M12.4 8h.1" stroke-width="2.2"/>',
    "fold": '<path d="M3 5h10M3 8h6M3 11h8"/>',
}


def icon(name: str, css: str = "") -> str:
    """The glyph ``name`` in a box of its own, which keeps its place in the grid where a viewer drops drawings."""
    return (
        f'<span class="hm-g{" " + css if css else ""}"><svg class="hm-ic" width="16" height="16" viewBox="0 0 16 16" '
        f'fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">{PATHS[name]}</svg></span>'
    )
