"""``%hm steer follow pending approve deny answer abort``: what is said to an agent while it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import NotWaiting, UsageError
from ..session.checks import option_of
from ..transcript import Pending, PendingApproval, PendingQuestion
from .asking import option_text
from .asking_forms import field_text
from .options import Args, first_word, pairs
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
                ways = "".join(f"\n  {i}. {option_text(o)}" for i, o in enumerate(request.options, 1))
                rows.append((_called(request), "wants leave", what + ways, known))
            else:
                choices = "".join(f"\n  {c.value}" + (f": {c.label}" if c.label else "") for c in request.choices)
                fields = "".join(f"\n  {field_text(f)}" for f in request.form)
                page = f"\n  page to open: {request.url}" if request.url else ""
                rows.append((_called(request), "asks", request.text + choices + fields + page, known))
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
    if option := args.get("option"):
        if for_session:
            raise UsageError("Give --option or --for-session, not both.")
        option = by_number(request, option)
        chosen_option = option_of(request, option)
        session.approve(request.request_id, note=args.get("note", ""), edits=edits, option=chosen_option.id)
        say(f"Decided {_called(request)}: {option_text(chosen_option)}.")
        return
    if for_session and not request.for_session:
        raise UsageError("This call cannot be allowed for the session; write %hm approve without --for-session.")
    session.approve(request.request_id, for_session=for_session, note=args.get("note", ""), edits=edits)
    say(f"Allowed {_called(request)}" + (" and calls like it for this session." if for_session else "."))


def deny(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm deny``"""
    call, note = _call_and_text(args)
    session, request = _waiting(args, call, PendingApproval, "deny")
    session.deny(request.request_id, note=note)
    say(f"Denied {_called(request)}.")


def answer(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm answer``"""
    call, text = _call_and_text(args)
    session, request = _waiting(args, call, PendingQuestion, "answer")
    if args.get("skip"):
        session.skip(request.request_id)
        say(f"Left {_called(request)} unanswered.")
        return
    if request.form:
        given = args.get("field", [])
        if not given:
            fields = "; ".join(field_text(f) for f in request.form)
            raise UsageError(f"{_called(request)} is a form: write %hm answer --field NAME=VALUE for each of {fields}.")
        session.answer(request.request_id, fields=pairs(given, option="--field"))
        say(f"Answered {_called(request)}.")
        return
    if args.get("field"):
        raise UsageError(f"{_called(request)} is no form: write %hm answer TEXT.")
    if not text.strip():
        raise UsageError("What is the answer? Write %hm answer TEXT, or %hm answer --skip.")
    session.answer(request.request_id, text)
    say(f"Answered {_called(request)}.")


def _called(request: Pending) -> str:
    """What a person calls it by: the call's id, or the request's where no call is named (or several ask under one id)."""
    return request.call_id or request.request_id


def by_number(request: PendingApproval, option: str) -> str:
    """The id of the option with that number, as they were listed; what is no number stays. Raises ``UsageError`` where the
    agent calls another option so: it chooses the ids and names, and a person may mean either."""
    if not option.isdecimal() or not 1 <= int(option) <= len(request.options):
        return option
    numbered = request.options[int(option) - 1].id
    if any(option in (o.id, o.name) and o.id != numbered for o in request.options):
        raise UsageError(
            f"{option} is the number of one option and the agent's word for another: decide it in the view."
        )
    return numbered


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
    if head and any(head in (p.call_id, p.request_id) for s in sessions for p in s.pending):
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
        found = [(s, p) for s, p in found if call in (p.call_id, p.request_id)]
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
    ids = ", ".join(_called(p) for _, p in found)
    raise NotWaiting(f"Several calls wait for {noun}; say which: {ids} (%hm pending shows them).")
