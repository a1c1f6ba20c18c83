"""Carries out what an agent wants done on our side: files and commands of the workspace, each with leave.

Joins three things that do not know each other: the adapter's host calls, :mod:`hm_jupyter.workspace`, which does them,
and the session's approvals. What is not covered by an approval of the agent's (:mod:`.leave`) is asked by a request of
our own, decided by the same ``Approve`` command, policies included.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from .. import commands as cmd
from .. import events as ev
from ..protocols.base import HostCall, HostFailure, Step
from ..transcript import ToolEntry
from ..workspace import files
from ..workspace.command import Command, understand
from ..workspace.refused import Refused
from ..workspace.roots import Roots, guarded, secret
from ..workspace.terminals import Terminals
from .altered import Altered
from .asking import STOPPED, Asking
from .at_work import AtWork
from .cards import OWN, Cards
from .leave import COMMAND_RULE, WRITE_RULE, Leave, leads_to
from .offering import Offering
from .runtime import beside
from .state import running_turn

if TYPE_CHECKING:
    from .controller import Controller

log = logging.getLogger("hm_jupyter")

T = TypeVar("T")

THREADS = 8
"""Files looked at at once."""


class Hosting:
    """One session's. ``roots``: the workspace's folders; with none, the session's root."""

    def __init__(self, controller: Controller, roots: Iterable[str] = ()) -> None:
        self._controller = controller
        self._folders = list(roots)
        self._leave = Leave()
        self._altered = Altered()
        self._cards = Cards(controller)
        self._terminals = Terminals()
        self._calls: dict[str, anyio.CancelScope] = {}
        self._asking = Asking(controller)
        self._stopping = False  # the turn was stopped, and no other has begun
        self._closed = False
        self._threads = anyio.Semaphore(THREADS)
        self._work = AtWork(controller, self._cards)
        self.offering = Offering(controller, self._asking, self._cards)
        self._do: dict[str, Callable[[HostCall], Awaitable[dict[str, Any]]]] = {
            "read_file": self._read_file,
            "write_file": self._write_file,
            "terminal_create": self._terminal_create,
            "terminal_output": self._terminal_output,
            "terminal_wait": self._terminal_wait,
            "terminal_kill": self._terminal_kill,
            "terminal_release": self._terminal_release,
            "tool": self.offering.tool,
            "uri_read": self.offering.uri_read,
            "uri_write": self.offering.uri_write,
        }

    async def _beside(self, do: Callable[..., T], *args: Any) -> T:
        """In a thread, for it may have to wait for a disk; a few at a time, whatever an agent asks for at once."""
        async with self._threads:
            return await beside(do, *args)

    async def _roots(self) -> Roots:
        """Where the agent may reach."""
        root = self._controller.transcript.state.root
        return await self._beside(Roots, self._folders or ([root] if root else []))

    # ---- from the controller ---------------------------------------------------------------------------------------

    def take(self, call: HostCall) -> None:
        """Begin a call; :meth:`.protocols.base.Adapter.host_done` follows, unless it is dropped."""
        scope = self._calls[call.id] = anyio.CancelScope()
        self._controller.start_soon(self._carry_out, call, scope)

    def drop(self, call_id: str) -> None:
        """The agent does not wait for it any more; what was asked for it is taken back."""
        scope = self._calls.get(call_id)
        if scope is not None:
            self._asking.settle(OWN + call_id, "withdrawn")
            scope.cancel()

    def answer(self, command: cmd.Command) -> Step | None:
        """What a command that is for us leads to; None: it is for the agent. Raises ``NotSupported``."""
        if self._asking.owns(command):
            return self._asking.decide(command)
        wanted = self._work.named(command)
        for process in wanted:
            process.stop()
        return Step([ev.CommandAnswered(command.id, True)]) if wanted else None

    def sent(self, command: cmd.Command) -> None:
        """A command went to the agent. Stop stops what runs here for this turn, too."""
        if isinstance(command, cmd.Abort) and running_turn(self._controller.transcript) is not None:
            self._stopping = True
            self._end_turn_work()

    def saw(self, event: ev.Event) -> None:
        """Something happened in the session (not called for streamed text)."""
        if isinstance(event, ev.ApprovalRequested):
            if not event.request_id.startswith(OWN):
                entry = self._controller.transcript.tool(event.call_id)
                self._leave.asked(event, entry.diffs if isinstance(entry, ToolEntry) else ())
                self._altered.asked(event)
        elif isinstance(event, ev.ToolCallUpdated):
            self._cards.saw(event)
            notice = self._altered.saw(event)
            if notice is not None:
                self._controller.feed(notice)
        elif isinstance(event, ev.ApprovalResolved):
            self._leave.decided(event)
        elif isinstance(event, ev.TurnStarted):
            self._stopping = False
        elif isinstance(event, ev.TurnEnded):
            if event.stop_reason not in ("end_turn", "max_tokens", "max_steps"):
                self._end_turn_work()
            self._stopping |= event.stop_reason == "cancelled"  # an agent may go on with it all the same
            self._work.turn_over()
            self._leave.turn_over()
            self._altered.turn_over()
            self._asking.settle_all(told=True)  # the turn's end has taken them down already

    def stop(self) -> None:
        """The session ends: nothing waits any more, every command is told to end."""
        self._closed = True
        self._asking.settle_all()
        self._terminals.stop()

    async def close(self) -> None:
        """:meth:`stop`, and wait until nothing of it runs. Bounded."""
        self.stop()
        await self._terminals.close()

    def _end_turn_work(self) -> None:
        self._asking.settle_all()
        self._work.stop_turn()

    # ---- a call ----------------------------------------------------------------------------------------------------

    async def _carry_out(self, call: HostCall, scope: anyio.CancelScope) -> None:
        result: dict[str, Any] | HostFailure
        try:
            with scope:
                do = self._do.get(call.name)
                if do is None:
                    raise Refused("invalid", f"There is no {call.name!r} here.")
                result = await do(call)
        except Refused as refused:
            result = HostFailure(refused.kind, refused.message)
        except Exception as error:  # a fault of ours must not end the session
            log.exception("host call %s failed", call.name)
            result = HostFailure("failed", f"It failed on our side: {type(error).__name__}.")
        finally:
            self._calls.pop(call.id, None)
        if not scope.cancel_called:
            self._controller.carry_on(self._controller.adapter.host_done(call.id, result))

    async def _read_file(self, call: HostCall) -> dict[str, Any]:
        roots = await self._roots()
        path = await self._beside(roots.locate, call.args.get("path"))
        if secret(path) or secret(str(call.args["path"])):
            self._refuse_when_stopping()
            await self._asking.ask(
                call, self._cards.own(call), tool="read_file", category="read", summary=roots.name(path),
                paths=[str(path)], reason="a file of this name mostly holds secrets, and the agent is given what it holds",
            )  # fmt: skip
        return {"content": await self._reported(call, files.read, path, call.args.get("line"), call.args.get("limit"))}

    async def _write_file(self, call: HostCall) -> dict[str, Any]:
        roots = await self._roots()
        path = await self._beside(roots.locate, call.args.get("path"))
        content = call.args.get("content")
        if not isinstance(content, str):
            raise Refused("invalid", "content is no text.")
        self._refuse_when_stopping()
        before = await self._beside(files.text_of, path)
        if content == before:
            return {}
        places = await self._beside(_places, roots, [*self._leave.named(), *self._cards.named()])
        shown = self._leave.for_write(path, before, content, places.get)
        card = self._cards.now(shown.call_id) if shown else self._cards.of_edit(path, places.get)
        diff = ev.FileDiff(str(call.args["path"]), before, content)

        def mine(diffs: Iterable[ev.FileDiff]) -> list[ev.FileDiff]:
            return [one for one in diffs if one.path == diff.path or places.get(one.path) == path]

        if shown is None:
            card = await self._leave_to_write(call, card, roots.name(path), diff, path)
        self._refuse_when_stopping()
        self._cards.shows_change(self._cards.now(card), diff, lambda diffs: leads_to(mine(diffs), before, content))
        await self._reported(call, files.write, path, content, before)
        return {}

    async def _leave_to_write(self, call: HostCall, card: str, name: str, diff: ev.FileDiff, path: Path) -> str:
        """Leave by the session's rule, or by asking; the card it is shown on."""
        own = card or self._cards.own(call)
        careful = guarded(path) or guarded(diff.path)
        if self._leave.writes and not careful:
            if not card:
                self._cards.begin(own, "write_file", name, "edit", diffs=[diff])
            return own
        request = await self._asking.ask(
            call, own, tool="write_file", category="edit", summary=name, paths=[str(path)], diffs=[diff],
            rule="" if careful else WRITE_RULE,
            reason="what is in a file of this name is mostly secret, or run by other programs" if careful else "",
        )  # fmt: skip
        self._leave.writes |= request.for_session
        return own

    async def _reported(self, call: HostCall, do: Callable[..., Any], *args: Any) -> Any:
        """Do it in a thread; on a card of our own say how it went."""
        try:
            found = await self._beside(do, *args)
        except Refused as refused:
            self._cards.end(self._cards.own(call), "failed", output=refused.message)
            raise
        self._cards.end(self._cards.own(call), "completed")
        return found

    async def _terminal_create(self, call: HostCall) -> dict[str, Any]:
        self._refuse_when_stopping()
        roots = await self._roots()
        command = await self._beside(understand, roots, call.args)
        folders = {**await self._beside(_folders, self._leave.folders()), "": roots.cwd}
        shown = self._leave.for_command(command, lambda folder: folders.get(folder) == command.cwd)
        card = str(call.args.get("call_id") or "") or (shown.call_id if shown else self._cards.of_command(command))
        if shown is None and not self._leave.by_rule(command, in_root=command.cwd == roots.cwd):
            card = await self._leave_to_run(call, card, command)
        self._refuse_when_stopping()
        card = self._cards.now(card)
        if not card or self._controller.transcript.tool(card) is None:
            card = self._cards.own(call)
            told = {"command": command.line, "cwd": str(command.cwd)}
            self._cards.begin(card, "terminal", command.line, "shell", input=told)
        self._cards.shows_command(card, command)
        terminal_id = str(call.args.get("terminal_id") or call.id)
        try:
            process = await self._terminals.create(terminal_id, command)
        except Refused as refused:
            self._cards.end(card, "failed", output=refused.message)
            raise
        self._work.begin(terminal_id, process, card, command.line)
        if self._stopping:  # meanwhile
            process.stop()
        return {}

    async def _leave_to_run(self, call: HostCall, card: str, command: Command) -> str:
        """Ask for leave; the card it is shown on."""
        card = card or self._cards.own(call)
        given = {name: _told(name, command.env[name]) for name in command.risky}
        risky = ", ".join(f"{name}={value}" for name, value in given.items())
        request = await self._asking.ask(
            call, card, tool="terminal", category="shell", summary=command.line, command=command.line,
            cwd=str(command.cwd), input={"command": command.line, "cwd": str(command.cwd), **({"env": given} if given else {})},
            rule="" if risky else COMMAND_RULE,
            reason=f"it is given variables that may change what the line does: {risky}" if risky else "",
        )  # fmt: skip
        if request.for_session:
            self._leave.keep_command(command)
        return card

    async def _terminal_output(self, call: HostCall) -> dict[str, Any]:
        return self._terminals.output(_terminal(call))

    async def _terminal_wait(self, call: HostCall) -> dict[str, Any]:
        return (await self._terminals.wait(_terminal(call))).to_json()

    async def _terminal_kill(self, call: HostCall) -> dict[str, Any]:
        self._terminals.kill(_terminal(call))
        return {}

    async def _terminal_release(self, call: HostCall) -> dict[str, Any]:
        self._terminals.release(_terminal(call))
        return {}

    def _refuse_when_stopping(self) -> None:
        if self._stopping or self._closed:
            raise Refused("cancelled", STOPPED)


def _places(roots: Roots, names: Iterable[str]) -> dict[str, Path]:
    """Those of the named paths that are in the workspace, resolved (may block)."""
    found = {}
    for name in names:
        try:
            found[name] = roots.locate(name)
        except Refused:
            continue
    return found


def _folders(names: Iterable[str]) -> dict[str, Path]:
    """Folders as approvals wrote them, resolved (may block)."""
    return {name: Path(name).resolve() for name in names if "\0" not in name}


def _told(name: str, value: str) -> str:
    """A variable's value for people, whole, unless it is a secret (and not the program that asks for one)."""
    return "…" if re.search("(_|^)(TOKEN|SECRET|KEY|PASSWORD)$", name, re.IGNORECASE) else repr(value)


def _terminal(call: HostCall) -> str:
    return str(call.args.get("terminal_id"))
