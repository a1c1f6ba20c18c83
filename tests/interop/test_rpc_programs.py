"""What the real omp and pi do, seen through a session: approvals, questions, stops, long answers, sessions, commands."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import Answer, ModelServer, calls, fails, model_server, says

from hm_jupyter.errors import AgentError, AgentGone, StartError
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import CompactionEntry, PendingApproval, PendingQuestion, UserEntry

from .rpc_program import NAMES, REAL, Program, told, tools, until

pytestmark = pytest.mark.slow

TWO = ["toolu_one", "toolu_two"]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


everyday = pytest.mark.everyday  # played in `make test` too, where pi is installed; the others in `make interop`


@pytest.fixture(params=NAMES)
def program(request: pytest.FixtureRequest, tmp_path: Path, model: ModelServer) -> Iterator[Program]:
    if not REAL and request.node.get_closest_marker("everyday") is None:
        pytest.skip("played by make interop")
    made = Program(request.param, tmp_path, model)
    yield made
    made.close()


def only(program: Program, *names: str) -> None:
    if program.name not in names:
        pytest.skip(f"{program.name} has no such thing")


def waits(session: Session, count: int = 1) -> list[Any]:
    until(session, lambda: len(session.pending) >= count)
    return list(session.pending)


# ---- approvals --------------------------------------------------------------------------------------------------------------


@everyday
def test_parallel_calls_are_asked_about_each_with_its_own_arguments_and_decided_apart(
    program: Program, model: ModelServer
) -> None:
    (program.work / "app.py").write_text("print('old')\n")
    edit = {"path": "app.py", "edits": [{"oldText": "old", "newText": "new"}]}
    if program.dialect == "omp":
        edit = {"path": "app.py", "content": "print('new')\n"}
    second = ("write" if program.dialect == "omp" else "edit", edit)
    model.will(calls(("bash", {"command": "echo one > one.txt"}), second, ids=TWO))
    session = program.connect()
    turn = session.start("go", unattended=False)
    seen = []
    while len(seen) < 2:
        until(session, lambda: any(p.request_id not in seen for p in session.pending))
        request = next(p for p in session.pending if p.request_id not in seen)
        assert isinstance(request, PendingApproval)
        seen.append(request.request_id)
        if request.tool == "bash":
            assert request.command == "echo one > one.txt"
            session.deny(request.request_id, note="use python")
        else:
            assert request.paths and request.paths[0].endswith("app.py")
            assert "new" in json.dumps([d.new for d in request.diffs])
            session.approve(request.request_id)
    turn.wait(20)
    assert {c.category: c.status for c in turn.tool_calls} == {"shell": "denied", "edit": "completed"}
    assert not (program.work / "one.txt").exists()
    assert "new" in (program.work / "app.py").read_text()
    if program.gate:  # it takes the note with the refusal
        assert "use python" in model.asked[-1].text
    else:
        assert any(isinstance(e, UserEntry) and e.text == "use python" for e in turn.entries)
    assert told(session) == []


def test_omp_asks_about_parallel_calls_at_once(program: Program, model: ModelServer) -> None:
    only(program, "omp")
    model.will(calls(("bash", {"command": "echo 1"}), ("bash", {"command": "echo 2"}), ids=TWO))
    session = program.connect()
    turn = session.start("go", unattended=False)
    first, second = waits(session, 2)
    assert {first.command, second.command} == {"echo 1", "echo 2"}
    session.approve(second.request_id)
    session.deny(first.request_id)
    turn.wait(20)
    by_command = {call.input["command"]: call.status for call in turn.tool_calls}
    assert by_command == {first.command: "denied", second.command: "completed"}


@everyday
def test_allowed_for_the_session_is_the_same_command_word_for_word(program: Program, model: ModelServer) -> None:
    model.will(*(calls(("bash", {"command": c})) for c in ("echo a", "echo a", "echo a; echo b")))
    session = program.connect()
    turn = session.start("go", unattended=False)
    [first] = waits(session)
    assert first.for_session
    session.approve(for_session=True)
    until(session, lambda: len(tools(session)) == 3 and session.pending)
    [other] = session.pending
    assert other.command == "echo a; echo b"
    session.deny()
    turn.wait(20)
    assert [c.status for c in turn.tool_calls] == ["completed", "completed", "denied"]


def test_a_policy_decides_unattended_and_reading_is_not_asked_about(program: Program, model: ModelServer) -> None:
    (program.work / "data.txt").write_text("42")
    model.will(calls(("read", {"path": "data.txt"})), calls(("bash", {"command": "touch made"})))
    session = program.connect()
    turn = session.prompt("go", approve="deny", timeout=30)
    assert [c.status for c in turn.tool_calls] == ["completed", "denied"]
    assert not (program.work / "made").exists()


@pytest.mark.parametrize(("mode", "asked"), [("write", ["bash"]), ("yolo", [])])
def test_its_mode_says_what_it_asks_about(mode: str, asked: list[str], program: Program, model: ModelServer) -> None:
    only(program, "pi", "pi-old", "omp")
    model.will(calls(("bash", {"command": "echo 1"}), ("write", {"path": "made.txt", "content": "x"}), ids=TWO))
    seen: list[str] = []
    session = program.connect(mode=mode, approve=lambda request: bool(seen.append(request.tool)) or True)
    turn = session.prompt("go", timeout=30)
    assert seen == asked
    assert [c.status for c in turn.tool_calls] == ["completed", "completed"]
    assert session.state.mode == mode


# ---- questions ------------------------------------------------------------------------------------------------------------


def test_omps_model_asks_a_question_and_hears_the_answer(program: Program, model: ModelServer) -> None:
    only(program, "omp", "omp-gate")
    options = [{"label": "SQLite"}, {"label": "PostgreSQL"}]
    question = {"id": "db", "question": "Which database?", "options": options}
    model.will(calls(("ask", {"questions": [question]})))
    session = program.connect(approve="all")
    turn = session.start("go", unattended=False)
    [asked] = waits(session)
    assert isinstance(asked, PendingQuestion)
    assert "Which database?" in asked.text
    assert "PostgreSQL" in [c.value for c in asked.choices]
    session.answer("PostgreSQL")
    turn.wait(20)
    assert "PostgreSQL" in model.asked[-1].text


DIALOGS = """
export default function (pi) {
  pi.registerCommand("dialogs", { description: "asks", handler: async (args, ctx) => {
    const pick = await ctx.ui.select("Pick one", ["a", "b"]);
    const sure = await ctx.ui.confirm("Sure", "Really?");
    const name = await ctx.ui.input("Name it", "app");
    const text = await ctx.ui.editor("Edit it", "prefilled");
    ctx.ui.notify(`got ${pick} ${sure} ${name} ${text}`, "info");
  }});
}
"""


@everyday
def test_an_extensions_dialogs_are_questions_and_each_is_answered(program: Program) -> None:
    session = program.connect(args=program.extension(DIALOGS))
    turn = session.start("/dialogs", unattended=False)
    for answer in ("b", "yes", "shop", "some\ntext"):
        [asked] = waits(session)
        assert isinstance(asked, PendingQuestion)
        session.answer(answer)
        until(session, lambda asked=asked: asked.request_id not in [p.request_id for p in session.pending])
    until(session, lambda: any("got b true shop some" in text for text in told(session)))
    turn.wait(20)
    assert turn.stop_reason == "end_turn"


# ---- stops ------------------------------------------------------------------------------------------------------------------


def asking(session: Session, model: ModelServer) -> Any:
    model.will(calls(("bash", {"command": "touch never"})))
    turn = session.start("go", unattended=False)
    waits(session)
    return turn


def streaming(session: Session, model: ModelServer) -> Any:
    model.will(says("I begin ", hold=True))
    turn = session.start("go", unattended=False)
    until(session, lambda: turn.text)
    return turn


def working(session: Session, model: ModelServer) -> Any:
    model.will(calls(("bash", {"command": "python3 -c 'import time; time.sleep(60)'"})))
    turn = session.start("go", approve="all", unattended=False)
    until(session, lambda: any(c.status == "running" for c in turn.tool_calls))
    return turn


def in_a_dialog(session: Session, model: ModelServer) -> Any:
    turn = session.start("/dialogs", unattended=False)
    waits(session)
    return turn


@pytest.mark.parametrize("state", [asking, streaming, working, in_a_dialog])
def test_a_stop_ends_the_turn_in_whatever_state_and_the_session_goes_on(
    state: Callable[[Session, ModelServer], Any], program: Program, model: ModelServer
) -> None:
    session = program.connect(args=program.extension(DIALOGS))
    turn = state(session, model)
    session.abort()
    until(session, lambda: turn.done, 10)
    assert turn.stop_reason in ("cancelled", "end_turn")
    assert session.pending == []
    model.script.clear()
    model.will(says("still here"))
    assert session.prompt("again", timeout=30).text == "still here"
    assert not (program.work / "never").exists()
    assert [t for t in told(session) if not t.startswith("info")] == []


@everyday
def test_a_steer_is_heard_while_a_command_runs(program: Program, model: ModelServer) -> None:
    model.will(calls(("bash", {"command": "sleep 0.7; echo slept"})), says("heard"), says("and again"))
    session = program.connect()
    turn = session.start("go", approve="all", unattended=False)
    until(session, lambda: any(c.status == "running" for c in turn.tool_calls))
    session.steer("use a log axis")
    turn.wait(20)
    until(session, lambda: not session.running)
    assert any("use a log axis" in asked.text for asked in model.asked)
    steers = [e for e in session.transcript.entries.values() if isinstance(e, UserEntry) and e.delivery == "steer"]
    assert [(e.text, e.status) for e in steers] == [("use a log axis", "read")]
    # omp makes a background job of the command, and begins by itself with its result
    until(session, lambda: any("slept" in asked.text for asked in model.asked))


# ---- long, wrong, interrupted --------------------------------------------------------------------------------------------------


def test_two_megabytes_of_odd_text_come_whole(program: Program, model: ModelServer) -> None:
    odd = ("häuser", "\u2028", "\u0085", "<b>", "\U0001f600", "\u202e", "\ufeff")
    numbers = (n * n * 7919 % 1_000_003 for n in range(180_000))  # omp cuts off a model that repeats itself
    words = (f"{odd[n % 7]} {number}" for n, number in enumerate(numbers))
    text = " ".join(words)
    whole = len(text.encode()) > 2_000_000
    assert whole
    model.will(Answer([("text", text)]))
    session = program.connect()
    same = session.prompt("go", timeout=60).text == text
    assert same
    assert told(session) == []


def test_a_request_that_fails_is_tried_again_and_the_turn_goes_on(program: Program, model: ModelServer) -> None:
    model.will(fails(529, "Overloaded"), says("now it works"))
    session = program.connect()
    turn = session.prompt("go", timeout=60)
    assert turn.text == "now it works"


def test_a_request_that_cannot_be_made_right_ends_the_turn_with_its_words(program: Program, model: ModelServer) -> None:
    model.will(*[fails(400, "no such thing as mock-1")] * 12)
    session = program.connect()
    with pytest.raises(AgentError, match="no such thing"):
        session.prompt("go", timeout=60)
    model.script.clear()
    assert session.prompt("again", timeout=30).text == "Done."


@everyday
def test_a_killed_agent_is_told_and_its_session_goes_on_in_another_process(
    program: Program, model: ModelServer
) -> None:
    model.will(says("first answer"), says("I begin ", hold=True))
    session = program.connect()
    session.prompt("remember 42", timeout=30)
    turn = session.start("go", unattended=False)
    until(session, lambda: turn.text)
    os.kill(session.controller.transport.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    with pytest.raises(AgentGone, match="resume"):
        turn.wait(20)
        session.prompt("more")
    model.will(says("it was 42"))
    again = program.connect(session=session.state.session_id)
    said = [e.text for e in again.transcript.entries.values() if isinstance(e, UserEntry)]
    assert "remember 42" in said
    assert again.prompt("what was it?", timeout=30).text == "it was 42"
    assert "remember 42" in model.asked[-1].text


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"model": "nosuch/model"}, "not found"),
        ({"session": "nosuch"}, "nosuch"),
        ({"args": ["--no-such-flag"]}, "flag|option"),
    ],
)
def test_what_was_wrong_with_the_start_is_shown_as_the_program_says_it(
    options: dict[str, Any], why: str, program: Program
) -> None:
    with pytest.raises(StartError, match=f"(?i){why}"):
        program.connect(**options).close()


# ---- the session ------------------------------------------------------------------------------------------------------------------


@everyday
def test_saved_sessions_are_listed_named_switched_to_and_deleted(program: Program, model: ModelServer) -> None:
    session = program.connect()
    session.prompt("first one", timeout=30)
    first = session.state.session_id
    session.rpc.set_name("My first")
    until(session, lambda: session.state.title == "My first")
    assert session.rpc.new_session()
    until(session, lambda: session.state.session_id != first)
    session.prompt("second one", timeout=30)
    second = session.state.session_id
    listed = {s["id"]: s["title"] for s in session.sessions()}
    assert listed == {first: "My first", second: "second one"}
    assert session.rpc.switch_session(first)
    until(session, lambda: session.state.session_id == first)
    session.prompt("more", timeout=30)
    assert "first one" in model.asked[-1].text
    assert "second one" not in model.asked[-1].text
    session.delete_session(second)
    assert [s["id"] for s in session.sessions(all=True)] == [first]
    with pytest.raises(AgentError, match="no saved session"):
        session.delete_session("nosuch")


def test_a_session_is_forked_before_a_message_and_exported(program: Program, model: ModelServer) -> None:
    session = program.connect()
    session.prompt("one thing", timeout=30)
    session.prompt("another thing", timeout=30)
    entries = session.rpc.branch_messages()
    assert [e["text"] for e in entries] == ["one thing", "another thing"]
    session.fork(entries[1]["entryId"])
    session.prompt("a third thing", timeout=30)
    assert "one thing" in model.asked[-1].text
    assert "another thing" not in model.asked[-1].text
    target = program.work / "run.html"
    session.agent_export("html", str(target))
    assert "third thing" in target.read_text() or target.stat().st_size > 1000


def test_the_context_is_compacted_by_a_command(program: Program, model: ModelServer) -> None:
    session = program.connect()
    if program.name != "pi-old":
        with pytest.raises(AgentError, match=r"(?i)too small|nothing to compact"):
            session.compact()
    session.prompt("x " * 60_000, timeout=30)
    session.prompt("y " * 60_000, timeout=30)
    model.will(*[says("a summary of all that")] * 4)
    session.compact("keep the numbers")
    found = [e for e in session.transcript.entries.values() if isinstance(e, CompactionEntry)]
    assert found[-1].status == "done"
    assert "a summary of all that" in found[-1].summary


@everyday
def test_a_command_of_ones_own_has_a_card_and_is_stopped(program: Program, model: ModelServer) -> None:
    session = program.connect()
    found = session.rpc.bash("echo hello; exit 3")
    assert (found["output"].strip(), found["exitCode"]) == ("hello", 3)
    [card] = tools(session)
    assert (card.category, card.exit_code, str(card.output).strip()) == ("shell", 3, "hello")
    session.prompt("what did it say?", timeout=30)
    assert "hello" in model.asked[-1].text
    import threading

    ended: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: ended.append(session.rpc.bash("sleep 60")))
    waiting.start()
    until(session, lambda: tools(session)[-1].status == "running")
    session.rpc.abort_bash()
    waiting.join(10)
    assert ended[0]["cancelled"] is True


def test_settings_are_changed_and_stay_so(program: Program) -> None:
    session = program.connect()
    options = {o.id: o for o in session.options}
    assert {"thinking", "steering_mode", "follow_up_mode", "auto_compaction", "auto_retry"} <= set(options)
    session.set_option("steering_mode", "all")
    session.set_option("auto_compaction", False)
    session.set_option("thinking", "low")
    session.set_model("mock-2", provider="mock")
    until(session, lambda: session.state.model.endswith("mock-2"))
    state = session.get_state()
    assert (state["steeringMode"], state["autoCompactionEnabled"], state["model"]["id"]) == ("all", False, "mock-2")


def test_every_command_of_the_dialect_is_answered(program: Program) -> None:
    session, rpc = program.connect(), None
    rpc = session.rpc
    session.prompt("hello", timeout=30)
    assert rpc.last_text() == "Done."
    assert rpc.stats()["userMessages"] == 1
    assert [m["role"] for m in rpc.messages() if m["role"] != "system"] == ["user", "assistant"]
    assert {m["id"] for m in rpc.models()} >= {"mock-1", "mock-2"}
    assert rpc.cycle_thinking()
    assert rpc.cycle_model()
    rpc.abort_retry()
    assert rpc.commands() is not None
    if program.name == "pi":
        assert rpc.entries()["entries"]
        assert rpc.tree()["tree"]
        assert rpc.thinking_levels()
        assert rpc.clear_queue() == {"steering": [], "followUp": []}
    if program.dialect == "pi":
        assert rpc.clone()
    else:
        assert rpc.message_page(limit=1)["totalMessages"] == 2
        assert rpc.set_todos([{"name": "Work", "tasks": ["read"]}])[0]["name"] == "Work"
        assert rpc.subagents("progress") == []
        assert rpc.login_providers()
        assert "enabled" in rpc.fast_mode(False)
    with pytest.raises(AgentError):
        session.call("no_such_command")


def test_pictures_reach_the_model(program: Program, model: ModelServer) -> None:
    from PIL import Image

    session = program.connect()
    session.prompt("look", images=Image.new("RGB", (8, 8), "red"), timeout=30)
    assert '"media_type": "image/' in model.asked[-1].text  # omp makes WebP of it


# ---- what the notebook offers omp ------------------------------------------------------------------------------------------------------


def test_omps_model_calls_a_function_of_the_notebook_with_leave(program: Program, model: ModelServer) -> None:
    only(program, "omp", "omp-gate")
    asked_for = []

    def rows(table: str) -> dict[str, Any]:
        """The rows of a table."""
        asked_for.append(table)
        return {"rows": [1, 2, 3]}

    session = program.connect()
    assert session.rpc.offer(rows) == ["rows"]
    model.will(calls(("rows", {"table": "sales"})), calls(("rows", {"table": "other"})))
    turn = session.start("go", unattended=False)
    [request] = waits(session)
    assert asked_for == []
    session.approve(request.request_id)
    until(session, lambda: any(p.request_id != request.request_id for p in session.pending))
    assert asked_for == ["sales"]  # and asked about once
    session.deny(session.pending[0].request_id)
    turn.wait(20)
    assert asked_for == ["sales"]
    assert "[1, 2, 3]" in json.dumps(model.asked[-1].body).replace("\\", "")


def test_omps_model_reads_and_writes_addresses_of_the_notebook(program: Program, model: ModelServer) -> None:
    only(program, "omp")
    cells = {"cell://3": "x = 1"}
    session = program.connect(approve="all")
    assert session.rpc.offer_addresses("cell", lambda url: cells[url], cells.__setitem__) == ["cell"]
    model.will(calls(("read", {"path": "cell://3"})), calls(("write", {"path": "cell://3", "content": "x = 2\n"})))
    session.prompt("go", timeout=30)
    assert any("x = 1" in asked.text for asked in model.asked)
    assert cells["cell://3"] == "x = 2\n"


def test_what_an_extension_of_omp_prints_does_not_cost_a_message(program: Program, model: ModelServer) -> None:
    only(program, "omp")
    noisy = 'export default function (pi) { pi.on("turn_start", () => { process.stdout.write("noise without newline "); }); }'
    session = program.connect(args=program.extension(noisy))
    assert session.prompt("go", timeout=30).text == "Done."
    assert [t for t in told(session) if not t.startswith("info")] == []


# ---- a notebook -----------------------------------------------------------------------------------------------------------------------


def test_the_notebook_that_names_no_agent_runs_on_it_unchanged(program: Program, model: ModelServer) -> None:
    only(program, "omp", "pi")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    folder = program.work.parent / "bin"
    folder.mkdir()
    script = folder / program.name
    script.write_text(f'#!/bin/sh\nexec {shlex.join(program.command)} "$@"\n')
    script.chmod(0o755)
    write = ("write", {"path": "src/join.py", "content": "fixed = True\n"})
    model.will(calls(("bash", {"command": "ls"}), write, ids=TWO), says("It was the ids."))
    root = Path(__file__).parents[2]
    notebook = nbformat.read(root / "notebooks" / "any-agent.ipynb", as_version=4)
    own = {"HOME": str(program.home), "PI_OFFLINE": "1", "HM_JUPYTER_AGENT": program.name, "PYTHONPATH": str(root)}
    env = {**os.environ, **own, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    nbclient.NotebookClient(notebook, timeout=60).execute(env=env)
    [told_last] = [c for c in notebook.cells if c.source.startswith("turn = hm.last")]
    assert told_last.outputs[0].text == "end_turn\nTrue\nTrue True\n"
    [asked] = [c for c in notebook.cells if c.source.startswith("%%hm")]
    entries = asked.outputs[-1].data["application/vnd.hm-jupyter.transcript+json"]["entries"]
    decided = [e["decision"] for e in entries if e["kind"] == "tool"]
    assert [(d["outcome"], d["by"]) for d in decided] == [("allowed", "policy")] * 2
