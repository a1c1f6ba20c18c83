"""The helper of search and fetch, run as a program: ``worker lines JSON`` or ``worker page JSON``.

A process of its own, because a regular expression or a page may take for ever. Imports nothing of the package.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from typing import Any

LONGEST = 5 * 2**20
"""Files larger than this are not searched, in bytes."""


def lines(job: dict[str, Any]) -> None:
    """The lines of ``files`` (below ``top``) in which ``pattern`` is found, as ripgrep writes them with --null."""
    pattern = re.compile(job["pattern"], re.IGNORECASE if job["ignore_case"] else 0)
    around = job["context"]
    for name in job["files"]:
        text = _text(os.path.join(job["top"], name))
        if text is None:
            continue
        rows = text.split("\n")
        hits = [n for n, row in enumerate(rows) if pattern.search(row)][: job["most"]]
        last = -1
        for n in hits:
            for at in range(max(last + 1, n - around), min(len(rows), n + around + 1)):
                if around and last >= 0 and at > last + 1:
                    print("--")
                sign = ":" if at in hits else "-"
                print(f"{name}\0{at + 1}{sign}{rows[at].rstrip(chr(13))}")
                last = at
        sys.stdout.flush()


def _text(path: str) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST:
            return None
        data = file.read(LONGEST)
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")


def page(job: dict[str, Any]) -> None:
    """The HTML in the file ``path`` as markdown: no scripts, styles or pictures."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    with open(job["path"], encoding="utf-8", errors="replace") as file:
        soup = BeautifulSoup(file.read(), "html.parser")
    for tag in soup(["script", "style", "noscript", "template", "svg", "iframe", "nav"]):
        tag.decompose()
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    text = MarkdownConverter(heading_style="atx", strip=["img", "title"]).convert_soup(soup.body or soup)
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    print(f"{title}\n\n{text}" if title else text)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # a text file, as we started it
    {"lines": lines, "page": page}[sys.argv[1]](json.loads(sys.argv[2]))
