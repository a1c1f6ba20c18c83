"""Commands the person runs by the agent's bash."""

from __future__ import annotations

from omp_talk import Talk

from hm_jupyter import events as ev
from hm_jupyter.commands import Abort, CallAgent

RESULT = {"output": "a\nb\n", "exitCode": 0, "cancelled": False, "truncated": False, "totalLines": 2, "totalBytes": 4,
          "outputLines": 2, "outputBytes": 4}  # fmt: skip


def run(t: Talk, command: str = "ls", **more: object) -> Talk:
    t.says(CallAgent(id="x", method="bash", params={"command": command, **more}))
    return t


def test_it_has_a_card_of_its_own_that_says_who_reads_the_output() -> None:
    t = run(Talk())
    assert (t.tool("bash:x").title, t.tool("bash:x").status) == ("ls (goes into the next prompt)", "running")
    assert ev.CommandAnswered("x", True, RESULT) in t.answers("bash", data=RESULT)
    card = t.tool("bash:x")
    assert (card.status, str(card.output), card.exit_code, card.category) == ("completed", "a\nb\n", 0, "shell")


def test_one_that_the_agent_is_not_told_of_says_so() -> None:
    assert run(Talk("pi"), excludeFromContext=True).tool("bash:x").title == "ls (not told to the agent)"


def test_a_failure_is_shown_by_its_exit_code() -> None:
    t = run(Talk())
    t.answers("bash", data={**RESULT, "exitCode": 3})
    assert (t.tool("bash:x").status, t.tool("bash:x").exit_code) == ("failed", 3)


def test_output_that_was_cut_says_how_much_and_where_the_rest_is() -> None:
    t = run(Talk())
    t.answers("bash", data={**RESULT, "truncated": True, "totalLines": 9, "totalBytes": 99, "artifactId": "7"})
    assert str(t.tool("bash:x").output) == "a\nb\n\n[cut, 2 of 9 lines, 4 of 99 bytes, all of it: artifact 7]\n"
    t = run(Talk("pi"))
    t.answers("bash", data={"output": "a", "exitCode": 0, "truncated": True, "fullOutputPath": "/tmp/x.log"})
    assert str(t.tool("bash:x").output).endswith("[cut, all of it: /tmp/x.log]\n")


def test_one_that_was_stopped_has_no_exit_code() -> None:
    t = run(Talk(), "sleep 30")
    (line,) = t.call("abort_bash")
    assert line["type"] == "abort_bash"
    t.answers("bash", data={"output": "[Command cancelled]\n", "cancelled": True, "truncated": False})
    assert (t.tool("bash:x").status, t.tool("bash:x").exit_code) == ("interrupted", None)
    assert t.answers("abort_bash")[-1].ok


def test_pi_streams_its_output() -> None:
    t = run(Talk("pi"))
    t.hears({"type": "bash_execution_update", "id": "x", "delta": "a\n"})
    assert str(t.tool("bash:x").output) == "a\n"
    assert t.hears({"type": "bash_execution_update", "id": "y", "delta": "b"}) == []


def test_several_run_side_by_side() -> None:
    t = Talk()
    for name in ("x", "y"):
        t.says(CallAgent(id=name, method="bash", params={"command": name}))
    t.hears({"type": "response", "id": "y", "command": "bash", "success": True, "data": {**RESULT, "output": "Y"}})
    t.hears({"type": "response", "id": "x", "command": "bash", "success": True, "data": {**RESULT, "output": "X"}})
    assert [str(e.output) for e in t.shown("tool")] == ["X", "Y"]


def test_stop_ends_it_where_no_turn_runs() -> None:
    t = run(Talk(), "sleep 30")
    assert t.says(Abort(id="a")) == [{"id": "a", "type": "abort_bash"}]
    assert ev.CommandAnswered("a", True) in t.answers("abort_bash")


def test_closing_ends_it_for_omp_would_wait_for_it() -> None:
    t = run(Talk(), "sleep 30")
    assert [line["type"] for line in t.adapter.stop().messages] == ["abort_bash"]


def test_one_that_is_refused_says_why() -> None:
    t = run(Talk())
    t.refuses("bash", "Missing field `command`")
    assert (t.tool("bash:x").status, str(t.tool("bash:x").output)) == ("failed", "Missing field `command`")
