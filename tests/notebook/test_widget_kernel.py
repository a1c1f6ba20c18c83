"""The live view in a real kernel, seen from the client's side: what it sends, what it hears, and how soon."""

from __future__ import annotations

import json
import socket
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import ipykernel
import pytest
from kernels import Kernel, kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

SUBSHELLS = ipykernel.version_info[0] >= 7

CONNECT = """
import os, sys, time
import hm_jupyter as hm
from hm_jupyter.notebook.widget import live_view
s = hm.connect([sys.executable, os.environ["HM_TEST_AGENT"]], protocol="hm", cwd=".")
"""


@pytest.fixture(scope="module")
def k(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernel(tmp_path_factory.mktemp("kernel")) as running:
        running.run(CONNECT)
        yield running


class View:
    """The browser's end of one live view."""

    def __init__(self, k: Kernel, code: str = "w = live_view(s)") -> None:
        self.k = k
        k.run(code)
        opened = k.opened()
        self.opened = opened
        self.comm: str = opened["content"]["comm_id"]
        self.state: dict[str, Any] = opened["content"]["data"]["state"]

    def say(self, content: dict[str, Any], subshell: str | None = None) -> None:
        self.k.say(self.comm, {"method": "custom", "content": content}, subshell)

    def command(self, **command: Any) -> dict[str, Any]:
        return {"t": "command", "view": self.state["view_id"], "command": {"id": uuid4().hex, **command}}

    def messages(self, kind: str) -> list[tuple[float, dict[str, Any]]]:
        return [(t, m) for t, m in self.k.customs(self.comm) if m["t"] == kind]

    def next(self, kind: str, after: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.k.wait(
            lambda: (self.messages(kind)[after:] or [None])[0], why=f"{kind} number {after}"
        )[1]
        return found

    def entries(self) -> dict[str, Any]:
        """What this view shows, as a browser would have it."""
        shown: dict[str, Any] = {}
        for m in [self.state["boot"], *(m for _, m in self.k.customs(self.comm))]:
            if m["t"] == "snapshot":
                shown = {e["id"]: dict(e) for e in m["entries"]}
            for op in m.get("ops", []):
                if op["op"] == "put":
                    shown[op["entry"]["id"]] = dict(op["entry"])
                elif op["op"] == "append":
                    shown[op["id"]][op["field"]] += op["text"]
        return shown

    def wait_over(self) -> list[dict[str, Any]]:
        """The entries of the newest turn, once this view shows that it is over."""

        def over() -> list[dict[str, Any]]:
            entries = list(self.entries().values())
            number = max((e["turn"] for e in entries), default=0)
            now = [e for e in entries if e["turn"] == number]
            return now if any(e["kind"] == "turn" and e["status"] != "running" for e in now) else []

        found: list[dict[str, Any]] = self.k.wait(over, why="the end of the turn")
        return found

    def pending(self) -> list[dict[str, Any]]:
        """What waits, as this view was told."""
        found: list[dict[str, Any]] = self.state["boot"]["state"]["pending"]
        for _, m in self.k.customs(self.comm):
            if m["t"] == "snapshot":
                found = m["state"]["pending"]
            for op in m.get("ops", []):
                if op["op"] == "state" and "pending" in op["patch"]:
                    found = op["patch"]["pending"]
        return found

    def wait_pending(self, call_id: str) -> dict[str, Any]:
        """The request of that call, once it waits."""
        found: dict[str, Any] = self.k.wait(
            lambda: next((p for p in self.pending() if p["call_id"] == call_id and p["state"] == "waiting"), None),
            why=f"the request {call_id}",
        )
        return found


class Control:
    """The server's end of the control socket."""

    def __init__(self, k: Kernel, control_id: str) -> None:
        found = json.loads((k.runtime_dir / "hm_jupyter" / f"{control_id}.json").read_text())
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(found["socket"])
        self.lines = self.socket.makefile("rb")
        self.token = found["token"]
        self.say({"token": self.token})

    def say(self, message: Any) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def heard(self) -> Any:
        return json.loads(self.lines.readline())

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


@pytest.fixture
def view(k: Kernel) -> Iterator[View]:
    yield View(k)
    k.run("if s.running: s.abort(); s.turn.wait(20)\nw.close()")


@pytest.fixture
def control(k: Kernel, view: View) -> Iterator[Control]:
    found = Control(k, view.state["control_id"])
    yield found
    found.close()


def test_a_view_opens_with_all_that_its_first_paint_needs(k: Kernel, view: View) -> None:
    assert view.state["boot"]["t"] == "snapshot"
    assert view.state["boot"]["state"]["model"] == "m"
    assert view.state["turn"] == 0
    assert view.state["_esm"]


def test_a_view_and_all_it_sends_belong_to_no_cell(k: Kernel, view: View) -> None:
    view.say({"t": "hello"})
    view.next("snapshot")
    on_it = [m for _, m in k.published if m["content"].get("comm_id") == view.comm and m["msg_type"].startswith("comm")]
    assert len(on_it) >= 2
    assert all(m["parent_header"] == {} for m in on_it), "else ipykernel 7.4 answers it on the shell that is busy"


def test_neither_token_nor_path_is_in_what_the_browser_gets(k: Kernel, view: View, control: Control) -> None:
    view.say({"t": "hello"})
    view.next("snapshot")
    said = json.dumps([m["content"] for _, m in k.published], default=str)
    assert control.token not in said
    assert str(k.runtime_dir) not in said
    assert control.token not in k.run("print(repr(w), w.trait_values())")


def test_hello_is_answered_by_a_snapshot_and_by_who_decides(view: View) -> None:
    view.say({"t": "hello", "view": view.state["view_id"]})
    assert view.next("snapshot")["seq"] == view.state["boot"]["seq"] + 1
    assert view.next("route") == {"t": "route", "waiting_cell": False, "stdin": False}


def test_a_fast_stream_is_few_messages_in_order_and_whole(k: Kernel, view: View) -> None:
    k.run("s.prompt('drip 400 0.005')")
    shown = view.wait_over()
    assert "".join(f"w{n} " for n in range(400)) in [e["text"] for e in shown if e["kind"] == "message"]
    ops = view.messages("ops")
    times = [t for t, _ in ops]
    assert max(sum(t <= u < t + 1 for u in times) for t in times) <= 20
    assert [m["seq"] for _, m in ops] == list(range(view.state["boot"]["seq"] + 1, ops[-1][1]["seq"] + 1))


def test_the_first_word_does_not_wait_for_a_batch(k: Kernel, view: View) -> None:
    """Half a second of silence, then one word: it is on its way within a tenth of a second of being said."""
    seen = len(view.messages("ops"))
    before = time.time()
    k.run("s.prompt('drip 1 0.5')")
    word = k.wait(lambda: next((t for t, m in view.messages("ops")[seen:] if '"w0 ' in json.dumps(m)), None))
    prompt = next(c for c in reversed(k.commands()) if c["type"] == "prompt")
    assert prompt["at"] >= before
    assert word - (prompt["at"] + 0.5) < 0.1


def test_two_views_share_the_sessions_messages_a_second(k: Kernel, view: View) -> None:
    other = View(k, "w2 = live_view(s)")
    k.run("s.prompt('drip 300 0.005')")
    times = sorted(t for v in (view, other) for t, _ in v.messages("ops"))
    assert max(sum(t <= u < t + 1 for u in times) for t in times) <= 22, "each view's first word is sent at once"
    k.run("w2.close()")


def test_a_click_is_carried_out_while_the_main_thread_sleeps(k: Kernel, view: View, control: Control) -> None:
    sleeping = k.start("t = s.start('ask 51'); time.sleep(6)")
    delays = []
    for n in range(51):
        request = view.wait_pending(f"k{n}")
        command = view.command(type="approve", request_id=request["request_id"], allow=True)
        clicked = time.time()
        control.say(command)
        ack = control.heard()
        assert ack == {"t": "ack", "id": command["command"]["id"], "ok": True, "error": ""}
        read = next(c for c in reversed(k.commands()) if c["type"] == "approve" and c["call_id"] == f"k{n}")
        delays.append((read["at"] - clicked) * 1000)
    assert not k.idle(sleeping), "the main thread slept all the while"
    p95 = statistics.quantiles(delays, n=20)[18]
    print(f"click to the agent's stdin, main thread asleep: p50 {statistics.median(delays):.1f} ms, p95 {p95:.1f} ms")
    assert p95 <= 50
    k.run("t.wait(20)")
    assert not view.messages("ack"), "what came by the control channel is answered there"


def test_a_repeated_click_changes_nothing(k: Kernel, view: View, control: Control) -> None:
    k.run("t = s.start('ask 1')")
    command = view.command(type="approve", request_id=view.wait_pending("k0")["request_id"], allow=True)
    before = len(k.commands())
    control.say(command)
    control.say(command)
    view.say(command)
    acks = [control.heard(), control.heard(), view.next("ack")]
    assert all(a["ok"] for a in acks)
    k.run("t.wait(20)")
    assert [c["type"] for c in k.commands()[before:]] == ["approve"]


@pytest.mark.skipif(not SUBSHELLS, reason="ipykernel 6 has no subshells: a comm waits for the cell")
def test_a_comm_on_a_subshell_is_heard_while_the_main_thread_sleeps(k: Kernel, view: View) -> None:
    subshell = k.subshell()
    view.say({"t": "hello"}, subshell)
    view.next("snapshot")
    sleeping = k.start("t = s.start('ask 1'); time.sleep(4)")
    request = view.wait_pending("k0")
    view.say(view.command(type="approve", request_id=request["request_id"], allow=True), subshell)
    assert view.next("ack")["ok"] is True
    assert not k.idle(sleeping)
    k.run("t.wait(20)")


def test_pings_are_answered_on_the_route_they_came_by(view: View, control: Control) -> None:
    control.say({"t": "ping", "n": 7})
    assert control.heard() == {"t": "pong", "n": 7}
    view.say({"t": "ping", "n": 8})
    assert view.next("pong") == {"t": "pong", "n": 8}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ({"type": "export", "path": "/etc/passwd"}, "cannot send"),
        ({"type": "fork"}, "cannot send"),
        ({"type": "list_sessions", "all": True}, "cannot send"),
        ({"type": "approve", "request_id": "k0"}, "allow"),
        ({"type": "approve", "request_id": "k0", "allow": True, "extra": 1}, "extra"),
        ({"type": "approve", "request_id": "nothing", "allow": True}, "nothing"),
        ({"type": ["approve"]}, "cannot send"),
        ({"type": "steer", "text": {"a": 1}}, "text"),
        ({"type": "steer", "text": "x", "id": ""}, "no id"),
        ({"type": "steer", "text": "x", "id": "x" * 65}, "no id"),
    ],
)
def test_what_nobody_could_click_is_refused_with_a_reason(
    k: Kernel, view: View, control: Control, command: dict[str, Any], why: str
) -> None:
    before = len(k.commands())
    control.say(view.command(**command))
    ack = control.heard()
    assert ack["ok"] is False
    assert why in ack["error"]
    assert len(k.commands()) == before


@pytest.mark.parametrize("message", [None, 1, [], "x", {}, {"t": None}, {"t": "command"}, {"t": "hello", "view": []}])
def test_what_is_no_message_changes_nothing(view: View, control: Control, message: Any) -> None:
    view.say(message)
    control.say(message)
    control.say({"t": "ping", "n": 1})
    heard = control.heard()
    if heard["t"] == "ack":
        assert heard["ok"] is False
        heard = control.heard()
    assert heard == {"t": "pong", "n": 1}


def test_a_command_for_a_view_that_is_closed_is_refused(k: Kernel, view: View, control: Control) -> None:
    k.run("w3 = live_view(s); w3.close()")
    gone = k.opened()["content"]["data"]["state"]["view_id"]
    control.say({"t": "command", "view": gone, "command": {"type": "abort", "id": "1"}})
    assert "closed" in control.heard()["error"]


def test_no_trait_is_the_browsers_to_set(k: Kernel, view: View) -> None:
    seen = len(k.published)
    view.k.say(view.comm, {"method": "update", "state": {"view_id": "evil", "_esm": "evil"}, "buffer_paths": []})
    view.say({"t": "ping", "n": 1})
    view.next("pong")
    assert k.run("print(w.view_id, 'evil' in w._esm)").split() == [view.state["view_id"], "False"]
    assert not [
        m for _, m in k.published[seen:] if m["content"].get("data", {}).get("method") in ("update", "echo_update")
    ]


def test_a_reloaded_page_gets_the_state_of_the_view_again(k: Kernel, view: View) -> None:
    view.k.say(view.comm, {"method": "request_state"})
    k.wait(lambda: any(m["content"].get("data", {}).get("method") == "update" for _, m in k.published))
    k.run("t = s.start('ask 1')")
    view.wait_pending("k0")
    seen = len(view.messages("snapshot"))
    view.say({"t": "hello"})
    assert [p["call_id"] for p in view.next("snapshot", seen)["state"]["pending"]] == ["k0"]


def test_a_view_of_a_turn_shows_that_turn_and_what_follows(k: Kernel, view: View) -> None:
    k.run("a = s.prompt('stream 1'); b = s.prompt('stream 2'); w4 = live_view(s, turn=b.number)")
    boot = k.opened()["content"]["data"]["state"]["boot"]
    number = int(k.run("print(b.number); w4.close()"))
    assert {e["turn"] for e in boot["entries"]} == {number}


def test_a_closed_view_leaves_nothing_behind(k: Kernel) -> None:
    view = View(k, "w5 = live_view(s)")
    layout = view.state["layout"].removeprefix("IPY_MODEL_")
    before = len(k.published)
    k.run("w5.close(); w5.close()")
    closed = [m["content"]["comm_id"] for _, m in k.published[before:] if m["msg_type"] == "comm_close"]
    assert sorted(closed) == sorted([view.comm, layout])
    assert (
        k.run("print(w5)").strip()
        == "An hm_jupyter session, live. Its transcript takes this place when the turn is over."
    )
    k.run("s.prompt('stream 5')")
    assert not [
        m for _, m in k.published[before:] if m["content"].get("comm_id") == view.comm and m["msg_type"] == "comm_msg"
    ]


def test_a_view_is_shown_with_a_text_that_never_changes(k: Kernel, view: View) -> None:
    k.run("from IPython.display import display; display(w.bundle(), raw=True)")
    shown = next(m["content"]["data"] for _, m in reversed(k.published) if m["msg_type"] == "display_data")
    assert set(shown) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert "0x" not in shown["text/plain"]


def test_a_missing_bundle_is_told_in_words(k: Kernel) -> None:
    said = k.run(
        "import pathlib, hm_jupyter.notebook.widget as m\n"
        "keep, m.STATIC = m.STATIC, pathlib.Path('nowhere'); m.bundle.cache_clear()\n"
        "try: live_view(s)\n"
        "except hm.HmError as e: print(e)\n"
        "finally: m.STATIC = keep; m.bundle.cache_clear()"
    )
    assert "not built" in said
    assert "npm" in said


def test_the_socket_and_its_file_go_with_the_kernel(tmp_path: Path) -> None:
    with kernel(tmp_path) as short:
        short.run("from hm_jupyter.notebook.control import control_id; print(control_id())")
        folder = short.runtime_dir / "hm_jupyter"
        assert len(list(folder.glob("*.json"))) == 1
    assert list(folder.iterdir()) == []
