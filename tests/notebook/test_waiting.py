"""A cell that waits for its turn, in a real kernel: interrupts, ``input()``, and who is asked when."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator

import pytest
from kernels import Kernel, kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

SETUP = """
import os, sys, time
import hm_jupyter as hm
from hm_jupyter.notebook import waiting
from hm_jupyter.notebook.host import host
from hm_jupyter.notebook.widget import live_view
def agent(): return hm.connect([sys.executable, os.environ["HM_TEST_AGENT"]], protocol="hm", cwd=".")
def go(prompt, **options):
    global t
    t = s.start(prompt)
    began = time.monotonic()
    print("outcome", waiting.wait_for(s, t, **options), "after", round(time.monotonic() - began, 1))
    print("stopped because", t.stop_reason)
set_waiting = waiting.views.set_waiting
def noted(session, **now):
    set_waiting(session, **now)
    if now == {"waiting": True}:
        with open("waits", "a") as f: f.write("x")
waiting.views.set_waiting = noted
s = agent()
"""


@pytest.fixture(scope="module")
def k(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernel(tmp_path_factory.mktemp("kernel")) as running:
        running.run(SETUP)
        yield running


def running(k: Kernel, code: str, allow_stdin: bool = True) -> str:
    """Send a cell and wait until it waits (an interrupt before that has no wait to break)."""
    waits = k.log.with_name("waits")
    before = waits.stat().st_size if waits.exists() else 0
    id_ = k.start(code, allow_stdin)
    deadline = time.monotonic() + 20
    while not (waits.exists() and waits.stat().st_size > before):
        assert time.monotonic() < deadline, f"the cell never came to wait: {k.printed(id_)}"
        time.sleep(0.005)
    return id_


def ended(k: Kernel, id_: str, timeout: float = 20) -> str:
    k.wait(lambda: k.idle(id_), timeout, "the end of the cell")
    return k.printed(id_)


def decided(k: Kernel) -> dict[str, object]:
    """The last decision that reached the agent."""
    return next(c for c in reversed(k.commands()) if c["type"] in ("approve", "answer"))


def test_the_cell_ends_with_its_turn(k: Kernel) -> None:
    said = k.run("go('drip 3 0.1')")
    assert "outcome finished" in said
    assert "end_turn" in said


def test_an_interrupt_stops_the_turn_and_the_agent_lives_on(k: Kernel) -> None:
    cell = running(k, "go('drip 1000 0.05')")
    k.interrupt()
    said = ended(k, cell)
    assert "outcome stopped" in said
    assert k.commands()[-1]["type"] == "abort"
    assert "outcome finished" in k.run("go('stream 3')")


def test_an_interrupt_stops_a_turn_that_waits_for_leave(k: Kernel) -> None:
    cell = running(k, "w = live_view(s); go('ask 1', ask=False)", allow_stdin=False)
    k.interrupt()
    assert "outcome stopped" in ended(k, cell)
    k.run("w.close()")


def test_a_second_interrupt_gives_up_waiting_for_an_agent_that_does_not_stop(k: Kernel) -> None:
    k.run("keep, s = s, agent()")
    cell = running(k, "go('deaf')")
    k.interrupt()
    deadline = time.monotonic() + 10
    while k.commands()[-1]["type"] != "abort" and time.monotonic() < deadline:
        time.sleep(0.01)
    k.interrupt()
    said = ended(k, cell, 5)
    assert "outcome gave_up" in said
    assert "stopped because None" in said
    k.run("s.close(); s = keep")


def test_an_agent_that_does_not_stop_is_not_waited_for_for_ever(k: Kernel) -> None:
    k.run("keep, s = s, agent(); waiting.ABORT_WAIT = 0.5")
    cell = running(k, "go('deaf')")
    k.interrupt()
    assert "outcome gave_up" in ended(k, cell, 5)
    k.run("s.close(); s = keep; waiting.ABORT_WAIT = 10.0")


# ---- input() -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y", {"allow": True}),
        ("S", {"allow": True, "for_session": True}),
        ("n", {"allow": False}),
        ("run only the store's tests", {"allow": False, "note": "run only the store's tests"}),
        ("no, too slow", {"allow": False, "note": "too slow"}),
    ],
)
def test_where_nothing_shows_the_session_the_cell_asks(k: Kernel, line: str, expected: dict[str, object]) -> None:
    cell = running(k, "go('ask 1')")
    prompt = k.asked()
    assert "y = allow once" in prompt
    k.wait(lambda: "$ echo 0" in k.printed(cell), why="what will run, in full")
    k.wait(lambda: "in: /w" in k.printed(cell) and "for the session allows: echo *" in k.printed(cell))
    k.answer(line)
    assert "outcome finished" in ended(k, cell)
    sent = decided(k)
    assert {key: sent[key] for key in expected} == expected
    assert k.run("print(t.tool_calls[0].decision.via)").strip() == "stdin"


def test_an_empty_line_allows_nothing_and_asks_again(k: Kernel) -> None:
    cell = running(k, "go('ask 1')")
    k.asked()
    k.answer("")
    k.asked()
    k.wait(lambda: "Nothing was decided" in k.printed(cell))
    k.answer("n")
    ended(k, cell)
    assert decided(k)["allow"] is False


def test_a_question_is_answered_by_number_or_by_text(k: Kernel) -> None:
    cell = running(k, "go('question')")
    k.asked()
    k.wait(lambda: "2. postgres" in k.printed(cell))
    k.answer("2")
    ended(k, cell)
    assert decided(k)["text"] == "postgres"


def test_an_interrupt_at_the_input_line_stops_the_turn(k: Kernel) -> None:
    cell = running(k, "go('ask 1')")
    k.asked()
    k.interrupt()
    assert "outcome stopped" in ended(k, cell)


def test_a_decision_from_elsewhere_takes_the_line_back(k: Kernel) -> None:
    """By Python, from a thread: the cell goes on by itself, and a later interrupt is still a person's."""
    cell = running(
        k,
        "from hm_jupyter.session.runtime import runtime\n"
        "runtime().loop.call_soon_threadsafe(runtime().loop.call_later, 1.5, lambda: s.controller.post(\n"
        "    hm.commands.Approve(request_id=s.pending[0].request_id, allow=True), via='python'))\n"
        "go('ask 1')\n"
        "time.sleep(0.3); print('and went on')",
    )
    k.asked()
    said = ended(k, cell)
    assert "decided elsewhere" in said
    assert "outcome finished" in said
    assert "and went on" in said


def test_a_front_end_that_cannot_ask_after_all_makes_the_turn_unattended(k: Kernel) -> None:
    said = k.run("go('ask 1')\ntry: t.raise_for_status()\nexcept hm.ApprovalRequired as e: print('raised:', e)")
    assert "outcome finished" in said
    assert "raised: " in said and "echo 0" in said
    assert decided(k)["allow"] is False


def control_of(k: Kernel) -> socket.socket:
    found = json.loads(next((k.runtime_dir / "hm_jupyter").glob("*.json")).read_text())
    client = socket.socket(socket.AF_UNIX)
    client.connect(found["socket"])
    client.sendall(json.dumps({"token": found["token"]}).encode() + b"\n" + b'{"t": "ping", "n": 1}\n')
    assert b"pong" in client.recv(100)
    return client


def test_where_a_view_can_be_heard_the_cell_does_not_ask(k: Kernel) -> None:
    k.run("waiting.GRACE = 0.2; w = live_view(s)")
    view_id = k.opened()["content"]["data"]["state"]["view_id"]
    browser = control_of(k)
    cell = running(k, "go('ask 1')")
    with pytest.raises(Exception):  # noqa: B017 - queue.Empty of jupyter_client
        k.asked(timeout=1.5)
    command = {"type": "approve", "id": "click", "request_id": "k0", "allow": True}
    browser.sendall(json.dumps({"t": "command", "view": view_id, "command": command}).encode() + b"\n")
    assert "outcome finished" in ended(k, cell)
    browser.close()
    k.run("w.close(); waiting.GRACE = 6.0")


def test_where_the_view_is_silent_the_cell_asks_and_says_so_to_the_view(k: Kernel) -> None:
    k.run("waiting.GRACE = 0.2; w = live_view(s)")
    comm = k.opened()["content"]["comm_id"]
    cell = running(k, "go('ask 1')")
    k.asked()
    k.answer("y")
    ended(k, cell)
    routes = [m for _, m in k.customs(comm) if m["t"] == "route"]
    k.wait(lambda: [m for _, m in k.customs(comm) if m["t"] == "route"][-1]["waiting_cell"] is False)
    assert {"t": "route", "waiting_cell": True, "stdin": False} in routes
    assert {"t": "route", "waiting_cell": True, "stdin": True} in routes
    k.run("w.close(); waiting.GRACE = 6.0")


# ---- who runs this cell -------------------------------------------------------------------------------------------------


def test_a_client_that_takes_input_is_a_notebook_and_one_that_does_not_is_nobody(k: Kernel) -> None:
    assert k.run("print(host())", allow_stdin=True).strip() == "notebook"
    assert k.run("print(host())", allow_stdin=False).strip() == "nobody"


def test_a_plain_python_is_nobody_and_the_environment_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    from hm_jupyter.notebook.host import host

    monkeypatch.delenv("HM_JUPYTER_HOST", raising=False)
    assert host() == "nobody"
    monkeypatch.setitem(os.environ, "HM_JUPYTER_HOST", "terminal")
    assert host() == "terminal"
