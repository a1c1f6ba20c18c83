"""The JSON-RPC peer: answers find their requests in both directions, whatever shape they come in; nothing raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter.events import NoticeRaised, UnknownReceived
from hm_jupyter.protocols.base import Step
from hm_jupyter.protocols.jsonrpc import Handler, Peer, RpcError, RpcId


class Sides(Handler):
    """A peer, and all that was told of it."""

    def __init__(self) -> None:
        self.peer = Peer(self)
        self.asked: list[tuple[RpcId, str, dict[str, Any]]] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.cancelled: list[RpcId] = []
        self.results: list[tuple[Any, RpcError | None]] = []

    def on_request(self, rpc_id: RpcId, method: str, params: dict[str, Any], step: Step) -> None:
        self.asked.append((rpc_id, method, params))

    def on_notification(self, method: str, params: dict[str, Any], raw: Any, step: Step) -> None:
        self.told.append((method, params))

    def on_cancelled(self, rpc_id: RpcId, step: Step) -> None:
        self.cancelled.append(rpc_id)

    def hears(self, value: Any) -> Step:
        step = Step()
        self.peer.receive(value, step)
        return step

    def sends(self, method: str = "m", seconds: float = 60.0) -> tuple[int, Step]:
        step = Step()
        rpc_id = self.peer.request(step, method, {}, lambda r, e, s: self.results.append((r, e)), seconds=seconds)
        return rpc_id, step


@pytest.fixture
def sides() -> Sides:
    return Sides()


def test_requests_are_numbered_with_integers_and_answered_in_any_order(sides: Sides) -> None:
    first, step = sides.sends("a")
    second, _ = sides.sends("b")
    assert step.messages == [{"jsonrpc": "2.0", "id": first, "method": "a", "params": {}}]
    sides.hears({"jsonrpc": "2.0", "id": second, "result": "two"})
    sides.hears({"jsonrpc": "2.0", "id": first, "result": "one"})
    assert sides.results == [("two", None), ("one", None)]


@pytest.mark.parametrize("echo", [str, float, int])
def test_an_answer_whose_id_comes_back_as_another_type_is_still_the_answer(sides: Sides, echo: Any) -> None:
    rpc_id, _ = sides.sends()
    sides.hears({"id": echo(rpc_id), "result": 5})
    assert sides.results == [(5, None)]


def test_true_is_not_the_answer_to_request_1(sides: Sides) -> None:
    rpc_id, _ = sides.sends()
    assert rpc_id == 1
    assert isinstance(sides.hears({"id": True, "result": 5}).events[0], NoticeRaised)
    assert sides.results == []


@pytest.mark.parametrize("rpc_id", [0, "", "0", "a-b", -7, 2**60, 1.5, None])
def test_an_id_of_theirs_comes_back_as_it_came_0_and_texts_included(sides: Sides, rpc_id: RpcId) -> None:
    sides.hears({"id": rpc_id, "method": "m", "params": {"x": 1}})
    assert sides.asked == [(rpc_id, "m", {"x": 1})]
    step = Step()
    assert sides.peer.answer(step, rpc_id, {"y": 2})
    assert step.messages == [{"jsonrpc": "2.0", "id": rpc_id, "result": {"y": 2}}]
    assert type(step.messages[0]["id"]) is type(rpc_id)


def test_0_and_the_text_0_are_two_requests_at_once(sides: Sides) -> None:
    sides.hears({"id": 0, "method": "a"})
    sides.hears({"id": "0", "method": "b"})
    step = Step()
    sides.peer.answer(step, "0", "for b")
    assert step.messages == [{"jsonrpc": "2.0", "id": "0", "result": "for b"}]
    assert sides.peer.is_open(0) and not sides.peer.is_open("0")


def test_the_same_id_may_live_in_both_directions(sides: Sides) -> None:
    rpc_id, _ = sides.sends()
    sides.hears({"id": rpc_id, "method": "theirs"})
    sides.hears({"id": rpc_id, "result": "ours"})
    assert sides.results == [("ours", None)]
    assert sides.peer.is_open(rpc_id)


def test_a_request_is_answered_once(sides: Sides) -> None:
    sides.hears({"id": 3, "method": "m"})
    step = Step()
    assert sides.peer.answer(step, 3, {})
    assert not sides.peer.answer(step, 3, {})
    assert not sides.peer.fail(step, 3, -32603, "no")
    assert len(step.messages) == 1


def test_a_request_delivered_twice_is_asked_once(sides: Sides) -> None:
    for _ in range(2):
        sides.hears({"id": 3, "method": "m", "params": {}})
    assert len(sides.asked) == 1


def test_another_request_with_an_id_still_in_use_is_refused(sides: Sides) -> None:
    sides.hears({"id": 3, "method": "m"})
    assert sides.hears({"id": 3, "method": "other"}).messages[0]["error"]["code"] == -32600
    assert len(sides.asked) == 1


def test_an_answer_delivered_twice_is_taken_once_and_in_silence(sides: Sides) -> None:
    rpc_id, _ = sides.sends()
    sides.hears({"id": rpc_id, "result": 1})
    assert sides.hears({"id": rpc_id, "result": 1}).events == []
    assert len(sides.results) == 1


def test_an_answer_to_nothing_of_ours_is_a_notice(sides: Sides) -> None:
    assert isinstance(sides.hears({"id": 99, "result": 1}).events[0], NoticeRaised)


@pytest.mark.parametrize("answer", [{}, {"id": None}], ids=["no id", "id null"])
def test_an_error_without_an_id_is_a_notice_with_its_reason(sides: Sides, answer: dict[str, Any]) -> None:
    sides.sends()
    [notice] = sides.hears({**answer, "error": {"code": -32700, "message": "Parse error"}}).events
    assert isinstance(notice, NoticeRaised) and "Parse error" in notice.text
    assert sides.results == []


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        ({"code": 400, "message": "bad"}, 400, "bad"),
        (
            {"code": -32603, "message": "Internal error", "data": {"details": "no model"}},
            -32603,
            "Internal error: no model",
        ),
        ({"code": "x", "message": None, "data": "why"}, 0, "why"),
        ("it broke", 0, "it broke"),
        ({}, 0, "no reason given"),
        ([1], 0, "no reason given"),
        ({"code": float("nan")}, 0, "no reason given"),
        ({"code": 1e300}, 0, "no reason given"),
    ],
)
def test_errors_of_any_shape_are_read(sides: Sides, error: Any, code: int, text: str) -> None:
    rpc_id, _ = sides.sends()
    sides.hears({"id": rpc_id, "error": error})
    [(result, found)] = sides.results
    assert result is None and found is not None
    assert (found.code, found.text) == (code, text)


@pytest.mark.parametrize("answer", [{"result": None}, {"result": None, "error": None}])
def test_a_result_of_null_is_a_success(sides: Sides, answer: dict[str, Any]) -> None:
    rpc_id, _ = sides.sends()
    sides.hears({"id": rpc_id, **answer})
    assert sides.results == [(None, None)]


def test_a_long_error_text_is_cut(sides: Sides) -> None:
    assert len(RpcError.read({"code": 1, "message": "x" * 100_000}).text) == 2000


def test_a_batch_is_taken_one_by_one_and_answered_one_by_one(sides: Sides) -> None:
    """Pitfall 26: arrays were in the v2 draft and are out of it again."""
    rpc_id, _ = sides.sends()
    step = sides.hears([{"method": "a"}, {"id": 5, "method": "b"}, {"id": rpc_id, "result": 1}, 7])
    assert [m for m, _ in sides.told] == ["a"] and [m for _, m, _ in sides.asked] == ["b"]
    assert sides.results == [(1, None)] and step.messages == []
    sides.peer.answer(step, 5, {})
    assert not any(isinstance(m, list) for m in step.messages)


@pytest.mark.parametrize("value", [1, "text", None, True, 1.5])
def test_what_is_no_object_is_left_out(sides: Sides, value: Any) -> None:
    """Pitfall 4: valid JSON that is no message is never answered."""
    step = sides.hears(value)
    assert step.messages == [] and [type(e) for e in step.events] == [NoticeRaised]


def test_an_empty_batch_says_nothing(sides: Sides) -> None:
    assert sides.hears([]) == Step()


def test_an_object_that_is_no_message_is_kept(sides: Sides) -> None:
    assert [type(e) for e in sides.hears({"log": "hello"}).events] == [UnknownReceived]


def test_meta_is_never_merged_into_the_params(sides: Sides) -> None:
    """Pitfall 20: ``_meta`` beside or inside the params overrides nothing."""
    sides.hears(
        {"id": 1, "method": "m", "_meta": {"path": "evil"}, "params": {"path": "good", "_meta": {"path": "evil"}}}
    )
    assert sides.asked == [(1, "m", {"path": "good", "_meta": {"path": "evil"}})]


def test_params_that_are_no_object_are_none(sides: Sides) -> None:
    sides.hears({"id": 1, "method": "m", "params": [1, 2]})
    assert sides.asked == [(1, "m", {})]


def test_a_request_whose_id_is_an_object_is_refused_without_one(sides: Sides) -> None:
    [answer] = sides.hears({"id": {"a": 1}, "method": "m"}).messages
    assert answer["id"] is None and answer["error"]["code"] == -32600


# ---- giving up -----------------------------------------------------------------------------------------------------


def test_a_request_they_take_back_is_told_once_and_still_wants_its_answer(sides: Sides) -> None:
    sides.hears({"id": "u-1", "method": "ask"})
    sides.hears({"method": "$/cancel_request", "params": {"requestId": "u-1"}})
    assert sides.cancelled == ["u-1"] and sides.peer.is_open("u-1")


@pytest.mark.parametrize("params", [{"requestId": 9}, {"requestId": "0"}, {}, {"requestId": [1]}])
def test_taking_back_what_is_not_open_means_nothing(sides: Sides, params: dict[str, Any]) -> None:
    sides.hears({"id": 0, "method": "ask"})
    step = sides.hears({"method": "$/cancel_request", "params": params})
    assert sides.cancelled == [] and step == Step()


def test_other_protocol_notifications_are_ignored(sides: Sides) -> None:
    assert sides.hears({"method": "$/progress", "params": {}}) == Step()
    assert sides.told == []


def test_we_take_back_only_what_is_open(sides: Sides) -> None:
    rpc_id, _ = sides.sends()
    step = Step()
    sides.peer.cancel(step, rpc_id)
    assert step.messages == [{"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": rpc_id}}]
    sides.hears({"id": rpc_id, "error": {"code": -32800, "message": "cancelled"}})
    again = Step()
    sides.peer.cancel(again, rpc_id)
    assert again.messages == []


def test_a_deadline_is_asked_for_and_taken_back_with_the_answer(sides: Sides) -> None:
    rpc_id, step = sides.sends(seconds=5)
    [wake] = step.wakes
    assert wake.seconds == 5
    [gone] = sides.hears({"id": rpc_id, "result": 1}).wakes
    assert (gone.key, gone.seconds) == (wake.key, 0)
    late = Step()
    assert sides.peer.woke(wake.key, late)
    assert late == Step() and len(sides.results) == 1


def test_at_the_deadline_the_request_is_given_up_and_a_late_answer_is_nothing(sides: Sides) -> None:
    rpc_id, step = sides.sends("slow/one", seconds=5)
    late = Step()
    assert sides.peer.woke(step.wakes[0].key, late)
    assert [m["method"] for m in late.messages] == ["$/cancel_request"]
    [(result, error)] = sides.results
    assert result is None and error is not None and "slow/one" in error.text
    assert sides.hears({"id": rpc_id, "result": 1}) == Step()
    assert len(sides.results) == 1


def test_without_a_deadline_there_is_no_alarm(sides: Sides) -> None:
    assert sides.sends(seconds=0)[1].wakes == []


def test_an_alarm_of_somebody_else_is_not_ours(sides: Sides) -> None:
    assert not sides.peer.woke("other", Step())
    assert sides.peer.woke("rpc:nonsense", Step())


def test_with_the_connection_every_open_request_is_over(sides: Sides) -> None:
    first, _ = sides.sends()
    sides.hears({"id": 4, "method": "ask"})
    step = Step()
    sides.peer.lost(step)
    assert sides.results[0][1] is not None
    assert not sides.peer.is_open(4)
    assert sides.hears({"id": first, "result": 1}).events == []
    second, _ = sides.sends()
    assert second > first  # an answer of the old connection can never be taken for one of the new


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_members = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("jsonrpc", "id", "method", "params", "result", "error", "_meta"), _json)
)


@given(st.lists(_json | _members | st.lists(_members, max_size=3), max_size=6))
def test_nothing_that_comes_raises(values: list[Any]) -> None:
    sides = Sides()
    sides.sends()
    for value in values:
        sides.hears(value)
    assert len(sides.results) <= 1
