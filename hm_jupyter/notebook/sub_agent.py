"""``%hm mode model effort compact``: how the agent works, from the next turn on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..exports.view import model_name
from .options import Args, closest
from .registry import registry
from .show import say
from .subcommands import EFFORTS

if TYPE_CHECKING:
    from .magics import HmMagics


def mode(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm mode``"""
    session = magics.session(args.get("session", ""))
    if not args.words:
        _tell("mode", session.state.mode, session.state.modes)
        return
    _check("mode", args.words[0], session.state.modes)
    session.set_mode(args.words[0])
    say(f"Mode {args.words[0]}, from the next turn on.")


def model(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm model``"""
    session = magics.session(args.get("session", ""))
    provider = args.get("provider")
    if not args.words and provider is None:
        now = session.state
        _tell("model", "/".join(x for x in (now.provider, model_name(now.model)) if x), now.models)
        return
    session.set_model(args.words[0] if args.words else "", provider=provider)
    say(f"Model {args.words[0] if args.words else 'of ' + provider}, from the next turn on.")


def effort(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm effort``"""
    session = magics.session(args.get("session", ""))
    if not args.words:
        _tell("effort", session.state.effort, EFFORTS)
        return
    _check("effort", args.words[0], EFFORTS)
    session.set_model(effort=args.words[0])
    say(f"Effort {args.words[0]}, from the next turn on.")


def compact(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm compact``"""
    registry.get(args.get("session", "")).compact(args.get("focus", ""))
    say("The context is summarised.")


def _tell(what: str, now: str, choices: Any) -> None:
    offered = f" Offered: {', '.join(choices)}." if choices else ""
    say(f"{what.capitalize()}: {now or 'the agent does not say'}.{offered}")


def _check(what: str, name: str, choices: Any) -> None:
    """Refuse a name the agent does not offer (an agent that offers no list decides itself)."""
    if choices and name not in choices:
        near = closest(name, choices)
        hint = f"did you mean {near}?" if near else f"it is one of {', '.join(choices)}."
        raise UsageError(f"There is no {what} {name!r}; {hint}")
