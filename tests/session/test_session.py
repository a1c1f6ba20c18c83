"""A session over a memory transport: what a person's calls do, with an agent that does just what the test says."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter import commands as cmd
from hm_jupyter.connect import open_session
from hm_jupyter.errors import (
    AgentError,
    AgentGone,
    ApprovalRequired,
    NotWaiting,
    SessionClosed,
    StartError,
    TurnRunning,
    UsageError,
)
from hm_jupyter.events import TextAppended
from hm_jupyter.protocols.hm import HmAdapter
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import MessageEntry, NoticeEntry, ToolEntry, UserEntry, to_json
from hm_jupyter.transports.memory import MemoryPeer, memory_transport

START = {"type": "session_start", "session": "S1", "root": "/w", "mode": "ask", "provider": "p", "model": "m"}
ASK = [
    {"type": "tool_call", "tool": "shell", "call_id": "k1", "summary": "ls", "input": {"command": "ls"}},
    {"type": "approval_needed", "call_id": "k1", "tool": "shell", "category": "shell", "command": "ls"},
]
END = {"type": "turn_end"}


class Agent:
    """The other end, scripted by ``on``: what to say to a command, besides ok."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.on: dict[str, Callable[[dict[str, Any]], list[Any]]] = {}
        self.changed = threading.Condition()
        self.peer: MemoryPeer

    def handle(self, command: dict[str, Any]) -> list[Any]:
        with self.changed:
            self.heard.append(command)
            self.changed.notify_all()
        after = self.on.get(command["type"], lambda _c: [])(command)
        if after and after[0] is None:
            return after[1:]
        return [{"type": "response", "id": command["id"], "command": command["type"], "ok": True}, *after]

    def wait_heard(self, kind: str) -> dict[str, Any]:
        with self.changed:
            assert self.changed.wait_for(lambda: any(c["type"] == kind for c in self.heard), 5), self.heard
            return next(c for c in self.heard if c["type"] == kind)

    def kinds(self) -> list[str]:
        return [c["type"] for c in self.heard]


def open_with(agent: Agent, **options: Any) -> Session:
    transport, agent.peer = memory_transport(agent.handle)
    agent.peer.say(START)

    async def open() -> Session:
        return await open_session(transport, HmAdapter(), agent="fake", **options)

    return runtime().run(open)


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def session(agent: Agent) -> Iterator[Session]:
    s = open_with(agent)
    yield s
    s.close()


def until(condition: Callable[[], Any], session: Session, timeout: float = 5) -> None:
    """Wait until a condition on the transcript holds: looked at whenever the session tells of a change."""
    met = threading.Event()

    def look(*_: Any) -> None:
        if condition():
            met.set()

    stop = runtime().call(session.controller.subscribe, look)
    look()
    assert met.wait(timeout), to_json(session.state)
    runtime().call(stop)


def answers(text: str = "done") -> Callable[[Any], list[Any]]:
    return lambda _c: [{"type": "message_end", "role": "assistant", "text": text}, END]


def test_a_prompt_waits_for_the_end_of_its_turn_and_holds_what_came(agent: Agent, session: Session):
    agent.on["prompt"] = answers("the join drops 312 rows")
    turn = session.prompt("why?")
    assert (turn.text, turn.stop_reason, turn.number, turn.done) == ("the join drops 312 rows", "end_turn", 1, True)
    assert agent.heard[0]["text"] == "why?"
    assert session.state.status == "ready"


def test_start_returns_at_once_and_the_turn_is_live(agent: Agent, session: Session):
    turn = session.start("go")
    assert not turn.done
    agent.peer.say({"type": "text_delta", "text": "hal"}, {"type": "text_delta", "text": "lo"}, END)
    assert turn.wait(5).text == "hallo"
    assert [e.text for e in turn.events if isinstance(e, TextAppended)] == ["hal", "lo"]


def test_waiting_has_a_bound_if_asked_and_says_what_can_be_done(agent: Agent, session: Session):
    with pytest.raises(TimeoutError, match=r"s\.abort"):
        session.prompt("go", timeout=0.05)


def test_a_second_prompt_while_one_runs_is_not_sent(agent: Agent, session: Session):
    session.start("one")
    with pytest.raises(TurnRunning, match="steer"):
        session.start("two")
    assert agent.kinds() == ["prompt"]


def test_a_prompt_the_agent_refuses_is_an_error_and_the_session_goes_on(agent: Agent, session: Session):
    agent.on["prompt"] = lambda c: [None, {"type": "response", "id": c["id"], "ok": False, "error": "no image"}]
    with pytest.raises(AgentError, match="no image"):
        session.prompt("look")
    until(lambda: session.state.status == "ready", session)
    agent.on["prompt"] = answers()
    assert session.prompt("again").text == "done"


def test_an_empty_prompt_is_refused_before_it_is_sent(agent: Agent, session: Session):
    with pytest.raises(UsageError, match="empty"):
        session.prompt("  ")
    assert agent.heard == []


def test_attachments_go_in_the_text_and_the_transcript_shows_what_was_typed(agent: Agent, session: Session):
    agent.on["prompt"] = lambda c: [{"type": "message_end", "role": "user", "text": c["text"]}, END]
    turn = session.prompt("plot it", attach={"rows": "1,2"})
    assert "rows:\n```\n1,2\n```" in agent.heard[0]["text"]
    shown = [e for e in turn.entries if isinstance(e, UserEntry)]
    assert [(e.text, e.attachments, e.status) for e in shown] == [("plot it", ["rows"], "read")]


def test_an_approval_is_decided_from_any_thread_and_signed(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [
        {"type": "approval", "call_id": "k1", "allow": True},
        {"type": "tool_result", "call_id": "k1", "tool": "shell", "text": "a.py"},
        END,
    ]
    turn = session.start("list")
    until(lambda: session.pending, session)
    session.approve("k1", note="fine")
    turn.wait(5)
    sent = agent.wait_heard("approve")
    assert (sent["call_id"], sent["allow"], sent["note"]) == ("k1", True, "fine")
    [tool] = turn.tool_calls
    assert (tool.status, tool.decision.by, tool.decision.via, tool.decision.note) == (
        "completed",
        "you",
        "python",
        "fine",
    )


def test_a_second_decision_changes_nothing_and_says_why(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": True}]
    session.start("list")
    until(lambda: session.pending, session)
    session.approve()
    with pytest.raises(NotWaiting, match="allowed already"):
        session.deny("k1")
    assert agent.kinds().count("approve") == 1


def test_the_same_command_by_two_routes_is_sent_once(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    session.start("list")
    until(lambda: session.pending, session)
    command = cmd.Approve(id="click-1", request_id="k1", allow=True)

    async def twice() -> list[Any]:
        return [await session.controller.dispatch(command, via=via) for via in ("control", "widget")]

    assert [a.ok for a in runtime().run(twice)] == [True, True]
    assert agent.kinds().count("approve") == 1


def test_what_does_not_wait_cannot_be_decided_and_the_error_says_what_does(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    with pytest.raises(NotWaiting, match="nothing"):
        session.approve("k9")
    session.start("list")
    until(lambda: session.pending, session)
    with pytest.raises(NotWaiting, match="k1"):
        session.approve("k9")
    with pytest.raises(NotWaiting, match="approve"):
        session.answer("k1", "x")


def test_a_decision_the_agent_refuses_waits_again(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [None, {"type": "response", "id": c["id"], "ok": False, "error": "bad edits"}]
    session.start("list")
    until(lambda: session.pending, session)
    with pytest.raises(AgentError, match="bad edits"):
        session.approve("k1")
    until(lambda: session.pending[0].state == "waiting", session)


def test_a_question_is_answered(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: [{"type": "question", "call_id": "q1", "text": "which db?"}]
    agent.on["answer"] = lambda c: [END]
    turn = session.start("set up")
    until(lambda: session.pending, session)
    session.answer("sqlite")
    turn.wait(5)
    assert agent.wait_heard("answer")["text"] == "sqlite"
    assert [(e.status, e.answer) for e in turn.entries if e.TAG[1] == "question"] == [("answered", "sqlite")]


@pytest.mark.parametrize(("policy", "allowed"), [("all", True), ("deny", False), (lambda r: r.command == "ls", True)])
def test_a_policy_decides_and_nobody_is_asked(agent: Agent, policy: Any, allowed: bool):
    waited: list[Any] = []
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": c["allow"]}, END]
    with open_with(agent, policy=Policy(policy)) as s:
        turn = s.prompt("go")
        assert agent.wait_heard("approve")["allow"] is allowed
        [tool] = turn.tool_calls
        assert tool.decision.by == "policy"
        assert not waited


def test_a_word_policy_never_lets_a_front_end_see_it_wait(agent: Agent):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": True}, END]
    with open_with(agent, policy=Policy("all")) as s:
        seen: list[str] = []
        runtime().call(s.controller.subscribe, lambda _seq, _ops: seen.append(s.state.status))
        s.prompt("go")
        assert "waiting" not in seen


def test_a_policy_that_fails_leaves_it_to_the_person_and_says_so(agent: Agent):
    agent.on["prompt"] = lambda _c: ASK
    with open_with(agent, policy=Policy(lambda r: 1 / 0)) as s:
        s.start("go")
        until(lambda: any(isinstance(e, NoticeEntry) for e in s.transcript.entries.values()), s)
        assert s.pending[0].state == "waiting"


def test_the_policy_of_one_turn_ends_with_it(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": True}, END]
    session.prompt("one", approve="all")
    session.start("two")
    until(lambda: session.pending, session)
    assert agent.kinds().count("approve") == 1


def test_unattended_what_needs_leave_is_refused_with_a_note_and_the_turn_raises(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: [*ASK, {"type": "question", "call_id": "q1", "text": "which?"}]
    agent.on["answer"] = lambda _c: [END]
    with pytest.raises(ApprovalRequired, match="ls; which") as failure:
        session.prompt("go", unattended=True)
    assert failure.value.requests == ["ls", "which?"]
    assert "Nobody is here" in agent.wait_heard("approve")["note"]


@pytest.mark.parametrize("first", ["waits already", "comes later"])
def test_a_script_that_waits_for_a_turn_it_began_does_not_wait_for_nobody(agent: Agent, session: Session, first: str):
    agent.on["prompt"] = lambda _c: ASK if first == "waits already" else []
    agent.on["approve"] = lambda _c: [END]
    turn = session.start("go")
    if first == "waits already":
        until(lambda: session.pending, session)
    else:
        threading.Timer(0.05, lambda: agent.peer.say(*ASK)).start()
    with pytest.raises(ApprovalRequired, match="ls"):
        turn.wait()
    assert agent.wait_heard("approve")["allow"] is False


def test_async_code_of_a_script_that_waits_is_refused_too(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda _c: [END]

    async def main() -> None:
        (await session.astart("go")).wait()

    with pytest.raises(ApprovalRequired):
        asyncio.run(main())


def test_what_waits_may_be_decided_before_a_script_waits_and_between_waits_with_a_bound(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda _c: [{"type": "approval", "call_id": "k1", "allow": True}, END]
    turn = session.start("go")
    with pytest.raises(TimeoutError):
        turn.wait(0.05)
    until(lambda: session.pending, session)
    session.approve()
    assert turn.wait().tool_calls[0].decision.outcome == "allowed"


def test_with_unattended_false_another_thread_decides_while_a_script_waits(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda _c: [{"type": "approval", "call_id": "k1", "allow": True}, END]
    turn = session.start("go", unattended=False)
    until(lambda: session.pending, session)
    threading.Timer(0.1, session.approve).start()
    assert turn.wait().tool_calls[0].decision.outcome == "allowed"


def test_an_export_to_what_is_no_file_says_so_and_waits_for_nobody(agent: Agent, session: Session, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "pipe.html")
    (tmp_path / "zero.md").symlink_to("/dev/zero")
    for name in ("pipe.html", "folder.html", "link.html", "zero.md"):
        with pytest.raises(UsageError, match="Name a file"):
            session.export(tmp_path / name)
    assert session.export(tmp_path / "new" / "s.html").is_file()
    assert session.export(tmp_path / "new" / "s.html").is_file(), "a file is written anew"


def test_scripted_decisions_for_when_nobody_is_there(agent: Agent):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": True}, END]
    with open_with(agent, alone=Policy(["allow"])) as s:
        assert s.prompt("go", unattended=True).tool_calls[0].decision.by == "policy"
        s.start("go")
        until(lambda: s.pending, s)


def test_abort_takes_down_what_waits_and_the_agent_lives_on(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["abort"] = lambda _c: [END]
    turn = session.start("go")
    until(lambda: session.pending, session)
    session.follow_up("then plot")
    session.abort()
    turn.wait(5)
    assert (turn.stop_reason, session.pending, turn.tool_calls[0].status) == ("cancelled", [], "interrupted")
    assert (
        next(e for e in session.transcript.entries.values() if getattr(e, "text", "") == "then plot").status
        == "dropped"
    )
    agent.on["prompt"] = answers()
    assert session.prompt("next").text == "done"


def test_an_agent_that_dies_in_mid_turn_is_told_with_its_last_words(agent: Agent, session: Session):
    turn = session.start("go")
    agent.peer.say({"type": "text_delta", "text": "hal"})
    agent.peer.end(9, "out of memory")
    with pytest.raises(AgentGone, match="exit code 9") as failure:
        turn.wait(5)
    assert failure.value.stderr == "out of memory"
    assert [e.interrupted for e in turn.entries if isinstance(e, MessageEntry)] == [True]
    with pytest.raises(AgentGone, match="connect"):
        session.prompt("more")


def test_a_command_in_flight_when_the_agent_dies_is_told_so(agent: Agent, session: Session):
    agent.on["get_state"] = lambda _c: agent.peer.end(1) or [None]  # type: ignore[func-returns-value, list-item]
    with pytest.raises(AgentGone):
        session.get_state()


def test_an_agent_that_ends_before_it_is_ready_is_a_start_error():
    transport, peer = memory_transport()
    peer.end(2, "unknown flag --foo")

    async def open() -> Session:
        return await open_session(transport, HmAdapter(), agent="fake")

    with pytest.raises(StartError, match=r"exit code 2.*start options(.|\n)*unknown flag --foo"):
        runtime().run(open)


def test_a_silent_agent_is_a_start_error_in_bounded_time():
    transport, _peer = memory_transport()

    async def open() -> Session:
        return await open_session(transport, HmAdapter(), agent="fake", start_timeout=0.05)

    with pytest.raises(StartError, match="hello"):
        runtime().run(open)


def test_closing_in_mid_turn_aborts_first_and_later_calls_say_it_is_closed(agent: Agent, session: Session):
    session.start("go")
    session.close()
    assert agent.kinds()[-1] == "abort"
    with pytest.raises(SessionClosed, match="connect"):
        session.prompt("more")
    session.close()


def test_a_bad_line_is_one_notice_and_the_session_goes_on(agent: Agent, session: Session):
    agent.on["prompt"] = answers()
    agent.peer.say_raw(b"this is no json\n")
    assert session.prompt("go").text == "done"
    [notice] = [e for e in session.transcript.entries.values() if isinstance(e, NoticeEntry)]
    assert notice.detail == "this is no json"


@pytest.mark.parametrize("noise", [b"a log line", {"type": "from_the_future"}, ["no event"]])
def test_a_flood_of_noise_is_kept_but_does_not_fill_the_notebook(agent: Agent, session: Session, noise: Any):
    def babble(times: int) -> Callable[[Any], list[Any]]:
        def speak(_c: Any) -> list[Any]:
            if isinstance(noise, bytes):
                agent.peer.say_raw((noise + b"\n") * times)
            return [*[noise] * (0 if isinstance(noise, bytes) else times), *answers()(None)]

        return speak

    agent.on["prompt"] = babble(5000)
    turn = session.prompt("go", timeout=20)
    assert turn.text == "done"
    assert len(turn.entries) < 300
    assert any("are not shown" in e.text for e in turn.entries if isinstance(e, NoticeEntry))
    assert len(turn.events) > 5000
    agent.on["prompt"] = babble(1)
    assert len(session.prompt("again").entries) == 4  # each turn begins to count anew


def test_an_interrupt_while_the_prompt_is_handed_over_stops_the_turn_it_begins(
    agent: Agent, session: Session, monkeypatch: pytest.MonkeyPatch
):
    agent.on["abort"] = lambda _c: [{"type": "turn_end", "stop_reason": "cancelled"}]
    post, interrupted = session.controller.post, threading.Event()

    def slow(command: cmd.Command, **options: Any) -> Any:
        if isinstance(command, cmd.Prompt):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            interrupted.wait(0.3)  # the main thread goes on meanwhile: it must not look before we are done
        return post(command, **options)

    monkeypatch.setattr(session.controller, "post", slow)
    with pytest.raises(KeyboardInterrupt):
        session.prompt("go")
    until(lambda: session.turn is not None, session)
    assert session.turn is not None
    assert session.turn._watch.done.wait(5)
    assert session.turn.stop_reason == "cancelled"


def test_a_listener_that_fails_does_not_stop_the_others(agent: Agent, session: Session):
    seen: list[int] = []
    runtime().call(session.controller.subscribe, lambda _seq, _ops: 1 / 0)
    runtime().call(session.controller.subscribe, lambda seq, _ops: seen.append(seq))
    agent.on["prompt"] = answers()
    session.prompt("go")
    assert seen == sorted(set(seen))
    assert seen


def test_the_tool_calls_make_a_data_frame(agent: Agent, session: Session):
    pytest.importorskip("pandas")
    agent.on["prompt"] = lambda _c: [
        ASK[0],
        {"type": "tool_result", "call_id": "k1", "tool": "shell", "text": "a.py"},
        END,
    ]
    frame = session.prompt("go").to_pandas()
    assert frame[["call_id", "name", "status", "output"]].values.tolist() == [["k1", "shell", "completed", "a.py"]]


@pytest.mark.anyio
async def test_async_calls_do_the_same(agent: Agent, session: Session):
    agent.on["prompt"] = answers("async")
    turn = await session.aprompt("go")
    assert turn.text == "async"
    await session.asteer("later")
    assert agent.kinds() == ["prompt", "steer"]


@pytest.mark.anyio
async def test_cancelling_an_async_prompt_stops_the_turn(agent: Agent, session: Session):
    import asyncio

    agent.on["abort"] = lambda _c: [END]
    task = asyncio.ensure_future(session.aprompt("go"))
    await asyncio.to_thread(agent.wait_heard, "prompt")
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(agent.wait_heard, "abort")


def test_calls_in_a_denied_turn_stay_readable(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [
        {"type": "approval", "call_id": "k1", "allow": False},
        {"type": "tool_result", "call_id": "k1", "tool": "shell", "text": "refused", "is_error": True},
        END,
    ]
    turn = session.start("go")
    until(lambda: session.pending, session)
    session.deny(note="run only the store's tests")
    turn.wait(5)
    [tool] = [e for e in turn.entries if isinstance(e, ToolEntry)]
    assert (tool.status, tool.decision.outcome, tool.decision.note) == (
        "denied",
        "denied",
        "run only the store's tests",
    )


def test_a_call_the_agent_denied_against_our_word_is_not_signed_by_us(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": False}, END]
    turn = session.start("go")
    until(lambda: session.pending, session)
    session.approve("k1")
    turn.wait(5)
    assert (turn.tool_calls[0].decision.outcome, turn.tool_calls[0].decision.by) == ("denied", "agent")


def test_a_prompt_refused_because_the_agent_began_a_turn_itself_leaves_that_turn_running(
    agent: Agent, session: Session
):
    agent.on["prompt"] = lambda c: [
        None,
        {"type": "text_delta", "text": "by myself"},
        {"type": "response", "id": c["id"], "ok": False, "error": "a turn is running"},
    ]
    with pytest.raises(AgentError, match="a turn is running"):
        session.prompt("go")
    assert session.running
    agent.peer.say(END)
    until(lambda: session.state.status == "ready", session)
    assert session.turn.stop_reason == "end_turn"


def test_the_usage_the_agent_knows_of_counts_for_a_resumed_session(agent: Agent, session: Session):
    usage = {"input": 100, "output": 7, "cache_read": 0, "cache_write": 0, "cost": 1.5}
    agent.on["get_state"] = lambda c: [
        None,
        {"type": "response", "id": c["id"], "ok": True, "data": {"session": {"id": "S1", "usage": usage}}},
    ]
    assert session.get_state()["session"]["usage"] == usage
    assert (session.state.usage.input, session.state.usage.cost) == (100, 1.5)


def test_the_state_says_whose_policy_the_running_turn_has(agent: Agent, session: Session):
    agent.on["prompt"] = answers()
    turn = session.prompt("one", approve="all")
    assert (turn.done, session.state.approve) == (True, "all")
    session.prompt("two")
    assert session.state.approve == "ask"


def test_a_turn_that_the_closing_of_its_session_stopped_was_not_stopped_by_the_person(agent: Agent, session: Session):
    agent.on["abort"] = lambda _c: [END]
    turn = session.start("go")
    session.close()
    assert (turn.stop_reason, turn.error) == ("cancelled", "The session was closed.")
