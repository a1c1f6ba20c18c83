"""What an agent has done on our side: real files and commands, each with leave, shown once, and nothing left behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from hm_jupyter import commands as cmd
from hm_jupyter import events as ev
from hm_jupyter.connect import open_session
from hm_jupyter.errors import ApprovalRequired, NotSupported
from hm_jupyter.protocols.base import Adapter, HostCall, HostFailure, Step
from hm_jupyter.session.asking import MOST
from hm_jupyter.session.hosting import THREADS
from hm_jupyter.session.leave import COMMAND_RULE, WRITE_RULE
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import PendingApproval, ToolEntry, to_json
from hm_jupyter.transports.memory import memory_transport


class Agent(Adapter):
    """An agent and its adapter in one: does what the test says, remembers what it was answered."""

    name = "fake"

    def __init__(self, root: Path) -> None:
        self.capabilities = ev.Capabilities(deny_note="next_message")
        self.root = root
        self.answers: dict[str, dict[str, Any] | HostFailure] = {}
        self.heard: list[Any] = []
        self.told: dict[str, str] = {}  # by terminal: the text given to the adapter
        self.shown_by: dict[str, str] = {}  # terminal -> the call that shows it
        self.changed = threading.Condition()
        self.session: Session
        self._made = 0

    # ---- as the adapter

    def start(self) -> Step:
        return Step([ev.SessionStarted("S1", str(self.root))])

    def receive(self, value: Any) -> Step:
        return Step()

    def send(self, command: Any) -> Step:
        self.heard.append(command)
        answered = ev.CommandAnswered(command.id, True)
        if isinstance(command, cmd.Prompt):
            return Step([answered, ev.TurnStarted(command.id)])
        if isinstance(command, cmd.Approve):
            outcome: Any = "allowed" if command.allow else "denied"
            resolved = ev.ApprovalResolved(command.request_id, outcome, "you", for_session=command.for_session)
            return Step([answered, resolved])
        return Step([answered])

    def stop(self) -> Step:
        return Step()

    def host_done(self, call_id: str, result: dict[str, Any] | HostFailure) -> Step:
        with self.changed:
            assert call_id not in self.answers, "answered twice"
            self.answers[call_id] = result
            self.changed.notify_all()
        return Step()

    def host_output(self, terminal_id: str, text: str) -> Step:
        self.told[terminal_id] = self.told.get(terminal_id, "") + text
        call = self.shown_by.get(terminal_id)
        return Step([ev.ToolOutputAppended(call, text)] if call and text else [])

    # ---- as the agent

    def says(self, *events: ev.Event, calls: Any = (), dropped: Any = ()) -> None:
        runtime().call(self.session.controller.carry_on, Step([*events], calls=[*calls], dropped=[*dropped]))

    def wants(self, name: str, **args: Any) -> str:
        """Makes a host call; its id."""
        self._made += 1
        call = HostCall(f"h{self._made}", name, args)
        self.says(calls=[call])
        return call.id

    def got(self, call_id: str, timeout: float = 10) -> Any:
        with self.changed:
            assert self.changed.wait_for(lambda: call_id in self.answers, timeout), "it was never answered"
        return self.answers[call_id]

    def failure(self, call_id: str) -> HostFailure:
        found = self.got(call_id)
        assert isinstance(found, HostFailure), found
        return found

    def runs(self, command: str, *args: str, terminal: str = "t1", **more: Any) -> str:
        more = {"env": {}, "cwd": None, "output_limit": None, "call_id": "", **more}
        return self.wants("terminal_create", terminal_id=terminal, command=command, args=list(args), **more)

    def asks(self, request: str, call: str, **shown: Any) -> None:
        """Asks for leave itself, as agents do before they have something done."""
        self.says(ev.ToolCallUpdated(call, "tool", category=shown.get("category", "shell"), status="pending"))
        self.says(ev.ApprovalRequested(request, call, **{"category": "shell", **shown}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def start(root: Path) -> Iterator[Callable[..., Agent]]:
    made = []

    def start(approve: Any = "ask", **options: Any) -> Agent:
        agent = Agent(root)
        transport, agent.peer = memory_transport()  # type: ignore[attr-defined]

        async def open() -> Session:
            return await open_session(transport, agent, agent="fake", policy=Policy(approve), **options)

        agent.session = runtime().run(open)
        made.append(agent)
        agent.session.start("go", unattended=False)
        return agent

    yield start
    for agent in made:
        agent.session.close()


def until(agent: Agent, condition: Callable[[], Any], timeout: float = 10) -> None:
    """Wait until it holds: looked at whenever the session tells of a change."""
    met = threading.Event()

    def look(*_: Any) -> None:
        if condition():
            met.set()

    stop = runtime().call(agent.session.controller.subscribe, look)
    runtime().call(look)
    assert met.wait(timeout), to_json(list(agent.session.transcript.entries.values()))
    runtime().call(stop)


def waiting(agent: Agent) -> PendingApproval:
    """The only request that waits, as soon as one does."""
    until(agent, lambda: agent.session.pending)
    [request] = agent.session.pending
    assert isinstance(request, PendingApproval)
    return request


def cards(agent: Agent) -> list[ToolEntry]:
    return [entry for entry in agent.session.transcript.entries.values() if isinstance(entry, ToolEntry)]


def output(agent: Agent, terminal: str = "t1") -> str:
    agent.got(agent.wants("terminal_wait", terminal_id=terminal))
    return str(agent.got(agent.wants("terminal_output", terminal_id=terminal))["output"])


def children() -> list[psutil.Process]:
    """Processes begun in this test; another test's may be on its way out still."""
    alive = [p for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
    return [p for p in alive if p not in BEFORE]


BEFORE: list[psutil.Process] = []


@pytest.fixture(autouse=True)
def of_this_test_alone() -> None:
    BEFORE[:] = psutil.Process().children(recursive=True)


# ---- reading -------------------------------------------------------------------------------------------------------


def test_a_file_of_the_workspace_is_read_without_leave_and_leaves_no_card(start: Callable[..., Agent], root: Path):
    (root / "a.txt").write_text("one\ntwo\n")
    agent = start("deny")
    assert agent.got(agent.wants("read_file", path=f"{root}/a.txt", line=2, limit=1)) == {"content": "two\n"}
    assert cards(agent) == []


def test_what_cannot_be_read_says_why(start: Callable[..., Agent], root: Path):
    (root / "away").symlink_to("/etc")
    agent = start()
    kinds = {
        f"{root}/no.txt": "not_found",
        f"{root}/away/passwd": "denied",
        f"{root}/../outside": "denied",
        "a.txt": "invalid",
        str(root): "invalid",
    }
    assert {path: agent.failure(agent.wants("read_file", path=path)).kind for path in kinds} == kinds
    assert agent.failure(agent.wants("no_such_call")).kind == "invalid"


def test_what_looks_like_a_secret_is_asked_for_under_whatever_name(start: Callable[..., Agent], root: Path):
    (root / ".env").write_text("TOKEN=x")
    (root / "notes.txt").symlink_to(root / ".env")
    agent = start("edits")
    call = agent.wants("read_file", path=f"{root}/notes.txt")
    request = waiting(agent)
    assert (request.category, request.paths, request.rule, request.for_session) == ("read", [f"{root}/.env"], "", False)
    assert "secrets" in request.reason and call not in agent.answers
    agent.session.approve(allow=True)
    assert agent.got(call) == {"content": "TOKEN=x"}
    assert [(card.status, card.decision.by, str(card.output)) for card in cards(agent)] == [("completed", "you", "")]
    call = agent.wants("read_file", path=f"{root}/.env")
    waiting(agent)
    agent.session.deny(note="use the example")
    assert agent.failure(call) == HostFailure("denied", "Leave was refused. use the example")


# ---- writing -------------------------------------------------------------------------------------------------------


def test_a_write_nobody_was_asked_about_shows_its_diff_and_is_asked_for(start: Callable[..., Agent], root: Path):
    (root / "a.txt").write_text("old\n")
    agent = start()
    call = agent.wants("write_file", path=f"{root}/a.txt", content="new\n")
    request = waiting(agent)
    assert (request.category, request.rule) == ("edit", WRITE_RULE)
    assert request.diffs == [ev.FileDiff(f"{root}/a.txt", "old\n", "new\n")]
    assert (root / "a.txt").read_text() == "old\n"
    agent.session.approve()
    assert agent.got(call) == {}
    assert (root / "a.txt").read_text() == "new\n"
    [card] = cards(agent)
    assert (card.status, card.category, card.diffs, card.decision.outcome) == (
        "completed",
        "edit",
        request.diffs,
        "allowed",
    )


def test_a_denied_write_is_not_made_and_the_note_goes_to_the_agent(start: Callable[..., Agent], root: Path):
    agent = start()
    call = agent.wants("write_file", path=f"{root}/sub/a.txt", content="x")
    assert waiting(agent).deny_note == "denial", "it goes at once, though this agent reads no note with a decision"
    agent.session.deny(note="not there")
    assert agent.failure(call) == HostFailure("denied", "Leave was refused. not there")
    assert [type(command) for command in agent.heard] == [cmd.Prompt], "and is no message of its own"
    assert [card.decision.deny_note for card in cards(agent)] == ["denial"]
    assert list(root.iterdir()) == []
    assert [(card.status, card.decision.note) for card in cards(agent)] == [("denied", "not there")]


def test_a_file_that_changed_since_the_person_saw_the_diff_is_not_written(start: Callable[..., Agent], root: Path):
    (root / "a.txt").write_text("old")
    agent = start()
    call = agent.wants("write_file", path=f"{root}/a.txt", content="new")
    waiting(agent)
    (root / "a.txt").write_text("mine")
    agent.session.approve()
    assert "has changed" in agent.failure(call).message
    assert (root / "a.txt").read_text() == "mine"
    assert [card.status for card in cards(agent)] == ["failed"]


@pytest.mark.parametrize("old", [None, ""])
def test_an_edit_the_agent_has_asked_for_is_not_asked_twice(start: Callable[..., Agent], root: Path, old: Any):
    agent = start()
    diff = ev.FileDiff(f"{root}/a.txt", old, "line\n")
    agent.asks("p1", "c1", category="edit", diffs=[diff], paths=[f"{root}/a.txt"])
    agent.session.approve("p1")
    assert agent.got(agent.wants("write_file", path=f"{root}/a.txt", content="line\n")) == {}
    assert (root / "a.txt").read_text() == "line\n"
    assert [card.call_id for card in cards(agent)] == ["c1"]


def test_an_edit_that_does_not_say_what_the_file_was_is_not_asked_twice_either(start: Callable[..., Agent], root: Path):
    """claude-code-acp and fast-agent never say it."""
    (root / "a.txt").write_text("old")
    agent = start()
    agent.asks("p1", "c1", category="edit", diffs=[ev.FileDiff(f"{root}/a.txt", None, "new")])
    agent.session.approve("p1")
    assert agent.got(agent.wants("write_file", path=f"{root}/a.txt", content="new")) == {}
    assert (root / "a.txt").read_text() == "new"


def test_a_replaced_passage_the_agent_has_shown_covers_the_whole_file_that_comes_of_it(
    start: Callable[..., Agent], root: Path
):
    (root / "a.txt").write_text("one two one\n")
    agent = start()
    shown = [ev.FileDiff(f"{root}/a.txt", "two", "three", partial=True)]
    agent.asks("p1", "c1", category="edit", diffs=shown)
    agent.session.approve("p1")
    assert agent.got(agent.wants("write_file", path=f"{root}/a.txt", content="one three one\n")) == {}


@pytest.mark.parametrize("what", ["other content", "other file", "other before", "denied", "by the agent", "turn over"])
def test_anything_but_exactly_what_was_allowed_is_asked_for(start: Callable[..., Agent], root: Path, what: str):
    (root / "a.txt").write_text("old")
    agent = start()
    before = "older" if what == "other before" else "old"
    agent.asks("p1", "c1", category="edit", diffs=[ev.FileDiff(f"{root}/a.txt", before, "new")])
    if what == "by the agent":
        agent.says(ev.ApprovalResolved("p1", "allowed", "agent"))
    else:
        agent.session.approve("p1", allow=what != "denied")
    if what == "turn over":
        agent.says(ev.TurnEnded())
        agent.session.start("again", unattended=False)
    path = "b.txt" if what == "other file" else "a.txt"
    call = agent.wants("write_file", path=f"{root}/{path}", content="newer" if what == "other content" else "new")
    assert waiting(agent).diffs[0].path == f"{root}/{path}"
    agent.session.deny()
    assert agent.failure(call).kind == "denied"
    assert (root / "a.txt").read_text() == "old" and not (root / "b.txt").exists()


def test_an_approval_that_shows_only_the_file_allows_one_write_of_it(start: Callable[..., Agent], root: Path):
    agent = start()
    agent.asks("p1", "c1", category="edit", paths=[f"{root}/a.txt"])
    agent.session.approve("p1")
    assert agent.got(agent.wants("write_file", path=f"{root}/a.txt", content="1")) == {}
    call = agent.wants("write_file", path=f"{root}/a.txt", content="2")
    waiting(agent)
    agent.session.deny()
    assert agent.failure(call).kind == "denied"


def test_the_card_says_what_the_request_does_not(start: Callable[..., Agent], root: Path):
    """fast-agent asks with a path and a length; the change is on the call's card."""
    agent = start()
    agent.says(
        ev.ToolCallUpdated(
            "c1", "write", category="edit", status="pending", diffs=[ev.FileDiff(f"{root}/a", None, "y")]
        )
    )
    agent.says(ev.ApprovalRequested("p1", "c1", category="edit", paths=[f"{root}/a"]))
    agent.session.approve("p1")
    assert agent.got(agent.wants("write_file", path=f"{root}/a", content="y")) == {}
    call = agent.wants("write_file", path=f"{root}/a", content="z")
    waiting(agent)
    agent.session.deny()
    assert agent.failure(call).kind == "denied"


def test_every_write_may_be_allowed_for_the_session_but_not_where_secrets_or_hooks_are(
    start: Callable[..., Agent], root: Path
):
    agent = start()
    first = agent.wants("write_file", path=f"{root}/a", content="1")
    waiting(agent)
    agent.session.approve(for_session=True)
    agent.got(first)
    agent.says(ev.TurnEnded())
    agent.session.start("again", unattended=False)
    assert agent.got(agent.wants("write_file", path=f"{root}/b", content="2")) == {}
    assert [(c.status, c.title) for c in cards(agent)] == [("completed", "a"), ("completed", "b")]
    assert cards(agent)[0].decision.rule == WRITE_RULE
    for path in (".env", ".git/hooks/pre-commit", ".GIT/config"):
        call = agent.wants("write_file", path=f"{root}/{path}", content="x")
        assert waiting(agent).rule == ""
        agent.session.deny()
        assert agent.failure(call).kind == "denied"


def test_a_write_that_changes_nothing_needs_no_leave(start: Callable[..., Agent], root: Path):
    (root / "a").write_text("same")
    agent = start("deny")
    assert agent.got(agent.wants("write_file", path=f"{root}/a", content="same")) == {}


# ---- commands ------------------------------------------------------------------------------------------------------


def test_a_command_nobody_was_asked_about_is_asked_for_word_for_word(start: Callable[..., Agent], root: Path):
    agent = start()
    call = agent.runs("echo hi; exit 2")
    request = waiting(agent)
    assert (request.category, request.command, request.cwd, request.rule) == (
        "shell", "echo hi; exit 2", str(root), COMMAND_RULE,
    )  # fmt: skip
    assert request.options == [] and children() == []
    agent.session.approve()
    assert agent.got(call) == {}
    assert output(agent) == "hi\n"
    until(agent, lambda: cards(agent)[0].status == "failed")
    [card] = cards(agent)
    assert (card.exit_code, str(card.output), card.category, card.decision.by) == (2, "hi\n", "shell", "you")


def test_a_denied_command_never_runs(start: Callable[..., Agent], root: Path):
    agent = start()
    call = agent.runs("touch made")
    waiting(agent)
    agent.session.deny(note="no files")
    assert agent.failure(call) == HostFailure("denied", "Leave was refused. no files")
    assert not (root / "made").exists()
    assert agent.failure(agent.wants("terminal_output", terminal_id="t1")).kind == "not_found"
    assert [card.status for card in cards(agent)] == ["denied"]


@pytest.mark.parametrize(
    ("shown", "command", "args"),
    [
        ("echo a; echo b", "echo a; echo b", []),
        ("echo a; echo b", "/bin/sh", ["-lc", "echo a; echo b"]),
        ('echo "a b"', "echo", ["a b"]),
    ],
    ids=["claude-code-acp", "fast-agent: a line", "fast-agent: words"],
)
def test_a_command_the_agent_has_asked_for_is_not_asked_twice(
    start: Callable[..., Agent], shown: str, command: str, args: list[str]
):
    agent = start()
    agent.asks("p1", "c1", command=shown)
    agent.session.approve("p1")
    assert agent.got(agent.runs(command, *args)) == {}
    assert output(agent).startswith("a")
    until(agent, lambda: cards(agent)[0].exit_code == 0)
    assert [(card.call_id, card.status) for card in cards(agent)] == [
        ("c1", "running")
    ]  # the agent says when it is done


def test_a_call_that_comes_to_have_another_id_than_it_was_asked_about_under_stays_one_card(start: Callable[..., Agent]):
    """fast-agent asks about a call named "pending", every time."""
    agent = start()
    for n in ("1", "2"):
        agent.asks(f"p{n}", "pending", command=f"echo {n}; sleep 0.3; echo again")
        agent.session.approve(f"p{n}")
        if n == "1":
            agent.says(ev.ToolCallUpdated(f"real{n}", replaces="pending"))
        agent.got(agent.runs(f"echo {n}; sleep 0.3; echo again", terminal=n))
        agent.says(ev.ToolCallUpdated(f"real{n}", replaces="pending" if n == "2" else None))
        until(agent, lambda n=n: cards(agent)[-1].exit_code == 0)
    assert [(card.call_id, str(card.output)) for card in cards(agent)] == [
        ("real1", "1\nagain\n"),
        ("real2", "2\nagain\n"),
    ]


def test_what_was_allowed_once_runs_once(start: Callable[..., Agent]):
    agent = start()
    agent.asks("p1", "c1", command="true")
    agent.session.approve("p1")
    agent.got(agent.runs("true"))
    call = agent.runs("true", terminal="t2")
    waiting(agent)
    agent.session.deny()
    assert agent.failure(call).kind == "denied"


@pytest.mark.parametrize("what", ["other words", "other folder", "environment", "turn over"])
def test_another_command_than_the_allowed_one_is_asked_for(start: Callable[..., Agent], root: Path, what: str):
    (root / "sub").mkdir()
    agent = start()
    agent.asks("p1", "c1", command="ls")
    agent.session.approve("p1")
    more: dict[str, Any] = {}
    if what == "other folder":
        more["cwd"] = f"{root}/sub"
    elif what == "environment":
        more["env"] = {"PATH": "/evil"}
    elif what == "turn over":
        agent.says(ev.TurnEnded())
        agent.session.start("again", unattended=False)
    call = agent.runs("ls -a" if what == "other words" else "ls", **more)
    request = waiting(agent)
    assert ("/evil" in request.reason, request.for_session) == (what == "environment", what != "environment")
    agent.session.deny()
    assert agent.failure(call).kind == "denied"


def test_what_variables_hold_is_shown_whole_and_of_a_secret_that_it_is_there(start: Callable[..., Agent]):
    agent = start()
    long = "x" * 500 + "; rm -r ~"
    call = agent.runs(
        "git status", env={"GIT_SSH_COMMAND": long, "GIT_ASKPASS": "./evil", "MY_TOKEN": "hush", "CI": "1"}
    )
    request = waiting(agent)
    assert long in request.reason and "./evil" in request.reason and "hush" not in str(to_json(request))
    assert request.input["env"] == {"GIT_ASKPASS": "'./evil'", "GIT_SSH_COMMAND": repr(long), "MY_TOKEN": "…"}
    agent.session.deny()
    assert agent.failure(call).kind == "denied"


def test_a_card_that_names_no_command_or_another_says_in_the_end_what_ran(start: Callable[..., Agent]):
    agent = start("all")
    agent.says(ev.ToolCallUpdated("quiet", "shell", "List files", "shell", "running"))
    agent.got(agent.runs("echo quiet"))
    agent.says(ev.ToolCallUpdated("quiet", status="completed"))
    agent.says(ev.ToolCallUpdated("liar", "shell", "ls", "shell", "running", input={"command": "ls", "why": "to see"}))
    agent.got(agent.runs("echo liar", terminal="t2", call_id="liar"))
    assert [card.input["command"] for card in cards(agent)] == ["echo quiet", "echo liar"]
    assert cards(agent)[1].input["why"] == "to see"


def test_a_card_that_shows_no_change_or_another_shows_the_one_that_was_made(start: Callable[..., Agent], root: Path):
    agent = start()
    first = agent.wants("write_file", path=f"{root}/first", content="1")
    waiting(agent)
    agent.session.approve(for_session=True)
    agent.got(first)
    for name, shown in (("silent", []), ("liar", [ev.FileDiff(f"{root}/liar", None, "nice")])):
        told = ev.ToolCallUpdated(name, "edit", name, "edit", "running", diffs=shown, locations=[f"{root}/{name}"])
        agent.says(told)
        agent.got(agent.wants("write_file", path=f"{root}/{name}", content="evil"))
        agent.says(ev.ToolCallUpdated(name, status="completed"))
    shown = {card.call_id: [(diff.path, diff.new) for diff in card.diffs] for card in cards(agent)}
    assert (shown["silent"], shown["liar"]) == ([(f"{root}/silent", "evil")], [(f"{root}/liar", "evil")])


def test_a_command_allowed_for_the_session_is_that_command_only(start: Callable[..., Agent]):
    agent = start()
    call = agent.runs("echo x", terminal="t1")
    waiting(agent)
    agent.session.approve(for_session=True)
    agent.got(call)
    agent.says(ev.TurnEnded())
    agent.session.start("again", unattended=False)
    agent.got(agent.runs("echo x", terminal="t2"))
    assert output(agent, "t2") == "x\n"
    until(agent, lambda: [c.status for c in cards(agent)] == ["completed", "completed"])
    call = agent.runs("echo y", terminal="t3")
    waiting(agent)
    agent.session.deny()
    agent.failure(call)


def test_output_goes_to_the_call_that_shows_the_terminal(start: Callable[..., Agent]):
    agent = start("all")
    agent.says(ev.ToolCallUpdated("c1", "bash", "say it", "shell", "running", {"command": "echo x"}))
    agent.shown_by["t1"] = "c1"
    agent.got(agent.runs("echo x"))
    until(agent, lambda: cards(agent)[0].exit_code == 0)
    assert [(c.call_id, str(c.output)) for c in cards(agent)] == [("c1", "x\n")]


def test_output_the_agent_shows_nowhere_is_shown_on_the_call_it_must_be_about(start: Callable[..., Agent]):
    agent = start("all")
    agent.says(ev.ToolCallUpdated("c1", "bash", "say it", "shell", "running"))
    agent.got(agent.runs("echo x; sleep 0.5; echo y"))
    until(agent, lambda: cards(agent)[0].exit_code == 0)
    assert [(c.call_id, str(c.output)) for c in cards(agent)] == [("c1", "x\ny\n")]


def test_ten_megabytes_pass_and_the_agent_gets_the_end_of_them(start: Callable[..., Agent]):
    agent = start("all")
    agent.got(agent.runs("head -c 10000000 /dev/zero | tr '\\0' x; echo €", output_limit=6))
    assert output(agent) == "xx€\n"
    until(agent, lambda: cards(agent)[0].status == "completed")
    assert 1_000_000 <= len(cards(agent)[0].output) < 1_000_100


def test_kill_release_and_wait(start: Callable[..., Agent]):
    agent = start("all")
    agent.got(agent.runs("exec sleep 100"))
    wait = agent.wants("terminal_wait", terminal_id="t1")
    assert agent.got(agent.wants("terminal_output", terminal_id="t1"))["exit"] is None
    assert agent.got(agent.wants("terminal_kill", terminal_id="t1")) == {}
    assert agent.got(wait) == {"code": None, "signal": "SIGTERM"}
    assert agent.got(agent.wants("terminal_release", terminal_id="t1")) == {}
    assert agent.failure(agent.wants("terminal_wait", terminal_id="t1")).kind == "not_found"
    until(agent, lambda: cards(agent)[0].status == "interrupted")


def test_a_program_that_is_not_there_fails_on_its_card(start: Callable[..., Agent]):
    agent = start("all")
    assert agent.failure(agent.runs("no-such-program-here", "x")).kind == "not_found"
    assert [(c.status, "install it" in str(c.output)) for c in cards(agent)] == [("failed", True)]


def test_one_command_can_be_stopped_by_hand_and_nothing_else(start: Callable[..., Agent]):
    agent = start("all")
    assert not agent.session.state.capabilities["cancel_work"]
    agent.says(ev.ToolCallUpdated("c1", "bash", "wait", "shell", "running", {"command": "exec sleep 100"}))
    agent.got(agent.runs("exec sleep 100"))
    agent.got(agent.runs("exec sleep 200", terminal="t2"))
    assert agent.session.state.capabilities["cancel_work"] and [c.cancelable for c in cards(agent)] == [True, True]
    agent.session._send(cmd.CancelWork(kind="tool", work="c1"))
    assert agent.got(agent.wants("terminal_wait", terminal_id="t1"))["signal"] == "SIGTERM"
    assert agent.got(agent.wants("terminal_output", terminal_id="t2"))["exit"] is None
    until(agent, lambda: [c.cancelable for c in cards(agent)] == [False, True])
    assert [command.type for command in agent.heard] == ["prompt"]
    agent.session._send(cmd.CancelWork(kind="tool", work="c1"))  # nothing of ours any more: the agent's business
    assert [command.type for command in agent.heard] == ["prompt", "cancel_work"]


def test_what_runs_on_after_its_turn_is_told_as_background_work_and_can_be_stopped(start: Callable[..., Agent]):
    agent = start("all")
    agent.got(agent.runs("exec sleep 100", terminal="server"))
    assert agent.session.state.background == []
    agent.says(ev.TurnEnded())
    [work] = agent.session.state.background
    assert (work.kind, work.title, work.cancelable) == ("terminal", "exec sleep 100", True)
    agent.session._send(cmd.CancelWork(kind="terminal", work=work.id))
    until(agent, lambda: agent.session.state.background == [])
    assert agent.got(agent.wants("terminal_wait", terminal_id="server"))["signal"] == "SIGTERM"


# ---- policies ------------------------------------------------------------------------------------------------------


def test_policies_count_for_what_we_do_as_for_any_call(start: Callable[..., Agent], root: Path):
    asked = []

    def policy(request: PendingApproval) -> Any:
        asked.append((request.category, request.command or request.paths[0]))
        return {"allow": request.command == "true", "note": "only true"}

    agent = start(policy)
    assert agent.got(agent.runs("true")) == {}
    assert agent.failure(agent.runs("false", terminal="t2")).message == "Leave was refused. only true"
    assert agent.failure(agent.wants("write_file", path=f"{root}/a", content="x")).kind == "denied"
    assert asked == [("shell", "true"), ("shell", "false"), ("edit", f"{root}/a")]
    assert [c.decision.by for c in cards(agent)] == ["policy"] * 3


def test_the_policy_edits_allows_writes_and_asks_for_commands(start: Callable[..., Agent], root: Path):
    agent = start("edits")
    assert agent.got(agent.wants("write_file", path=f"{root}/a", content="x")) == {}
    call = agent.runs("true")
    waiting(agent)
    agent.session.deny()
    agent.failure(call)


def test_the_policy_deny_refuses_both(start: Callable[..., Agent], root: Path):
    agent = start("deny")
    assert agent.failure(agent.wants("write_file", path=f"{root}/a", content="x")).kind == "denied"
    assert agent.failure(agent.runs("touch a")).kind == "denied"
    assert list(root.iterdir()) == []


def test_what_the_policy_allowed_the_agent_is_not_asked_twice(start: Callable[..., Agent]):
    asked = []
    agent = start(lambda request: asked.append(request.request_id) or True)
    agent.asks("p1", "c1", command="true")
    until(agent, lambda: not agent.session.pending and cards(agent)[0].status == "running")
    assert agent.got(agent.runs("true")) == {}
    assert asked == ["p1"]


def test_unattended_what_nobody_can_be_asked_is_refused_and_said(start: Callable[..., Agent], root: Path):
    agent = start()
    agent.says(ev.TurnEnded())
    turn = agent.session.start("go", unattended=True)
    assert "unattended" in agent.failure(agent.runs("touch a")).message
    agent.says(ev.TurnEnded())
    with pytest.raises(ApprovalRequired, match="touch a"):
        turn.wait(5)
    assert list(root.iterdir()) == []


def test_edits_of_a_write_are_not_taken_and_it_goes_on_waiting(start: Callable[..., Agent], root: Path):
    agent = start()
    agent.capabilities.edits = True
    call = agent.wants("write_file", path=f"{root}/a", content="x")
    waiting(agent)
    with pytest.raises(NotSupported, match="note"):
        agent.session.approve(edits={f"{root}/a": "y"})
    agent.session.approve()
    assert agent.got(call) == {}


# ---- the end of things ---------------------------------------------------------------------------------------------


def test_a_request_is_taken_back_when_the_agent_gives_the_call_up(start: Callable[..., Agent], root: Path):
    agent = start()
    call = agent.runs("touch a")
    waiting(agent)
    agent.says(dropped=[call])
    assert agent.session.pending == []
    [card] = cards(agent)
    assert (card.status, card.decision.outcome) == ("interrupted", "withdrawn")
    agent.got(agent.wants("read_file", path=str(root)))  # a round later …
    assert call not in agent.answers and not (root / "a").exists()


def test_stop_takes_back_what_waits_and_ends_what_runs(start: Callable[..., Agent], root: Path):
    agent = start("ask")
    agent.asks("p1", "c1", command="exec sleep 100")
    agent.session.approve("p1")
    agent.got(agent.runs("exec sleep 100"))
    call = agent.wants("write_file", path=f"{root}/a", content="x")
    waiting(agent)
    agent.session.abort()
    assert agent.failure(call).kind == "cancelled" and agent.session.pending == []
    assert agent.got(agent.wants("terminal_wait", terminal_id="t1"))["signal"] == "SIGTERM"
    assert agent.failure(agent.runs("true", terminal="t2")).kind == "cancelled"  # … nor is anything begun any more
    assert agent.failure(agent.wants("write_file", path=f"{root}/a", content="x")).kind == "cancelled"
    agent.says(ev.TurnEnded("cancelled"))
    agent.session.start("again", unattended=False)
    agent.wants("write_file", path=f"{root}/a", content="x")
    waiting(agent)


def test_a_cancelled_turn_ends_the_terminals_the_agent_forgot_and_an_ordinary_one_leaves_them(
    start: Callable[..., Agent],
):
    agent = start("all")
    agent.got(agent.runs("exec sleep 100", terminal="server"))
    agent.says(ev.TurnEnded())
    agent.session.start("again", unattended=False)
    agent.got(agent.runs("exec sleep 100", terminal="forgotten"))
    agent.says(ev.TurnEnded("cancelled"))
    assert agent.got(agent.wants("terminal_wait", terminal_id="forgotten"))["signal"] == "SIGTERM"
    assert agent.got(agent.wants("terminal_output", terminal_id="server"))["exit"] is None


def test_a_request_that_waits_at_the_turns_end_is_cancelled(start: Callable[..., Agent]):
    agent = start()
    call = agent.runs("true")
    waiting(agent)
    agent.says(ev.TurnEnded())
    assert agent.failure(call).kind == "cancelled"
    assert agent.session.pending == []


@pytest.mark.parametrize("how", ["closed", "gone"])
def test_pitfall_18_the_sessions_end_leaves_no_command(start: Callable[..., Agent], how: str):
    agent = start("all")
    agent.got(agent.runs("sleep 100 & setsid sleep 100 & trap '' TERM; echo up; while :; do sleep 1; done"))
    until(agent, lambda: any("up" in str(c.output) for c in cards(agent)))
    mine = children()
    assert len(mine) >= 3
    if how == "gone":
        agent.peer.end(1)  # type: ignore[attr-defined]
        until(agent, lambda: agent.session.closed)
    agent.session.close()
    assert [p for p in mine if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []


def test_an_agent_that_asks_for_everything_at_once_gets_only_so_much(start: Callable[..., Agent], root: Path):
    (root / "a").write_text("a")
    agent = start()
    before = threading.active_count()
    reads = [agent.wants("read_file", path=f"{root}/a") for _ in range(200)]
    assert threading.active_count() <= before + THREADS
    assert all(agent.got(read) == {"content": "a"} for read in reads)
    writes = [agent.wants("write_file", path=f"{root}/{n}", content="x") for n in range(MOST + 1)]
    with agent.changed:
        assert agent.changed.wait_for(lambda: any(write in agent.answers for write in writes), 10)
    [refused] = [agent.answers[write] for write in writes if write in agent.answers]
    assert isinstance(refused, HostFailure) and refused.kind == "failed"
    assert len(agent.session.pending) == MOST


def test_closing_answers_nobody_but_takes_down_what_waits(start: Callable[..., Agent]):
    agent = start()
    agent.runs("true")
    waiting(agent)
    agent.session.close()
    assert agent.session.pending == [] and [c.status for c in cards(agent)] == ["interrupted"]


def test_a_call_that_breaks_on_our_side_is_answered_all_the_same(start: Callable[..., Agent], monkeypatch: Any):
    agent = start()
    monkeypatch.setattr("hm_jupyter.workspace.files.read", lambda *_: os.stat(3.5))
    found = agent.failure(agent.wants("read_file", path=f"{agent.root}/a"))
    assert (found.kind, "TypeError" in found.message) == ("failed", True)
