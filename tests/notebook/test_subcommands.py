"""When a line is a prompt, when a subcommand, and when a slip of the keyboard."""

from __future__ import annotations

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.notebook.dispatch import parse
from hm_jupyter.notebook.subcommands import SUBCOMMANDS, distance, meant

CALLS = (
    "start agents use stop steer follow approve deny answer pending abort mode model effort compact state sessions fork "
    "export config help login logout resume close delete stop-work options set commands "
    "bash stats name new-session branches call"
).split()


def test_there_is_a_subcommand_for_each_call():
    assert set(SUBCOMMANDS) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_every_subcommand_is_carried_out_by_a_function_that_is_there(name: str):
    from importlib import import_module

    module, _, function = SUBCOMMANDS[name].run.partition(":")
    assert callable(getattr(import_module(f"hm_jupyter.notebook.{module}"), function))


@pytest.mark.parametrize(
    "text",
    [
        "why does the join drop 312 rows?",
        "hello",
        "yes please",
        "continue",
        "tests fail, fix them",
        "users who never ordered: how many?",
        "models of growth compared in one plot",
        "- a list\n- of things",
        "{braces} \"quotes\" 'and' $dollars \\backslash",
        "fix",
    ],
)
def test_prose_is_a_prompt(text: str):
    sub, args = parse(text)
    assert sub is None
    assert args.text == text


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("aprove", "%hm approve"),
        ("statu", "%hm state"),
        ("status", "%hm state"),
        ("Help", "%hm help"),
        ("cancel", "%hm abort"),
        ("aprove call_7", "%hm approve call_7"),
        ("aprove --for-session", "%hm approve --for-session"),
        ("modle gpt-5", "%hm model gpt-5"),
        ("stat", "%hm state"),
    ],
)
def test_a_mistyped_subcommand_suggests_the_right_one(line: str, right: str):
    with pytest.raises(UsageError) as error:
        parse(line)
    assert f"did you mean {right}?" in str(error.value)
    assert f"%hm -- {line}" in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        "use pandas to plot the data",
        "stop using tabs",
        "export the user's data to CSV",
        "help me fix the test",
        "state your assumptions",
        "model the revenue by month",
        "fork the repo and build it",
        "compact the code in utils.py",
        "close the file when done",
        "delete the temporary files",
        "set up a project for me",
        "resume where we left off",
        "options for plotting this",
        "start by reading the README",
    ],
)
def test_prose_that_begins_like_a_subcommand_is_not_carried_out_and_says_how_to_send_it(line: str):
    with pytest.raises(UsageError) as error:
        parse(line)
    assert f"%hm -- {line}" in str(error.value)


def test_two_dashes_make_a_prompt_of_anything():
    sub, args = parse("-- stop using tabs")
    assert (sub, args.text) == (None, "stop using tabs")


def test_options_of_a_prompt_make_a_prompt_of_anything():
    sub, args = parse("--background use pandas to plot it")
    assert (sub, args.text, args.values) == (None, "use pandas to plot it", {"background": True})


def test_a_session_may_be_named_before_a_subcommand():
    sub, args = parse("--session other abort")
    assert sub is SUBCOMMANDS["abort"]
    assert args.values == {"session": "other"}


def test_the_text_of_a_cell_is_sent_as_it_is():
    body = '  indented {x} $y\n\n"quoted" \\n\n\n'
    sub, args = parse("--approve all", body)
    assert sub is None
    assert args.text == body[:-1]  # less the line break IPython ends a cell with


def test_words_on_the_line_of_a_cell_are_its_first_line():
    assert parse("why does this fail?", "Traceback …\n")[1].text == "why does this fail?\nTraceback …"


def test_a_cell_may_be_the_text_of_a_subcommand():
    sub, args = parse("steer", "use a log axis\nand a legend\n")
    assert sub is SUBCOMMANDS["steer"]
    assert args.text == "use a log axis\nand a legend"


def test_a_cell_below_a_subcommand_that_takes_no_text_is_refused():
    with pytest.raises(UsageError, match="takes no text below it"):
        parse("export", "the data\n")


@pytest.mark.parametrize("line", ["", "--help", "-h", "?"])
def test_nothing_at_all_shows_the_help(line: str):
    assert parse(line)[0] is SUBCOMMANDS["help"]


@pytest.mark.parametrize("line", ["--", "--background", "--attach df"])
def test_nothing_to_send_is_said(line: str):
    with pytest.raises(UsageError, match="nothing to send"):
        parse(line)


def test_images_alone_are_a_prompt():
    assert parse("--image fig")[1].text == ""


def test_a_swap_is_one_slip():
    assert distance("mdoel", "model") == 1
    assert meant("mdoel") == "model"
    assert meant("hello") == ""
