"""``%hm steer follow pending approve deny answer abort``: what is said to an agent while it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import NotWaiting, UsageError
from ..transcript import PendingApproval, PendingQuestion
from .options import Args, first_word
from .registry import registry
from .show import Table, say

if TYPE_CHECKING:
    from ..session.session import Session
    from .magics import HmMagics

PATIENCE = 5.0  # seconds a decision waits, while a turn runs, for what it decides


def steer(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm steer``"""
    session, images = _message("steer", args, scope)
    session.steer(args.text, images=images)
    say("Sent; the agent reads it after the tool call in progress.")


def follow(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm follow``"""
    session, images = _message("follow", args, scope)
    session.follow_up(args.text, images=images)
    say("Queued for when the turn is over.")


def _message(name: str, args: Args, scope: Mapping[str, Any]) -> tuple[Session, list[Any]]:
    from .attach import pictures

    images = pictures(args.get("image", []), scope)
    if not args.text.strip() and not images:
        raise UsageError(f"There is nothing to send; write %hm {name} TEXT.")
    return registry.get(args.get("session", "")), images


def pending(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm pending``"""
    name = args.get("session", "")
    sessions = [(name, registry.get(name))] if name else registry.items()
    if args.get("wait"):
        _until([s for _, s in sessions], lambda s: bool(s.pending), args.get("wait"))
    rows = []
    for known, session in sessions:
        for request in session.pending:
            if isinstance(request, PendingApproval):
                what = request.command or request.summary or request.tool
                if request.diffs:
                    what = f"{what}\n" + "\n".join(f"  {d.path}" for d in request.diffs)
                if request.cwd:
                    what += f"\nin {request.cwd}"
                rows.append((request.call_id, "wants leave", what, known))
            else:
                choices = "".join(f"\n  {c.value}" + (f": {c.label}" if c.label else "") for c in request.choices)
                rows.append((request.call_id, "asks", request.text + choices, known))
    note = "Decide with %hm approve, %hm deny NOTE or %hm answer TEXT." if rows else "Nothing waits for you."
    return Table(("call", "kind", "what", "session"), rows, note=note, code=("call", "what"))


def approve(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm approve``"""
    session, request = _waiting(args, args.words[0] if args.words else "", PendingApproval, "approve")
    edits = None
    if only := args.get("only"):
        from ..session.policy import chosen

        edits = {e.path: e.content for e in chosen(request, only)}
    for_session = bool(args.get("for-session"))
    if for_session and not request.for_session:
        raise UsageError("This call cannot be allowed for the session; write %hm approve without --for-session.")
    session.approve(request.call_id, for_session=for_session, note=args.get("note", ""), edits=edits)
    say(f"Allowed {request.call_id}" + (" and calls like it for this session." if for_session else "."))


def deny(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm deny``"""
    call, note = _call_and_text(args)
    session, request = _waiting(args, call, PendingApproval, "deny")
    session.deny(request.call_id, note=note)
    say(f"Denied {request.call_id}.")


def answer(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm answer``"""
    call, text = _call_and_text(args)
    session, request = _waiting(args, call, PendingQuestion, "answer")
    if args.get("skip"):
        session.skip(request.call_id)
        say(f"Left {request.call_id} unanswered.")
        return
    if not text.strip():
        raise UsageError("What is the answer? Write %hm answer TEXT, or %hm answer --skip.")
    session.answer(request.call_id, text)
    say(f"Answered {request.call_id}.")


def abort(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm abort``"""
    session = registry.get(args.get("session", ""))
    if session.state.status not in ("working", "waiting"):
        say("No turn is running.")
        return
    session.abort()
    say("Stopped the turn; the agent is still there.")


def _until(sessions: list[Session], met: Callable[[Session], bool], seconds: float) -> None:
    """Wait until ``met`` of one of the sessions, none of them runs a turn any more, or the time is over."""
    import time

    deadline = time.monotonic() + seconds
    while not any(met(s) for s in sessions) and any(s.running for s in sessions) and time.monotonic() < deadline:
        time.sleep(0.02)


def _call_and_text(args: Args) -> tuple[str, str]:
    """A leading word that is the id of something that waits, and the rest; else all of it is text."""
    head, rest = first_word(args.text)
    name = args.get("session", "")
    sessions = [registry.get(name)] if name else [s for _, s in registry.items()]
    if any(p.call_id == head for s in sessions for p in s.pending):
        return head, rest
    return "", args.text


def _waiting(args: Args, call: str, kind: type[Any], sub: str) -> tuple[Session, Any]:
    """What the command is about: the named call wherever it waits, else the only one that does."""
    name = args.get("session", "")
    sessions = [registry.get(name)] if name else [s for _, s in registry.items()]
    # A cell that was run at once with the one that prompts comes before the agent has asked: give it a moment.
    _until(sessions, lambda s: any(isinstance(p, kind) for p in s.pending), PATIENCE)
    found = [(s, p) for s in sessions for p in s.pending if isinstance(p, kind)]
    if call:
        found = [(s, p) for s, p in found if p.call_id == call]
    current = [(s, p) for s, p in found if s is registry.current]
    if len(current) == 1:
        return current[0]
    if len(found) == 1:
        return found[0]
    noun = "an approval" if kind is PendingApproval else "an answer"
    if not found:
        what = f"{call!r} does not wait" if call else "Nothing waits"
        prompt = f"%hm -- {sub} {args.text}".rstrip()
        raise NotWaiting(f"{what} for {noun}; %hm pending shows what does. To send this as a prompt write {prompt}")
    ids = ", ".join(p.call_id for _, p in found)
    raise NotWaiting(f"Several calls wait for {noun}; say which: {ids} (%hm pending shows them).")
