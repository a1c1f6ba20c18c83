"""Questions by form and by page (ACP reference, section 5)."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter import events as ev
from hm_jupyter.commands import Answer
from hm_jupyter.errors import NotWaiting, UsageError
from hm_jupyter.events import Choice, FormField
from hm_jupyter.protocols.acp.elicit import Elicitations


def ask(properties: dict[str, Any], required: Any = None, **more: Any) -> tuple[Elicitations, ev.QuestionRequested]:
    questions = Elicitations(1, "Scripted")
    out: list[ev.Event] = []
    schema = {"type": "object", "properties": properties, **({} if required is None else {"required": required})}
    params = {"sessionId": "s", "mode": "form", "message": "Tell me", "requestedSchema": schema, **more}
    assert questions.request(5, params, out) is None
    (question,) = out
    assert isinstance(question, ev.QuestionRequested)
    return questions, question


def answer(questions: Elicitations, **given: Any) -> dict[str, Any]:
    rpc_id, result = questions.answer(Answer(request_id="e5", **given), [])
    assert rpc_id == 5
    return result


def field(told: dict[str, Any]) -> FormField:
    (made,) = ask({"f": told})[1].form
    return made


# ---- the form ------------------------------------------------------------------------------------------------------


def test_a_form_is_asked_by_the_agent_named() -> None:
    _, question = ask({"f": {"type": "string"}})
    assert (question.text, question.source, question.request_id) == ("Tell me", "Scripted", "e5")
    assert question.call_id == "e5", "a question takes the place of the call whose id it bears"


def test_every_kind_of_field_is_understood() -> None:
    _, question = ask(
        {
            "text": {
                "type": "string",
                "title": "T",
                "description": "D",
                "default": "x",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "^x",
                "format": "email",
            },
            "enum": {"type": "string", "enum": ["a", "b"], "default": "b"},
            "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A", "description": "first"}]},
            "number": {"type": "number", "minimum": 0.5, "maximum": 2, "default": 1},
            "integer": {"type": "integer", "minimum": 1, "default": 2},
            "yes": {"type": "boolean", "default": True},
            "multi": {
                "type": "array",
                "items": {"type": "string", "enum": ["a", "b"]},
                "minItems": 1,
                "maxItems": 2,
                "default": ["a", 7],
            },
            "titles": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        },
        ["text", "multi"],
    )
    assert question.form == [
        FormField("text", "text", "T", "D", True, "x", [], "email", "^x", None, None, 1, 9),
        FormField("enum", "select", default="b", choices=[Choice("a", "a"), Choice("b", "b")]),
        FormField("titled", "select", choices=[Choice("a", "A", "first")]),
        FormField("number", "number", default=1.0, minimum=0.5, maximum=2.0),
        FormField("integer", "integer", default=2, minimum=1.0),
        FormField("yes", "boolean", default=True),
        FormField(
            "multi",
            "multi",
            required=True,
            default=["a"],
            choices=[Choice("a", "a"), Choice("b", "b")],
            min_length=1,
            max_length=2,
        ),
        FormField("titles", "multi", choices=[Choice("a", "A")]),
    ]


@pytest.mark.parametrize(
    "told",
    [
        {"type": "string", "default": 7, "title": 7, "minLength": -1, "format": "_odd", "pattern": 7},
        {"type": "integer", "default": "x", "minimum": "low"},
        {"type": "boolean", "default": "yes"},
        {"type": "number", "default": [], "maximum": None},
    ],
)
def test_what_is_malformed_in_a_field_falls_to_its_default(told: dict[str, Any]) -> None:
    made = field(told)
    assert (made.default, made.title, made.minimum, made.min_length, made.format) == (None, "", None, None, "")


def test_a_field_of_a_kind_nobody_knows_is_left_out_unless_it_is_required() -> None:
    assert ask({"f": {"type": "_color"}, "g": {"type": "string"}})[1].form == [FormField("g")]
    questions, out = Elicitations(), []  # type: ignore[var-annotated]
    schema = {"type": "object", "properties": {"f": {"type": "_color"}}, "required": ["f"]}
    why = questions.request(1, {"mode": "form", "message": "m", "requestedSchema": schema}, out)
    assert (why, out) == ("the required field 'f' is of a kind that is not known here", [])


@pytest.mark.parametrize(
    "params",
    [
        None,
        {"mode": "form"},
        {"mode": "form", "message": "m"},
        {"mode": "form", "message": "m", "requestedSchema": {"properties": 7}},
        {"mode": "telepathy", "message": "m"},
        {"message": "m"},
        {"mode": "url", "message": "m", "url": "https://a"},
        {"mode": "url", "message": "m", "elicitationId": "i"},
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_reason(params: Any) -> None:
    out: list[ev.Event] = []
    assert Elicitations().request(1, params, out)
    assert out == []


def test_a_question_may_belong_to_a_request_instead_of_a_session() -> None:
    out: list[ev.Event] = []
    params = {"requestId": 3, "mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    assert Elicitations().request(1, params, out) is None
    assert len(out) == 1


# ---- the answer ----------------------------------------------------------------------------------------------------


def test_an_answer_is_sent_as_the_schema_wants_it() -> None:
    """What each kind of field takes: tests/test_forms.py."""
    properties = {
        "n": {"type": "integer"},
        "c": {"type": "string", "oneOf": [{"const": "a", "title": "First"}]},
        "left": {"type": "string", "default": "x"},
        "needed": {"type": "string", "default": "y"},
    }
    questions, _ = ask(properties, ["needed"])
    given = {"n": "3", "c": "First"}
    assert answer(questions, fields=given)["content"] == {"n": 3, "c": "a", "needed": "y"}


@pytest.mark.parametrize("given", [{}, {"f": "no"}, {"f": 3, "g": 1}])
def test_an_answer_that_does_not_fit_is_not_sent_and_the_question_waits_on(given: dict[str, Any]) -> None:
    questions, _ = ask({"f": {"type": "integer"}}, ["f"])
    with pytest.raises(UsageError):
        answer(questions, fields=given)
    assert answer(questions, skip=True) == {"action": "decline"}


def test_a_text_answers_a_form_of_one_field_and_no_other() -> None:
    assert answer(ask({"n": {"type": "integer"}})[0], text="3") == {"action": "accept", "content": {"n": 3}}
    multi = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
    assert answer(ask({"n": multi})[0], text="a, b")["content"] == {"n": ["a", "b"]}
    questions, _ = ask({"f": {"type": "string"}, "g": {"type": "string"}})
    with pytest.raises(UsageError, match="'f', 'g'"):
        answer(questions, text="x")


def test_the_transcript_tells_what_was_answered() -> None:
    questions, _ = ask({"f": {"type": "string", "title": "Name"}, "g": {"type": "boolean"}})
    out: list[ev.Event] = []
    questions.answer(Answer(request_id="e5", fields={"f": "Ada", "g": True}), out)
    assert out == [ev.QuestionResolved("e5", "answered", "Name: Ada\ng: yes")]


def test_skipping_declines_and_what_is_withdrawn_or_cancelled_cannot_be_answered() -> None:
    questions, _ = ask({})
    out: list[ev.Event] = []
    assert questions.answer(Answer(request_id="e5", skip=True), out) == (5, {"action": "decline"})
    assert out == [ev.QuestionResolved("e5", "skipped")]
    questions, _ = ask({})
    assert questions.withdraw(5, out) == {"action": "cancel"}
    assert questions.withdraw(5, out) is None
    with pytest.raises(NotWaiting):
        answer(questions, fields={})
    questions, _ = ask({})
    assert questions.cancel_all(out) == [(5, {"action": "cancel"})]
    assert questions.cancel_all(out) == []
    with pytest.raises(NotWaiting):
        answer(questions, fields={})


# ---- a page --------------------------------------------------------------------------------------------------------


def test_a_page_is_shown_whole_and_accepting_it_is_consent() -> None:
    questions, out = Elicitations(1, "Scripted"), []  # type: ignore[var-annotated]
    params = {"sessionId": "s", "mode": "url", "message": "Sign in", "elicitationId": "i", "url": "https://a.b/?c=d"}
    assert questions.request(5, params, out) is None
    (question,) = out
    assert (question.url, question.form, question.free) == ("https://a.b/?c=d", [], False)
    assert answer(questions) == {"action": "accept"}
    done: list[ev.Event] = []
    questions.complete("i", done)
    assert [(type(event), event.detail) for event in done] == [(ev.NoticeRaised, "https://a.b/")]
    for unknown in ("i", "never heard of", 7, None):
        questions.complete(unknown, done)
    assert len(done) == 1


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a.b/login?code=SECRET&x", "https://a.b/login"),
        ("https://a.b#SECRET", "https://a.b"),
        ("https://SECRET:SECRET@a.b/x", "https://a.b/x"),
        ("https://a.b/x?y=https://c/?SECRET", "https://a.b/x"),
        ("https://a.b", "https://a.b"),
        ("data:SECRET", ""),
        ("//a.b/SECRET", ""),
        ("SECRET", ""),
    ],
)
def test_that_a_page_is_done_is_told_without_the_codes_in_its_address(url: str, kept: str) -> None:
    questions, out = Elicitations(1, "Scripted"), []  # type: ignore[var-annotated]
    params = {"sessionId": "s", "mode": "url", "message": "Sign in", "elicitationId": "i", "url": url}
    assert questions.request(5, params, out) is None
    questions.complete("i", out)
    notice = out[-1]
    assert isinstance(notice, ev.NoticeRaised)
    assert notice.detail == kept
