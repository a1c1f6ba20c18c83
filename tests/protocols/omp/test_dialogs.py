"""Dialogs of extensions and of the ask tool: each is answered, cancelled or taken down."""

from __future__ import annotations

from typing import Any

import pytest
from omp_talk import Talk

from hm_jupyter import events as ev
from hm_jupyter.commands import Abort, Answer


def asked(method: str, **fields: Any) -> Talk:
    t = Talk().prompt()
    t.written()
    t.dialog("d1", method, **fields)
    return t


def answer(t: Talk, **given: Any) -> dict[str, Any]:
    (line,) = t.says(Answer(request_id="d1", **given))
    assert (line.pop("type"), line.pop("id")) == ("extension_ui_response", "d1")
    return line


def test_a_select_is_answered_by_one_of_its_options() -> None:
    t = asked(
        "select", title="Pick a database", options=["SQLite", "PostgreSQL"], optionDetails=[{"description": "one file"}]
    )
    (question,) = t.pending
    assert (question.text, question.free) == ("Pick a database", False)
    assert question.choices == [ev.Choice("SQLite", "SQLite", "one file"), ev.Choice("PostgreSQL", "PostgreSQL")]
    assert answer(t, text="postgresql ") == {"value": "PostgreSQL"}
    assert (t.shown("question")[0].status, t.shown("question")[0].answer) == ("answered", "PostgreSQL")


def test_what_is_no_option_cancels_a_select_and_is_said() -> None:
    t = asked("select", title="Pick", options=["a", "b"])
    assert answer(t, text="c") == {"cancelled": True}
    assert "It offered: a, b." in t.last().text
    assert t.shown("question")[0].status == "skipped"


@pytest.mark.parametrize(
    ("said", "sent"), [("yes", True), ("Yes", True), ("no", False), ("", False), ("sure thing", False)]
)
def test_a_confirmation_is_given_by_a_plain_yes_alone(said: str, sent: bool) -> None:
    t = asked("confirm", title="Dangerous", message="rm -rf build", timeout=30000)
    assert t.pending[0].text == "Dangerous\nrm -rf build"
    assert answer(t, text=said) == {"confirmed": sent}


@pytest.mark.parametrize("method", ["input", "editor"])
def test_a_text_is_asked_for_by_a_form_filled_in_beforehand(method: str) -> None:
    t = asked(method, title="Name it", placeholder="app", prefill="old")
    (field,) = t.pending[0].form
    assert (field.kind, field.title, field.default) == ("text", "Name it", "old")
    assert answer(t, fields={"value": "shop"}) == {"value": "shop"}


def test_a_question_may_be_left_without_an_answer() -> None:
    t = asked("input", title="Name it")
    assert answer(t, skip=True) == {"cancelled": True}
    assert t.pending == []


def test_the_ask_tool_takes_a_text_of_ones_own_in_the_place_of_an_option() -> None:
    t = asked("select", title="Which?", options=["a", "Other (type your own)"])
    assert t.pending[0].free
    assert answer(t, text="something else") == {"value": "something else"}


def test_several_questions_at_once_are_one_form() -> None:
    questions = [
        {"id": "os", "question": "Which systems?", "multi": True, "options": [{"label": "Linux"}, {"label": "macOS"}]},
        {"id": "db", "question": "Which database?", "options": [{"label": "SQLite", "description": "one file"}], "recommended": 0},
    ]  # fmt: skip
    t = asked("ask", questions=questions)
    assert [(f.name, f.kind, f.default) for f in t.pending[0].form] == [
        ("os", "multi", None), ("os:own", "text", None), ("db", "select", "SQLite"), ("db:own", "text", None),
    ]  # fmt: skip
    assert answer(t, fields={"os": ["Linux"], "db:own": "DuckDB"}) == {
        "answers": [
            {"id": "os", "selectedOptions": ["Linux"]},
            {"id": "db", "selectedOptions": [], "customInput": "DuckDB"},
        ]
    }


def test_a_dialog_whose_time_is_over_is_taken_down_by_our_own_clock() -> None:
    t = asked("confirm", title="Quick", message="now", timeout=1500)
    assert t.wakes["omp:dialog:d1"] == 1.5
    t.wake("omp:dialog:d1")
    assert (t.pending, t.shown("question")[0].status, t.written()) == ([], "withdrawn", [])


def test_an_answer_stops_the_clock() -> None:
    t = asked("confirm", title="Quick", message="now", timeout=1500)
    answer(t, text="yes")
    assert "omp:dialog:d1" not in t.wakes


def test_omp_takes_a_dialog_down() -> None:
    t = asked("confirm", title="Sure?")
    t.dialog("d2", "cancel", targetId="d1")
    assert (t.pending, t.shown("question")[0].status) == ([], "withdrawn")


def test_an_answer_is_sent_once_and_a_late_one_not_at_all() -> None:
    t = asked("confirm", title="Sure?")
    answer(t, text="yes")
    assert t.says(Answer(request_id="d1", text="yes")) == []


def test_open_questions_are_cancelled_before_an_abort_and_with_the_end_of_the_run() -> None:
    t = asked("input", title="Name?")
    assert [line["type"] for line in t.says(Abort())] == ["extension_ui_response", "abort"]
    t = asked("input", title="Name?")
    t.ends()
    assert t.written() == [{"type": "extension_ui_response", "id": "d1", "cancelled": True}]
    assert t.shown("question")[0].status == "interrupted"


def test_a_dialog_while_nothing_runs_is_asked_too() -> None:
    t = Talk()
    t.dialog("d1", "confirm", title="Trust this folder?")
    assert not t.running
    assert t.pending[0].text == "Trust this folder?"


def test_a_dialog_nobody_knows_is_kept_and_cancelled_so_that_nothing_waits() -> None:
    t = asked("hologram", title="?")
    assert t.written() == [{"type": "extension_ui_response", "id": "d1", "cancelled": True}]
    assert t.of(ev.UnknownReceived)


@pytest.mark.parametrize(
    "method", ["setWorkingMessage", "setFooter", "setHeader", "setEditorComponent", "setToolsExpanded"]
)
def test_what_does_nothing_without_a_terminal_is_ignored(method: str) -> None:
    t = Talk().prompt()
    t.written()
    assert (t.dialog("x", method, text="x"), t.written()) == ([], [])


def test_notifications_are_notices_of_their_level_and_are_not_answered() -> None:
    t = Talk()
    t.dialog("n1", "notify", message="all good", notifyType="info")
    t.dialog("n2", "notify", message="careful", notifyType="warning")
    t.dialog("n3", "notify", message="broken", notifyType="error")
    assert [(n.level, n.text) for n in t.shown("notice")] == [
        ("info", "all good"),
        ("warning", "careful"),
        ("error", "broken"),
    ]
    assert t.written() == []


def test_status_and_widget_lines_are_one_panel_that_is_taken_down_when_empty() -> None:
    t = Talk().prompt()
    t.dialog("s1", "setStatus", statusKey="a", statusText="asking")
    t.dialog("w1", "setWidget", widgetKey="a", widgetLines=["one", "two"])
    (plan,) = t.shown("plan")
    assert [i["text"] for i in plan.items] == ["asking", "one", "two"]
    t.dialog("s2", "setStatus", statusKey="a")
    t.dialog("w2", "setWidget", widgetKey="a")
    assert t.shown("plan")[0].removed


def test_a_widget_without_lines_that_was_never_there_is_nothing() -> None:
    assert Talk().dialog("w", "setWidget", widgetKey="autoresearch") == []


def test_a_terminals_title_is_the_sessions_and_an_editors_text_is_offered() -> None:
    t = Talk("pi")
    t.dialog("t", "setTitle", title="uidemo")
    t.dialog("e", "set_editor_text", text="try this")
    assert t.transcript.state.title == "uidemo"
    assert (t.last().text, t.last().detail) == (
        "An extension suggests this as your next message; copy it if you want it.",
        "try this",
    )


def test_a_page_to_open_is_shown_until_the_sign_in_is_over() -> None:
    t = Talk()
    t.call("login", providerId="acme")
    t.dialog("u", "open_url", url="https://acme.example/login", instructions="Sign in there.")
    assert (t.pending[0].url, t.pending[0].text) == ("https://acme.example/login", "Sign in there.")
    t.answers("login", data={"providerId": "acme"})
    assert t.pending == []
    assert all(line.get("id") != "u" for line in t.written())


def test_a_request_with_the_id_of_a_command_is_not_its_response() -> None:
    t = Talk().prompt()
    (line,) = t.call("get_session_stats")
    t.dialog(line["id"], "confirm", title="Sure?")
    assert t.pending
    assert ev.CommandAnswered(line["id"], True, {"cost": 1}) in t.answers("get_session_stats", data={"cost": 1})
