"""What the scripted model makes of a conversation: which script is on, where it is, what has happened since. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from ..messages import Message
from .scenario import Scenario, Script, Step

_DONE = Step(text="Done.")
_REFUSED = "You did not allow it, so I leave it there: nothing of it was run or changed."
_FAILED = "That did not work, so I stop here:"


class View:
    """The conversation since the prompt that is being worked on."""

    def __init__(self, scenario: Scenario, history: Sequence[Message]) -> None:
        self._scenario = scenario
        prompts = (i for i, m in enumerate(history) if m.role == "user" and m.delivery not in ("steer", "agent"))
        begin = max(prompts, default=0)
        self._since = list(history[begin:])
        self._prompt = history[begin] if history else Message("", "user")
        self._last = max((i for i, m in enumerate(self._since) if m.role == "assistant"), default=-1)
        self._script, self.script_index, self._groups = self._find()

    def _find(self) -> tuple[Script, int, re.Match[str]]:
        for index, script in enumerate(self._scenario.scripts):
            match = script.match.search(self._prompt.text)
            if match:
                return script, index, match
        raise AssertionError("the default scripts match everything")

    def index_of(self, step: Step) -> int:
        """The step's number in its script; what is made up on the spot comes after the last one."""
        return next((i for i, s in enumerate(self._script.steps) if s is step), len(self._script.steps))

    # ---- what happened ----

    def _results(self, name: str = "") -> list[Message]:
        """The results of the newest step, or of the newest step called ``name``."""
        at = self._last
        if name:
            at = next((i for i in range(at, -1, -1) if self._step_name(self._since[i]) == name), -1)
        out: list[Message] = []
        for message in self._since[at + 1 :] if at >= 0 else []:
            if message.role == "assistant":
                break
            if message.role == "tool":
                out.append(message)
        return out

    def _step_name(self, message: Message) -> str:
        private = message.private or {}  # of another provider's, if the model was changed: it has no step
        number = private.get("step", -1) if message.role == "assistant" else -1
        return self._script.steps[number].name if 0 <= number < len(self._script.steps) else ""

    @cached_property
    def _new_steers(self) -> list[str]:
        return [m.text for m in self._since[self._last + 1 :] if m.role == "user" and m.delivery == "steer"]

    @cached_property
    def _agents(self) -> list[str]:
        """What sub-agents have answered, the newest last."""
        return [m.text for m in self._since if m.role == "user" and m.delivery == "agent"]

    @property
    def _new_agents(self) -> bool:
        return any(m.delivery == "agent" for m in self._since[self._last + 1 :])

    # ---- what comes next ----

    def next_step(self) -> tuple[Step, str]:
        """The step to play, and what to say before its text."""
        steps = self._script.steps
        for step in steps:
            wanted = step.when.get("steer")
            if wanted is not None and any(re.search(wanted, s) for s in self._new_steers):
                return step, ""
        preface = ""
        if self._new_steers:
            preface = f"I have read “{self._new_steers[-1]}”, but this script has no branch for it.\n\n"
        if self._last >= 0 and not self._since[self._last].calls and not self._new_agents:  # it had come to its end
            return (Step(), preface) if preface else (_DONE, "")
        for step in steps[self._begin() :]:
            if "steer" not in step.when and self._holds(step):
                return step, preface
        denied = [m for m in self._results() if m.outcome == "denied"]
        if denied:
            note = denied[-1].note
            return Step(text=f"{_REFUSED} You said: “{note}”." if note else _REFUSED), preface
        failed = next((m.text for m in self._results() if m.is_error and m.outcome == "done"), "")
        return (Step(text=f"{_FAILED} {failed.splitlines()[0]}") if failed else _DONE), preface

    def _begin(self) -> int:
        """Where to look for the next step."""
        if self._last < 0:
            return 0
        private = self._since[self._last].private
        if not private or private.get("script") != self.script_index:
            return 0
        steps = self._script.steps
        at = int(private["step"])
        if at < len(steps) and steps[at].next:
            name = steps[at].next
            return next((i for i, s in enumerate(steps) if s.name == name), len(steps))
        return at + 1

    def _holds(self, step: Step) -> bool:
        when = step.when
        results = self._results()
        if "call" in when:
            results = results[when["call"] - 1 : when["call"]]
        denied = any(m.outcome == "denied" for m in results)
        if "after" in when and (self._last < 0 or self._step_name(self._since[self._last]) != when["after"]):
            return False
        if when.keys() <= {"after", "call"}:
            return not denied
        tests: dict[str, Callable[[], bool]] = {
            "denied": lambda: denied is when["denied"],
            "ok": lambda: (bool(results) and not any(m.is_error for m in results)) is when["ok"] and not denied,
            "agent": lambda: any(re.search(when["agent"], a) for a in self._agents) and not denied,
            "note": lambda: any(re.search(when["note"], m.note) for m in results),
            "answer": lambda: any(m.answer and re.search(when["answer"], m.answer) for m in results),
            "output": lambda: any(re.search(when["output"], m.text) for m in results),
            "left_out": lambda: any(re.search(when["left_out"], f) for m in results for f in m.skipped_files),
        }
        return all(test() for key, test in tests.items() if key in when)

    # ---- what placeholders mean ----

    def known(self) -> dict[str, str]:
        """Every placeholder and its text."""
        known = {"prompt": self._prompt.text, "prompts": "\n".join(f"- {e}" for e in self._scenario.examples)}
        known["match.0"] = self._groups[0]
        for number, group in enumerate(self._groups.groups(), 1):
            known[f"match.{number}"] = group or ""
        steers = [m.text for m in self._since if m.role == "user" and m.delivery == "steer"]
        known["steer"] = steers[-1] if steers else ""
        known["agent"] = self._agents[-1].partition("\n\n")[2] if self._agents else ""
        tools = [m for m in self._since if m.role == "tool"]
        known["answer"] = next((m.answer for m in reversed(tools) if m.answer), "")
        known["note"] = next((m.note for m in reversed(tools) if m.note), "")
        known["images"] = ", ".join(f"{p.mime} {p.width} × {p.height}" for p in self._prompt.images)
        names = {s.name for s in self._script.steps if s.name}
        for name in ("", *names):
            for number, message in enumerate(self._results(name), 1):
                known[f"{name or 'result'}.{number}.text"] = message.text
        return known
