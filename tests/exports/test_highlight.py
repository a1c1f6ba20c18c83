"""Code in the frozen output: coloured where we know the language, bounded in time whatever an agent writes."""

from __future__ import annotations

import time

import pytest

from hm_jupyter.exports import highlight

NONSENSE = ["a b ", "int x ", "x<", "<!--", "f(", "[[", "a.", "{%", "${", "'" * 3, "/*", '"', "\\", "a:", ": "]
"""What brought lexers to their knees: 20 kB of the first took Pygments' lexers for Java and C# ten seconds and more."""


def test_the_classes_are_those_of_the_live_view() -> None:
    assert highlight.markup("def f(x):  # why\n    return 'a' + 1", "python") == (
        '<span class="hm-k">def</span> <span class="hm-d">f</span>(x):  <span class="hm-c"># why</span>\n'
        '    <span class="hm-k">return</span> <span class="hm-s">\'a\'</span> <span class="hm-o">+</span> '
        '<span class="hm-n">1</span>'
    )


@pytest.mark.parametrize("info", ["", "nonsense", "text", "java"])
def test_what_is_not_on_the_list_is_plain(info: str) -> None:
    assert highlight.markup("int <b>x</b>;", info) == "int &lt;b&gt;x&lt;/b&gt;;"


@pytest.mark.parametrize("code", ["x = 1\n" * 2_000, "x = " + "1" * 1_001])
def test_what_is_too_long_is_plain(code: str) -> None:
    assert "<span" not in highlight.markup(code, "python")


@pytest.mark.parametrize("name", sorted(highlight.LANGUAGES))
def test_every_lexer_gives_back_every_character(name: str) -> None:
    for code in ("\n\n a\n\tb = 'c\n", "<!-- ${x} {% if %} \\"):
        text = highlight.markup(code, name).replace("</span>", "")
        for kind in "kosndc":
            text = text.replace(f'<span class="hm-{kind}">', "")
        assert text == highlight.markup(code, "text")


def test_a_lexer_that_drops_text_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(highlight._LEXERS, "console", "console")  # Pygments' own drops what is no prompt and no output
    assert highlight.markup("<!-- hidden {% if %} \\", "console") == "&lt;!-- hidden {% if %} \\"


@pytest.mark.parametrize("name", sorted(set(highlight._LEXERS.values())))
def test_no_lexer_is_much_slower_on_nonsense_than_the_one_for_python(name: str) -> None:
    def seconds(language: str) -> float:
        begun = time.process_time()
        for bit in NONSENSE:
            highlight.markup((bit * (990 // len(bit)) + "\n") * 3, language)
        return time.process_time() - begun

    language = next(k for k, v in highlight._LEXERS.items() if v == name)
    assert seconds(language) < 30 * (seconds("python") + 0.02)
