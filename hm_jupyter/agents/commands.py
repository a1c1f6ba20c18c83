"""What each command does, and its one response.

Source: hm RPC, "Commands". Imported once the session is announced: the checked shapes of the commands take a while to
build.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..protocols import hm_wire as wire
from . import saved
from .approvals import Decision, EditedFile
from .images import NotAnImage, picture
from .messages import Message
from .providers import UnknownModel, make_model
from .serve import Agent
from .session import now
from .stdio import MAX_LINE, parse_line

NO_ANSWER_YET = object()
"""Returned by a command that answers later."""


class Refusal(Exception):
    """A command fails; the text goes into its response."""


def answer(agent: Agent, line: bytes | None) -> None:
    """Carry out the command in ``line`` (None: it was too long) and respond."""
    try:
        if line is None:
            raise Refusal(f"that line is too long; send at most {MAX_LINE // 2**20} MiB a line")
        value = parse_line(line)
    except Refusal as refusal:
        _respond(agent, None, "", error=str(refusal))
        return
    except ValueError:
        _respond(agent, None, "", error=wire.NOT_JSON)
        return
    id, name = wire.command_head(value)
    try:
        command = wire.parse_hm_command(value)
        data = _HANDLERS[type(command)](agent, command)
    except (Refusal, UnknownModel, ValueError) as refusal:
        _respond(agent, id, name, error=str(refusal))
        return
    if data is not NO_ANSWER_YET:
        _respond(agent, id, name, data=data)


def _respond(agent: Agent, id: Any, command: str, *, error: str | None = None, data: Any = None) -> None:
    agent.send(wire.response(agent.session.id, now(), id=id, command=command, error=error, data=data))


def _message(command: wire.HmPrompt | wire.HmSteer | wire.HmFollowUp) -> Message:
    try:
        images = [picture(i.data) for i in command.images]
    except NotAnImage as error:
        raise Refusal(str(error)) from None
    return Message("", "user", command.text, delivery=command.type, images=images)


# ---- turns ----


def _prompt(agent: Agent, command: wire.HmPrompt) -> None:
    if agent.running:
        raise Refusal(wire.TURN_RUNNING)
    if agent.compaction is not None:
        raise Refusal("the context is being summarised; wait for compaction_end or send abort first")
    agent.begin(_message(command))


def _steer(agent: Agent, command: wire.HmSteer) -> None:
    agent.host.steers.append(_message(command))
    agent.crew.poke()


def _follow_up(agent: Agent, command: wire.HmFollowUp) -> None:
    message = _message(command)
    if agent.busy:
        agent.host.follow_ups.append(message)
    else:  # there is no end to wait for: the step starts now
        agent.begin(message)


def _abort(agent: Agent, command: wire.HmAbort) -> None:
    agent.stop()


# ---- leave and answers ----


def _approve(agent: Agent, command: wire.HmApprove) -> None:
    plan = agent.host.desk.planned(command.call_id)
    if plan is None:
        raise Refusal(wire.not_waiting_for_approval(command.call_id))
    edits = None
    if command.allow and command.edits is not None:
        if not plan.changes:
            raise Refusal("edits are for a call that changes files; this one does not. Allow or refuse it whole")
        edits = [EditedFile(e.path, e.content) for e in command.edits]
    decision = Decision(command.allow, "user", command.note, command.for_session, edits)
    agent.host.desk.decide(command.call_id, decision)


def _answer(agent: Agent, command: wire.HmAnswer) -> None:
    if not agent.host.desk.answer(command.call_id, command.text):
        raise Refusal(wire.not_waiting_for_answer(command.call_id))


# ---- settings ----


def _set_mode(agent: Agent, command: wire.HmSetMode) -> None:
    known = agent.host.modes
    if command.mode not in known:
        raise Refusal(f"there is no mode {command.mode[:60]!r}; the modes are {', '.join(known)}")
    agent.session.mode = command.mode
    agent.session.set_changed()


def _set_model(agent: Agent, command: wire.HmSetModel) -> None:
    s = agent.session
    provider = command.provider or s.provider
    # Another provider does not know the old one's model: left out then means its configured one.
    model = command.model if command.model is not None else s.model if provider == s.provider else ""
    try:
        make_model(provider, model)
    except UnknownModel as error:
        raise Refusal(str(error)) from None
    s.provider, s.model = provider, model
    if command.effort is not None:
        s.effort = command.effort
    s.set_changed()


# ---- the session ----


def _get_state(agent: Agent, command: wire.HmGetState) -> dict[str, Any]:
    desk = agent.host.desk
    return {
        "session": agent.session.to_json(running=agent.running, status=agent.status),
        "running": agent.running,
        "pending_approvals": desk.approvals,
        "pending_questions": desk.questions,
    }


def _list_sessions(agent: Agent, command: wire.HmListSessions) -> dict[str, Any]:
    return {"sessions": saved.listed(None if command.all else agent.session.workspace.root)}


def _get_history(agent: Agent, command: wire.HmGetHistory) -> dict[str, Any]:
    return agent.session.told(command.before, command.limit)


def _fork(agent: Agent, command: wire.HmFork) -> dict[str, Any]:
    if agent.busy:
        raise Refusal(wire.ONLY_WHEN_IDLE)
    try:
        fork = agent.session.forked(command.entry)
    except KeyError:
        raise Refusal(
            f"this session has no entry {command.entry[:60]!r}; leave it out to fork from the latest message"
        ) from None
    agent.session.journal.close()
    agent.session = agent.host.session = fork
    if fork.journal.saved:  # else they stay: both are of this process alone
        agent.host.outputs = None
    agent.announce()
    return fork.to_json(running=False, status="idle")


def _export(agent: Agent, command: wire.HmExport) -> dict[str, Any]:
    try:
        from .export import export_session  # brings what writes html, which a session may never need

        path, redacted = export_session(agent.session, command.format, command.path, command.all_branches)
    except ValueError as error:
        raise Refusal(str(error)) from None
    return {"path": str(path), "redacted": redacted}


def _compact(agent: Agent, command: wire.HmCompact) -> object:
    if agent.busy:
        raise Refusal(wire.ONLY_WHEN_IDLE)
    agent.compact(command.focus, lambda error: _respond(agent, command.id, command.type, error=error))
    return NO_ANSWER_YET


_HANDLERS: dict[type, Callable[[Agent, Any], Any]] = {
    wire.HmPrompt: _prompt,
    wire.HmSteer: _steer,
    wire.HmFollowUp: _follow_up,
    wire.HmAbort: _abort,
    wire.HmApprove: _approve,
    wire.HmAnswer: _answer,
    wire.HmSetMode: _set_mode,
    wire.HmSetModel: _set_model,
    wire.HmCompact: _compact,
    wire.HmGetState: _get_state,
    wire.HmListSessions: _list_sessions,
    wire.HmFork: _fork,
    wire.HmExport: _export,
    wire.HmGetHistory: _get_history,
}
