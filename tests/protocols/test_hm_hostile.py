"""Whatever an agent writes, ``receive`` never raises, and what it tells is of the kinds it promises."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hm_jupyter.commands import Abort, Answer, Approve, FileEdit, Fork, GetState, Prompt, SetModel, Steer
from hm_jupyter.events import ApprovalRequested, QuestionRequested, TextAppended, ToolCallUpdated, UsageReported
from hm_jupyter.protocols.base import Step
from hm_jupyter.protocols.hm import HmAdapter
from hm_jupyter.protocols.hm_wire import EVENT_FIELDS, EXTENSION_FIELDS

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["c1", "c2", "user", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["path", "old", "new", "content", "edits", "value", "label", "command", "id", "session"])
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=8,
)
FIELDS = {
    kind: sorted({"call_id", "session", *EVENT_FIELDS.get(kind, ()), *EXTENSION_FIELDS.get(kind, ())})
    for kind in sorted({*EVENT_FIELDS, *EXTENSION_FIELDS})
}
PROPER: dict[str, st.SearchStrategy[Any]] = {
    "call_id": st.sampled_from(["c1", "c2", "c3"]),
    "text": st.sampled_from(["", "hi", "go"]),
    "role": st.sampled_from(["user", "assistant", "tool"]),
    "tool": st.sampled_from(["shell", "edit_file", "ask_user"]),
    "id": st.sampled_from([f"k{n}" for n in range(9)]),
    "ok": st.booleans(),
    "allow": st.booleans(),
    "is_error": st.booleans(),
}


@st.composite
def mangled(draw: st.DrawFn) -> dict[str, Any]:
    """An event of a known kind, each field proper, wrong or missing."""
    kind = draw(st.sampled_from(sorted(FIELDS)))
    line: dict[str, Any] = {"type": kind}
    for name in FIELDS[kind]:
        how = draw(st.sampled_from(["proper", "proper", "wrong", "missing"]))
        if how == "proper" and name in PROPER:
            line[name] = draw(PROPER[name])
        elif how != "missing":
            line[name] = draw(values)
    return line


def busy() -> HmAdapter:
    """A session with something of everything open."""
    adapter = HmAdapter(agent_approve="edits")
    for n, command in enumerate(
        [
            Prompt(text="go"),
            Steer(text="hi"),
            Abort(),
            Approve(request_id="c1", allow=True, edits=[FileEdit(path="a", content="b")]),
            Approve(request_id="c2", allow=False, note="n"),
            Answer(request_id="c3", text="x"),
            GetState(),
            Fork(),
            SetModel(model="m"),
        ]
    ):
        adapter.send(command.model_copy(update={"id": f"k{n}"}))
    return adapter


def check(step: Step) -> None:
    assert [m for m in step.messages if m != {"id": "history", "type": "get_history", "limit": 100}] == []
    for event in step.events:
        if isinstance(event, TextAppended):
            assert isinstance(event.text, str)
        elif isinstance(event, ToolCallUpdated):
            assert isinstance(event.call_id, str)
            assert event.output is None or isinstance(event.output, str)
        elif isinstance(event, (ApprovalRequested, QuestionRequested)):
            assert isinstance(event.request_id, str)
            assert event.request_id
            if isinstance(event, ApprovalRequested):
                assert all(isinstance(path, str) for path in event.paths)
                assert isinstance(event.command, str)
                assert isinstance(event.category, str)
        elif isinstance(event, UsageReported):
            assert event.usage.input >= 0
            assert event.usage.cost is None or isinstance(event.usage.cost, float)


@settings(deadline=None)
@given(st.lists(values, max_size=5))
def test_any_json_at_all_is_survived(lines: list[Any]) -> None:
    adapter = busy()
    for line in lines:
        check(adapter.receive(line))


@settings(deadline=None)
@given(st.lists(mangled(), min_size=3, max_size=8))
def test_known_events_with_mangled_fields_are_survived(lines: list[dict[str, Any]]) -> None:
    adapter = busy()
    for line in lines:
        check(adapter.receive(line))
    check(adapter.receive({"type": "turn_end"}))
    assert not any(isinstance(event, TextAppended) for event in adapter.receive({"type": "turn_end"}).events)


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.builds(
                lambda text, of: {"type": "text_delta", "text": text, **of},
                st.sampled_from(["a", "", 7]),
                st.sampled_from([{}, {"agent": "helper"}, {"agent": 1}, {"agent": None}]),
            ),
            mangled(),
            values,
        )
    )
)
def test_pieces_of_text_that_come_together_tell_what_they_tell_one_by_one(lines: list[Any]) -> None:
    one_by_one, together = busy(), busy()
    told: list[Any] = []
    at = 0
    while at < len(lines):
        found = together.texts(lines, at)
        if found is None:
            told += together.receive(lines[at]).events
        else:
            told += [TextAppended(found.message_id, text, found.role) for text in found.pieces]
        at += 1 if found is None else len(found.pieces)
    assert repr(told) == repr([event for line in lines for event in one_by_one.receive(line).events])  # NaN is not NaN


@settings(deadline=None)
@given(values)
def test_numbers_of_any_size_and_kind_are_survived(value: Any) -> None:
    adapter = busy()
    for number in (value, 10**400, float("inf"), float("-inf"), float("nan"), True, -1):
        line = {"type": "usage", "input": number, "output": number, "cost": number}
        check(adapter.receive(line))
        check(adapter.receive({"type": "session_end", "exit_code": number, "usage": line}))


def test_a_line_nested_too_deep_to_print_is_a_notice_all_the_same() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    (event,) = HmAdapter().receive(deep).events
    assert event.detail == ""  # type: ignore[union-attr]
