"""The options of a magic line, and the text behind them, which is the person's and stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter.errors import UsageError
from hm_jupyter.notebook.options import Option, anywhere, leading

OPTIONS = (
    Option("background", ""),
    Option("approve", "", choices=("ask", "edits", "all")),
    Option("attach", "", "NAME", repeat=True),
    Option("timeout", "", "SECONDS", number=True),
    Option("note", "", "TEXT"),
)


def test_text_behind_the_options_is_verbatim():
    args = leading("""--background --approve all fix {x!r} and "$HOME" --approve now\\n  twice""", OPTIONS)
    assert args.values == {"background": True, "approve": "all"}
    assert args.text == """fix {x!r} and "$HOME" --approve now\\n  twice"""


def test_two_dashes_end_the_options():
    args = leading("--background --  --approve is my text", OPTIONS)
    assert (args.text, args.literal) == (" --approve is my text", True)


def test_values_may_be_quoted_joined_and_repeated():
    args = leading("--attach a --attach=b --note 'two words' --note=\"x y\" go", OPTIONS)
    assert args.values == {"attach": ["a", "b"], "note": "x y"}
    assert args.text == "go"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("one --background      # why", ["one"]),
        ("# only why", []),
        ("one '#two' --timeout 3 # 'why", ["one", "#two"]),
        ("one#two", ["one#two"]),
        ("one -- #two", ["one", "#two"]),
    ],
)
def test_behind_the_words_of_a_subcommand_a_comment_may_stand(line: str, words: list[str]):
    assert anywhere(line, OPTIONS, where="%hm x").words == words


def test_options_stand_anywhere_among_the_words_of_a_subcommand():
    args = anywhere("one --timeout 3 'two words' --background -- --three", OPTIONS, where="%hm x")
    assert args.words == ["one", "two words", "--three"]
    assert args.values == {"timeout": 3.0, "background": True}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--aprove all x", "did you mean --approve"),
        ("--zzz x", "it takes --background"),
        ("--approve everything x", "one of ask, edits, all"),
        ("--approve al x", "did you mean all"),
        ("--approve", "needs a value: --approve ask|edits|all"),
        ("--approve --background x", "needs a value"),
        ("--timeout soon x", "needs a number"),
        ("--background=yes x", "takes no value"),
        ("--note 'open", "is not closed"),
    ],
)
def test_a_wrong_option_says_what_is_right(line: str, says: str):
    with pytest.raises(UsageError, match=says.replace("|", r"\|")):
        leading(line, OPTIONS)


@given(st.text().filter(lambda t: not t.lstrip().startswith("--")))
def test_any_text_comes_through_whole(text: str):
    assert leading(f"--background -- {text}", OPTIONS).text == text
    assert leading(text, OPTIONS).text == text.lstrip()
