"""Is a command possible now? Pure; raises the error that says what to do instead."""

from __future__ import annotations

from .. import commands as cmd
from ..errors import NotSupported, NotWaiting, TransportError, TurnRunning, UsageError
from ..events import ApprovalOption, Capabilities
from ..transcript import Pending, PendingApproval, PendingQuestion, QuestionEntry, ToolEntry, Transcript
from .state import call_entry, pending_request, running_turn

NEEDS: dict[type, tuple[str, str]] = {
    cmd.Steer: ("steer", "be steered"),
    cmd.FollowUp: ("follow_up", "queue a follow-up"),
    cmd.SetMode: ("set_mode", "change its mode"),
    cmd.SetModel: ("set_model", "change its model"),
    cmd.Compact: ("compact", "compact its context"),
    cmd.GetState: ("state", "tell its state"),
    cmd.ListSessions: (
        "list_sessions",
        "list its sessions: if you know the id of one, try %hm resume ID or s.resume(ID)",
    ),
    cmd.Fork: ("fork", "fork a session"),
    cmd.Export: ("export", "export a session (s.export() does, from the transcript)"),
    cmd.SetOption: ("options", "be set by options"),
    cmd.CancelWork: ("cancel_work", "stop one call alone: abort() stops the turn"),
    cmd.CloseSession: ("close_session", "close a session of its own: s.close() ends this one with its agent"),
    cmd.DeleteSession: ("delete_session", "delete its sessions"),
    cmd.SignIn: ("sign_in", "sign anybody in: it offers no way to"),
    cmd.SignOut: ("sign_out", "sign anybody out"),
    cmd.CallAgent: ("raw_calls", "be sent requests as they are"),
}


def check(command: cmd.Command, t: Transcript, can: Capabilities) -> None:
    """Raise ``NotSupported``, ``TransportError``, ``TurnRunning`` or ``NotWaiting`` for what cannot be done now."""
    # A stop is kept until the connection is back, and a decision on what still waits is worth its try.
    if t.state.link and not isinstance(command, (cmd.Abort, cmd.Approve, cmd.Answer)):
        raise TransportError(reconnecting(t))
    need = NEEDS.get(type(command))
    if need and not getattr(can, need[0]):
        raise NotSupported(f"{t.state.agent} cannot {need[1]}.")
    if isinstance(command, (cmd.Prompt, cmd.Steer, cmd.FollowUp)) and command.images and not can.images:
        raise NotSupported(f"{t.state.agent} takes no images: describe them, or use an agent that does.")
    if isinstance(command, cmd.Prompt) and running_turn(t) is not None:
        raise TurnRunning("A turn is running: steer it, queue a follow-up, stop it, or wait for its end.")
    if isinstance(command, (cmd.Approve, cmd.Answer)):
        _check_waiting(command, t)
    if isinstance(command, cmd.Approve) and command.option_id:
        _check_option(command, t)
    if isinstance(command, cmd.Answer) and not command.skip:
        _check_form(command, t)
    if isinstance(command, cmd.Approve) and command.edits is not None and not can.edits:
        raise NotSupported(f"{t.state.agent} cannot apply your edits: deny with a note that says what to change.")


def reconnecting(t: Transcript) -> str:
    """That the agent is out of reach at the moment, and what to do."""
    return (
        f"The connection to {t.state.agent} is lost and is being made again ({t.state.link.rstrip('.')}). Try again when it "
        "is there; if it stays away: %hm stop, then %hm start and %hm resume, or connect(…, session="
        f"{t.state.session_id!r}) from Python."
    )


def resolve(command: cmd.Command, t: Transcript) -> cmd.Command:
    """A decision may name its request by call id; the wire needs the request's own."""
    if isinstance(command, (cmd.Approve, cmd.Answer)):
        request = pending_request(t.state, command.request_id)
        if request is not None and request.request_id != command.request_id:
            return command.model_copy(update={"request_id": request.request_id})
    return command


def option_of(request: Pending | None, wanted: str) -> ApprovalOption:
    """The option of an approval by its id or name. Raises ``UsageError``, also where it is the id of one and the name of
    another (the agent chooses both); a request that is gone is ``NotWaiting``."""
    if not isinstance(request, PendingApproval):
        raise NotWaiting("That call does not wait for a decision (see s.pending, %hm pending).")
    found = [o for o in request.options if wanted in (o.id, o.name)]
    if len(found) == 1:
        return found[0]
    if found and all(o.id == wanted and o.kind == found[0].kind for o in found):
        return found[0]  # whichever of them, the answer is the same
    offered = ", ".join(f"{o.id} ({o.name})" for o in request.options) or "none: allow or deny it"
    raise UsageError(f"{request.call_id} has no option {wanted!r}; it has {offered}.")


def _check_option(command: cmd.Approve, t: Transcript) -> None:
    """An option must be one of the request's own, and mean what the command says: never is one read as approval."""
    request = pending_request(t.state, command.request_id)
    named = [o for o in request.options if o.id == command.option_id] if isinstance(request, PendingApproval) else []
    option = named[0] if named else option_of(request, command.option_id)
    if option.kind.startswith("allow") != command.allow:
        means = "allows" if option.kind.startswith("allow") else "denies"
        raise UsageError(f"The option {option.id!r} {means} the call, which is not what was decided.")


def _check_form(command: cmd.Answer, t: Transcript) -> None:
    request = pending_request(t.state, command.request_id)
    if not isinstance(request, PendingQuestion) or (len(request.form) == 1 and command.fields is None):
        return  # a form of one field may be answered by a text
    if bool(request.form) != (command.fields is not None):
        how = "by its fields: s.answer(fields={…})" if request.form else "with a text: it is no form"
        raise UsageError(f"Answer {request.call_id} {how}.")


def _check_waiting(command: cmd.Approve | cmd.Answer, t: Transcript) -> None:
    request = pending_request(t.state, command.request_id)
    wanted, what = (
        (PendingApproval, "an approval") if isinstance(command, cmd.Approve) else (PendingQuestion, "an answer")
    )
    if isinstance(request, wanted) and request.state == "waiting":
        return
    if isinstance(request, wanted):
        raise NotWaiting(f"A decision on {command.request_id} is on its way already.")
    if request is not None:
        kind = (
            "an answer: use answer()"
            if isinstance(request, PendingQuestion)
            else "an approval: use approve() or deny()"
        )
        raise NotWaiting(f"{command.request_id} waits for {kind}.")
    entry = call_entry(t, command.request_id)
    if isinstance(entry, ToolEntry) and entry.decision is not None:
        raise NotWaiting(f"{command.request_id} was {entry.decision.outcome} already.")
    if isinstance(entry, QuestionEntry):
        raise NotWaiting(f"The question {command.request_id} is closed ({entry.status}).")
    waiting = ", ".join(p.call_id for p in t.state.pending) or "nothing"
    raise NotWaiting(
        f"{command.request_id!r} does not wait for {what}. Waiting now: {waiting} (see s.pending, %hm pending)."
    )
