"""What is set once a session is there and before its first prompt: mode, model, options; and how to sign in, in words.

Knows the session, the catalog's word about an agent, and no protocol.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import commands as cmd
from .catalog import Agent
from .errors import HmError, SignInRequired, UsageError
from .events import AuthMethod, NoticeRaised
from .launch import Launch

if TYPE_CHECKING:
    from .session.session import Session

#: Names of modes of agents we know (and their kin) in which they act without asking.
_UNASKED = {"auto", "yolo", "bypasspermissions", "dontask", "auto-approve", "always-approve", "full-access",
            "agent-full-access", "agent", "accept-edits", "acceptedits", "autoedit", "auto-edit", "llm-approve"}  # fmt: skip


async def configure(session: Session, launch: Launch, given: Mapping[str, Any]) -> None:
    """See that mode, model and options are what the person wanted: the adapter has tried, and told what was refused.

    What *they* gave must be so: it is tried once more, for the agent's own words. Raises ``UsageError``.
    """
    state = session.state
    wanted: list[cmd.Command] = []
    values = {option.id: option.value for option in state.options}
    for option, value in (given["options"] or {}).items():
        if values.get(option) != value:
            wanted.append(cmd.SetOption(option=option, value=value))
    if given["model"] and state.model != given["model"]:
        wanted.append(cmd.SetModel(model=given["model"]))
    if given["mode"] and state.mode != given["mode"]:
        wanted.append(cmd.SetMode(mode=given["mode"]))
    for command in wanted:
        try:
            await session.controller.dispatch(command, via="python")
        except HmError as error:
            raise UsageError(
                f"{launch.name} did not take {_what(command)}: {error}{_offered(session, command)}"
            ) from None
    warning = unasked(state.mode, launch.agent)
    if warning and state.mode != given["mode"]:
        session.controller.announce(NoticeRaised(warning, "warning"))


def _offered(session: Session, command: cmd.Command) -> str:
    state = session.state
    offered = {cmd.SetMode: state.modes, cmd.SetModel: state.models}.get(type(command), [o.id for o in state.options])
    return f" It offers {', '.join(offered)}." if offered else ""


def unasked(mode: str, agent: Agent | None) -> str:
    """A sentence for people when an agent in that mode may act without asking; "" when it asks, as far as is known."""
    low = mode.lower()
    if agent is not None and low == agent.asks.lower():
        return ""
    if low not in _UNASKED or (low == "agent" and (agent is None or not agent.mode)):
        return ""  # "agent" is what others call their only mode (fast-agent), which asks
    asks = f" The mode that asks is {agent.asks}: %hm mode {agent.asks}." if agent is not None and agent.mode else ""
    return f"In mode {mode} this agent may act without asking you.{asks}"


def _what(command: cmd.Command) -> str:
    if isinstance(command, cmd.SetOption):
        return f"the option {command.option}={command.value}"
    return (
        f"the mode {command.mode}" if isinstance(command, cmd.SetMode) else f"the model {getattr(command, 'model', '')}"
    )


# ---- signing in --------------------------------------------------------------------------------------------------------


def sign_in_help(launch: Launch, error: SignInRequired) -> str:
    """Why there is no session, the ways to sign in, and what to type for each."""
    lines = [str(error)]
    who = launch.known or launch.name
    for method in error.methods:
        told = f"  {method.id}: {method.name}" + (f" ({method.help})" if method.help else "")
        lines += [told, f"      {what_to_type(launch, method)}"]
    if launch.program and not launch.known and any(m.kind != "other" for m in error.methods):
        lines.append("In a notebook: %hm login NAME METHOD, where NAME is a variable with that command.")
    if launch.agent is not None and launch.agent.sign_in:
        lines.append(f"For {who}: {launch.agent.sign_in}.")
    return "\n".join(lines)


def what_to_type(launch: Launch, method: AuthMethod, called: str = "") -> str:
    """What a person types to sign in by that method. ``called``: the variable that holds the agent's command, if one does."""
    called = launch.known or called
    named = repr(launch.known or launch.program or launch.url.partition("?")[0])
    if method.kind == "terminal":
        line = terminal_line(launch, method)
        return f"in a terminal: {line}" + (f", or here: %hm login {called} {method.id}" if called else "")
    if method.kind == "other":
        return "this agent wants something else for it: set it up as the agent's own pages say, then connect again"
    magic = f"%hm login {called} {method.id}, or " if called else ""
    return f"{magic}hm.connect({named}, sign_in={method.id!r})"


def terminal_line(launch: Launch, method: AuthMethod) -> str:
    """The agent's own program with what the method adds, as one line for a shell (ACP, authMethods, type terminal)."""
    words = [f"{name}={shlex.quote(value)}" for name, value in method.env.items()]
    return " ".join([*words, *map(shlex.quote, [*launch.program, *method.args])])
