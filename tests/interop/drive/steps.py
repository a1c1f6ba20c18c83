"""The steps of the scenario, each played over :class:`hm_jupyter.session.session.Session` as a person's code would.

A step gives an outcome: a short text of facts joined by commas, to be compared with ``expected.toml``. What the agent
was asked, decided and did is read from the transcript alone (and from the disk). Nothing here knows ACP.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from hm_jupyter.errors import HmError
from hm_jupyter.session.session import Session
from hm_jupyter.session.turn import Turn
from hm_jupyter.transcript import MessageEntry, NoticeEntry, PendingApproval, ToolEntry, UnknownEntry, UserEntry

from ..place import Place
from .opening import open_row

MARKERS = {
    "allow": '[[mock:shell,edit cmd="echo scripted-output" path={work}/allow.txt]]',
    "deny": '[[mock:shell cmd="touch {work}/denied.txt"]]',
    "note": '[[mock:shell cmd="touch {work}/noted.txt"]]',
    "cancel_text": "[[mock:slow]]",
    "cancel_tool": "[[mock:sleep]]",
    "cancel_ask": '[[mock:shell cmd="touch {work}/never.txt"]]',
    "busy": "[[mock:slow n=5]]",
    "busy2": "[[mock:text]]",
    "big": "[[mock:big]]",
    "load": "[[mock:text]]",
    "cut": "[[mock:slow]]",
    "cut2": "[[mock:text]]",
    "killed": "[[mock:slow]]",
}
"""What the scripted model is asked, step by step. A row without it has prompts of its own, or none for a step."""

STEPS = (
    "start", "allow", "deny", "note", "cancel_text", "cancel_tool", "cancel_ask", "busy", "mode", "model", "big",
    "closed", "load", "cut", "killed", "notices",
)  # fmt: skip

NOTHING = "n.a."


class Drive:
    """One row's session, and after ``closed`` the one that loads it again."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.row = place.row
        self.patience = place.row.patience
        self.session: Session | None = None
        self.detail = ""
        self._sent: list[str] = []
        self._seen: list[Session] = []
        self._opened = 0.0  # when the session was

    # ---- the steps -------------------------------------------------------------------------------------------------

    def start(self) -> str:
        session = self._open()
        told = [session.state.protocol or "no protocol told"]
        if mode := self.row.raw.get("mode"):
            self._wait(lambda: session.state.modes, 5)  # some tell their modes a moment after
            if session.state.mode != mode:
                session.set_mode(mode)
                self._wait(lambda: session.state.mode == mode, 5)
            told.append(f"mode {session.state.mode}")
        return ", ".join(told)

    def allow(self) -> str:
        return self._allowed("allow")

    def allow2(self) -> str:
        """A second one, where one prompt cannot have both a command and an edit."""
        return self._allowed("allow2")

    def _allowed(self, step: str) -> str:
        turn, asked = self._turn(step, allow=True)
        facts = [self._stop(turn), f"asked {len(asked)}", *self._calls(turn)]
        if any("scripted-output" in str(call.output) for call in turn.tool_calls):
            facts.append("output shown")
        made = self.place.work / "allow.txt"
        if made.exists():
            facts.append("file written" if made.read_text() == "line one\nline two\n" else "file written otherwise")
        if not turn.text:
            facts.append("no text")
        return ", ".join(facts)

    def deny(self) -> str:
        turn, asked = self._turn("deny", allow=False)
        facts = [self._stop(turn), f"asked {len(asked)}", *self._calls(turn)]
        if (self.place.work / "denied.txt").exists():
            facts.append("RUN ALL THE SAME")
        return ", ".join(facts)

    def note(self) -> str:
        """Denied with a note: it reaches the agent with the decision, or as the next message."""
        session = self._session
        before = len(session.turns)
        turn, asked = self._turn("note", allow=False, note="Please do without it.")
        facts = [self._stop(turn), f"asked {len(asked)}"]
        way = (asked[0].deny_note if asked else "") or session.capabilities.deny_note  # one request may have its own
        if way == "next_message" and asked:
            native = session.capabilities.steer_delivery == "native"  # then it is heard in this very turn
            heard = native or self._wait(
                lambda: len(session.turns) > before + 1 and session.turns[-1].done, self.patience
            )
            last = session.turns[-1]
            notes = [e for e in last.entries if isinstance(e, UserEntry) and "do without" in e.text]
            facts.append("note sent next" if heard and notes and notes[0].status == "read" else "NOTE LOST")
            facts.append(self._stop(last))
        else:
            facts.append(f"note {way}")
        if (self.place.work / "noted.txt").exists():
            facts.append("RUN ALL THE SAME")
        return ", ".join(facts)

    def cancel_text(self) -> str:
        turn = self._start("cancel_text")
        if not self._begun(turn):
            return "no text came"
        return ", ".join(self._stopped(turn))

    def cancel_tool(self) -> str:
        turn = self._start("cancel_tool")
        asked = self._until(turn, lambda: self._at_work(turn), allow=True)
        time.sleep(0.5)  # on its way is not at work: no agent tells when the command itself has begun
        facts = [f"asked {len(asked)}", *self._stopped(turn), *self._calls(turn)]
        left = self._children(["sleep 60", "time.sleep(60)"])
        return ", ".join([*facts, "command left running" if left else "command gone"])

    def cancel_ask(self) -> str:
        turn = self._start("cancel_ask")
        self._wait(lambda: turn.done or self._session.pending, self.patience)
        if turn.done:
            return f"{self._stop(turn)}, never asked"
        facts = [*self._stopped(turn), *self._calls(turn)]
        if self._session.pending:
            facts.append("STILL WAITS")
        if (self.place.work / "never.txt").exists():
            facts.append("RUN ALL THE SAME")
        return ", ".join(facts)

    def busy(self) -> str:
        """A second message while a turn runs: we hold it back, and it becomes the next turn."""
        session = self._session
        before = len(session.turns)
        turn = self._start("busy")
        self._begun(turn)
        if turn.done:
            return "over too soon"
        session.follow_up(self._words("busy2"))
        said = [e for e in session.transcript.entries.values() if isinstance(e, UserEntry) and e.turn > before]
        queued = [e for e in said if e.delivery == "follow_up"]  # read already by an agent that answers at once
        facts = [queued[0].status if queued else "not shown"]
        self._until(turn, lambda: False, allow=True)
        facts.append(self._stop(turn))
        if session.capabilities.steer_delivery == "native":  # the agent's own queue: it goes on with the same turn
            now = [e.status for e in turn.entries if isinstance(e, UserEntry) and e.delivery == "follow_up"]
            facts.append(f"same turn {now[0]}" if now and len(session.turns) == before + 1 else "A SECOND TURN")
            return ", ".join([*facts, *(["no text"] if "Hello from" not in turn.text else [])])
        if not self._wait(lambda: len(session.turns) > before + 1, self.patience):
            return ", ".join([*facts, "NO SECOND TURN"])
        second = session.turns[before + 1]
        self._until(second, lambda: False, allow=True)
        facts.append(self._stop(second))
        if not second.text:
            facts.append("no text")
        sent = [e for t in (turn, second) for e in t.entries if isinstance(e, UserEntry)]
        facts.append("+".join(f"{e.delivery} {e.status}" for e in sent))
        return ", ".join(facts)

    def mode(self) -> str:
        session = self._session
        if not session.capabilities.set_mode:
            return "cannot"
        now = session.state.mode
        facts = [f"{len(session.state.modes)} modes"]
        other = self.row.raw.get("other_mode") or next((m for m in session.state.modes if m != now), "")
        if not other:
            return ", ".join(facts)
        for mode in (other, now):
            session.set_mode(mode)
            there = self._wait(lambda mode=mode: session.state.mode == mode, 5)
            facts.append(mode if there else f"asked for {mode}, stays {session.state.mode or 'nothing'}")
        return ", ".join(facts)

    def model(self) -> str:
        session = self._session
        if not session.capabilities.set_model:
            return "cannot"
        now, models = session.state.model, session.state.models
        facts = [f"{min(len(models), 2)}{'+' if len(models) > 2 else ''} models"]
        other = self.row.raw.get("other_model") or next((m for m in models if m != now), now)
        for model in (other, now):
            if model not in session.state.models:
                continue  # an agent may not offer to go back
            session.set_model(model)
            there = self._wait(lambda model=model: session.state.model == model, 5)
            facts.append("changed" if there else f"asked for {model}, stays {session.state.model or 'nothing'}")
        return ", ".join(facts)

    def big(self) -> str:
        turn, _ = self._turn("big", allow=True)
        size = max((str(call.output).count("x") for call in turn.tool_calls), default=0)
        self.detail = f"{size:,} of 2,000,000 characters shown"
        shown = "whole" if size >= 2_000_000 else "cut" if size >= 500 else "NOT SHOWN"
        return ", ".join([self._stop(turn), f"output {shown}"])

    def closed(self) -> str:
        began = time.monotonic()
        self._session.close()
        took = time.monotonic() - began
        left = self._gone()
        self.detail = f"{took:.1f} s" + (f", left: {left}" if left else "")
        return ", ".join(["in time" if took < 9 else "LATE", "LEFT BEHIND" if left else "nothing left"])

    def load(self) -> str:
        """The same session in a new process: earlier turns are there, none of it as new, and it goes on."""
        old = self._session
        if not old.capabilities.resume:
            return "cannot"
        if self.row.raw.get("wait") == "minute" and time.time() // 60 == self._opened // 60:
            time.sleep(61 - time.time() % 60)
        session = self._open(session=old.state.session_id)
        facts = []
        self._wait(lambda: session.state.turn, 1)
        before = session.transcript.turns()
        entries = list(session.transcript.entries.values())
        said = [e.text for e in entries if isinstance(e, UserEntry)]
        spoken = [e for e in entries if isinstance(e, MessageEntry)]
        facts.append("history" if said else "history without prompts" if spoken else "no history")
        missing = [text for text in self._sent if said and not any(text.strip() in heard for heard in said)]
        if missing:
            facts.append("prompts missing")
            self.detail = f"missing: {missing[0][:60]!r} and {len(missing) - 1} more of {len(self._sent)}"
        facts.append("calls kept" if any(isinstance(e, ToolEntry) for e in entries) else "no calls")
        if any(t.status == "running" for t in before) or session.running:
            facts.append("A TURN RUNS")
        turn, _ = self._turn("load", allow=True)
        facts += [self._stop(turn), "text" if turn.text else "no text"]
        prompts = [e for e in turn.entries if isinstance(e, UserEntry)]
        if len(prompts) != 1:
            facts.append(f"PROMPT SHOWN {len(prompts)} TIMES")
        return ", ".join(facts)

    def cut(self) -> str:
        """A remote agent's server dies in mid-turn and comes back: told, and made good, without a new session of ours."""
        if self.place.server is None:
            return NOTHING
        session = self._session
        if session.closed:
            session = self._open()
        turn = self._start("cut")
        self._begun(turn, allow=True)
        if turn.done:
            return "over too soon"
        self.place.server.end()
        facts = ["offline" if self._wait(lambda: session.state.status == "offline", 10) else "NEVER NOTICED"]
        self.place.serve()
        back = self._wait(lambda: session.state.status != "offline", self.patience)
        facts.append(f"back {session.state.status}" if back else "NEVER BACK")
        self._until(turn, lambda: False, allow=True)
        facts.append(self._stop(turn))
        if session.closed:
            return ", ".join(facts)
        again, _ = self._turn("cut2", allow=True)
        facts += ["then", self._stop(again), "text" if again.text else "no text"]
        session.close()
        return ", ".join(facts)

    def killed(self) -> str:
        if self.place.server is not None:
            return NOTHING
        session = self._session
        if session.closed:
            session = self._open()
        turn = self._start("killed")
        self._begun(turn, allow=True)
        if turn.done:
            return "over too soon"
        began = time.monotonic()
        os.kill(self._pid(session), signal.SIGKILL)
        if not self._wait(lambda: turn.done, self.patience):
            return "NEVER NOTICED"
        took = time.monotonic() - began
        facts = [self._stop(turn), "at once" if took < 3 else f"after {took:.0f} s", *self._calls(turn)]
        try:
            session.prompt("again", timeout=5)
            facts.append("TAKES PROMPTS")
        except HmError as error:
            facts.append(type(error).__name__)
        session.close()
        if self._gone():
            facts.append("LEFT BEHIND")
        return ", ".join(facts)

    def notices(self) -> str:
        """What the transcripts hold of notices and of messages not understood: what it is, is written down too."""
        found: list[str] = []
        for session in self._seen:
            for entry in session.transcript.entries.values():
                if isinstance(entry, NoticeEntry) and "was killed (signal 9)" not in entry.text:  # we did that
                    found.append(" ".join(entry.text.split())[:110])
                elif isinstance(entry, UnknownEntry):
                    found.append(f"unknown {entry.name}")
                elif isinstance(entry, MessageEntry) and entry.open:
                    found.append("a message was left open")
        ended = [e for s in self._seen for e in s.transcript.entries.values() if isinstance(e, ToolEntry)]
        if any(call.status in ("drafting", "pending", "running", "paused") for call in ended):
            found.append("a call was left open")
        return " | ".join(dict.fromkeys(found)) or "none"

    # ---- beneath ---------------------------------------------------------------------------------------------------

    def has(self, step: str) -> bool:
        """Is there anything to ask this agent for that step?"""
        prompts = self.row.raw.get("prompts")
        if step == "allow2" or (prompts is not None and step in MARKERS):
            return step in (prompts or {})
        return True

    def end(self) -> None:
        for session in self._seen:
            session.close()

    @property
    def _session(self) -> Session:
        assert self.session is not None, "the session never started"
        return self.session

    def _open(self, **options: Any) -> Session:
        self.session = open_row(self.place, **options)
        self._seen.append(self.session)
        self._opened = time.time()
        return self.session

    def _words(self, step: str) -> str:
        prompts = self.row.raw.get("prompts")
        return self.place.fill((MARKERS if prompts is None else prompts)[step])

    def _start(self, step: str) -> Turn:
        words = self._words(step)
        self._sent.append(words)
        return self._session.start(words, unattended=False)

    def _turn(self, step: str, *, allow: bool, note: str = "") -> tuple[Turn, list[PendingApproval]]:
        turn = self._start(step)
        return turn, self._until(turn, lambda: False, allow=allow, note=note)

    def _until(
        self, turn: Turn, reached: Callable[[], object], *, allow: bool, note: str = ""
    ) -> list[PendingApproval]:
        """Decide what waits until the turn is over or something is reached; gives what was asked."""
        asked: list[PendingApproval] = []
        deadline = time.monotonic() + self.patience
        while not turn.done and not reached() and time.monotonic() < deadline:
            for request in self._session.pending:
                if isinstance(request, PendingApproval) and request.state == "waiting":
                    asked.append(request)
                    self._session.approve(request.request_id, allow=allow, note=note)
                    deadline = time.monotonic() + self.patience
            time.sleep(0.02)
        return asked

    def _stopped(self, turn: Turn) -> list[str]:
        began = time.monotonic()
        self._session.abort()
        if not self._wait(lambda: turn.done, self.patience):
            return ["NEVER STOPPED"]
        took = time.monotonic() - began
        self.detail = f"stopped in {took:.1f} s"
        return [self._stop(turn), "soon" if took < 4 else "late"]

    def _stop(self, turn: Turn) -> str:
        if not turn.done:
            return "HANGS"
        if turn.error:
            self.detail = turn.error[:200]
        return str(turn.stop_reason)

    def _calls(self, turn: Turn) -> list[str]:
        return [f"{call.category} {call.status}" for call in turn.tool_calls]

    def _begun(self, turn: Turn, *, allow: bool = False) -> bool:
        """Wait until the turn shows something; for agents that say all they say at once, not so long (``early``)."""
        if not self.row.raw.get("early"):
            seen = lambda: turn.entries[2:] or (not allow and self._session.pending)  # noqa: E731
            self._until(turn, seen, allow=allow) if allow else self._wait(lambda: turn.done or seen(), self.patience)
            return turn.done or bool(seen())
        return True

    def again(self) -> None:
        """Another session in the place of the one that is open."""
        self._session.close()
        self._sent.clear()
        self._open()

    def _at_work(self, turn: Turn) -> bool:
        """A call is being carried out: one that was allowed, or that runs and is not asked about."""
        calls = turn.tool_calls
        if any(c.decision is not None and c.decision.outcome == "allowed" for c in calls):
            return True
        running = [c for c in calls if c.status == "running"]
        return bool(running) and not self._wait(lambda: self._session.pending, 3)

    def _wait(self, condition: Callable[[], object], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _children(self, needles: list[str]) -> list[str]:
        """Commands of this row that still run a second later and hold one of the needles."""
        self._wait(lambda: not any(n in c for c in self.place.left_behind() for n in needles), 1.5)
        return [c for c in self.place.left_behind() if any(n in c for n in needles)]

    def _gone(self) -> list[str]:
        """What of this row still runs, helpers not counted, once it had a moment to end."""
        self._wait(lambda: not self.place.left_behind(), 2)
        return self.place.left_behind()

    def _pid(self, session: Session) -> int:
        pid = getattr(session.controller.transport, "pid", None)
        assert isinstance(pid, int), "the agent is no process of ours"
        return pid


__all__ = ["NOTHING", "STEPS", "Drive"]
