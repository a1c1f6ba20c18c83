"""``%hm mode model effort options set commands compact stop-work``: how the agent works, and what it offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..begin import unasked
from ..errors import UsageError
from ..events import ConfigOption
from ..exports.view import model_name
from .options import Args, closest
from .registry import registry
from .show import Table, say
from .subcommands import EFFORTS

if TYPE_CHECKING:
    from .magics import HmMagics


def mode(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm mode``"""
    session = registry.there(args.get("session", ""))
    if not args.words:
        _tell("mode", session.state.mode, _labelled(session.modes))
        return
    _check("mode", args.words[0], session.state.modes)
    session.set_mode(args.words[0])
    say(f"Mode {args.words[0]}, from the next turn on.")
    if warning := unasked(session.state.mode or args.words[0], None):
        say(warning)


def model(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm model``"""
    session = registry.there(args.get("session", ""))
    provider = args.get("provider")
    if not args.words and provider is None:
        now = session.state
        _tell("model", "/".join(x for x in (now.provider, model_name(now.model)) if x), _labelled(session.models))
        return
    session.set_model(args.words[0] if args.words else "", provider=provider)
    say(f"Model {args.words[0] if args.words else 'of ' + provider}, from the next turn on.")


def effort(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm effort``"""
    session = registry.there(args.get("session", ""))
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


def options(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm options``"""
    session = registry.there(args.get("session", ""))
    rows = []
    for option in session.options:
        value = ("on" if option.value else "off") if isinstance(option.value, bool) else option.value
        offered = "on, off" if option.kind == "boolean" else "\n".join(_choices(option))
        rows.append((option.id, value, offered, "\n".join(x for x in (option.name, option.help) if x)))
    none = f"{session.state.agent} offers no settings of its own; %hm mode and %hm model tell what else there is."
    note = "Change one with %hm set NAME VALUE." if rows else none
    return Table(("name", "value", "offered", "what it is"), rows, note=note, code=("name", "value", "offered"))


def _choices(option: ConfigOption) -> list[str]:
    lines, group = [], ""
    for choice in option.choices:
        if choice.group and choice.group != group:
            group = choice.group
            lines.append(f"{group}:")
        lines.append(choice.value + (f"  {choice.label}" if choice.label not in ("", choice.value) else ""))
    return lines


def set_option(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm set``"""
    from .config import settings

    if len(args.words) < 2:
        raise UsageError("Write %hm set NAME VALUE; %hm options lists them.")
    name, value = args.words
    session = registry.there(args.get("session", ""))
    known = [o.id for o in session.options]
    if name not in known and name not in [o.name for o in session.options]:
        if name in settings(magics):
            raise UsageError(f"{name} is a setting of this extension: %hm config {name}={value}")
        near = closest(name, known)
        has = (
            f"it has {', '.join(known)}."
            if known
            else "it offers none; %hm mode and %hm model tell what else there is."
        )
        hint = f"did you mean {near}?" if near else has
        raise UsageError(
            f"{session.state.agent} has no setting {name!r}; {hint} To send this as a prompt write %hm -- set {args.text}"
        )
    session.set_option(name, value)
    say(f"{name} = {value}")


def commands(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm commands``"""
    session = registry.there(args.get("session", ""))
    rows = [(f"/{c.name}{' ' + c.hint if c.hint else ''}", c.help) for c in session.commands]
    note = "Send one as a prompt: %hm /name rest." if rows else f"{session.state.agent} has told of no commands."
    return Table(("command", "what it does"), rows, note=note, code=("command",))


def stop_work(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm stop-work``"""
    session = registry.get(args.get("session", ""))
    if not args.words:
        going_on = ", ".join(f"{b.id} ({b.title or b.kind})" for b in session.background if b.cancelable)
        raise UsageError(f"Which? There is {going_on}." if going_on else "Nothing that can be stopped alone goes on.")
    session.cancel(args.words[0])
    say(f"The agent was told to stop {args.words[0]}.")


def _labelled(offered: Mapping[str, str]) -> list[str]:
    return [f"{id_} ({name})" if name and name.lower() != id_.lower() else id_ for id_, name in offered.items()]


def _tell(what: str, now: str, choices: Any) -> None:
    offered = f" Offered: {', '.join(choices)}." if choices else ""
    say(f"{what.capitalize()}: {now or 'the agent does not say'}.{offered}")


def _check(what: str, name: str, choices: Any) -> None:
    """Refuse a name the agent does not offer (an agent that offers no list decides itself)."""
    if choices and name not in choices:
        near = closest(name, choices)
        hint = f"did you mean {near}?" if near else f"it is one of {', '.join(choices)}."
        raise UsageError(f"There is no {what} {name!r}; {hint}")
