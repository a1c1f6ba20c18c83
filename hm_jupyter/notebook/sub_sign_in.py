"""``%hm login logout``: signing in to an agent, by the agent itself or by its own program run here.

No secret passes through a notebook: what a program asks goes from the input line to that program, and is kept nowhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..begin import terminal_line, what_to_type
from ..catalog import catalog
from ..errors import SignInRequired, UsageError
from ..events import AuthMethod
from ..launch import Launch, environment, find, named
from . import host
from .failed import remembered
from .options import Args, closest
from .registry import registry
from .show import Table, say, visible

if TYPE_CHECKING:
    from ..session.session import Session
    from .magics import HmMagics

SIGNING_IN = 900.0  # seconds a person may take in a browser


@dataclass
class _Target:
    """Whom to sign in to: how it is reached, the session that is open with it, if one is, and its ways."""

    agent: Any
    launch: Launch
    session: Session | None
    methods: list[AuthMethod]
    needed: bool  # it opens no session without


def login(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table | None:
    """``%hm login``"""
    agent, wanted = _words(magics, args, scope)
    target = _target(magics, agent, args.get("session", ""))
    methods = target.methods
    if not methods:
        say(f"{target.launch.name} asks nobody to sign in." + (" It is ready." if target.session else ""))
        return None
    if not wanted:
        able = [m for m in methods if m.kind != "other"]
        if len(able) != 1 or not target.needed:
            return _ways(target, args.words[0] if isinstance(agent, list) else "")
        method = able[0]
    else:
        method = _method(methods, wanted)
    if method.kind == "other":
        raise UsageError(f"{method.id}: {method.help or method.name}. {what_to_type(target.launch, method)}.")
    if method.kind == "terminal":
        _by_its_program(target.launch, method)
        _again(magics, target)
    elif target.session is not None:
        say("Signing in; if a browser opens, go on there …")
        target.session.sign_in(method.id)
        say(f"Signed in to {target.launch.name}.")
    else:
        say("Signing in; if a browser opens, go on there …")
        _again(magics, target, sign_in=method.id, start_timeout=SIGNING_IN)
    return None


def logout(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm logout``"""
    session = registry.get(args.get("session", ""))
    session.sign_out()
    say(f"Signed out of {session.state.agent}. Its open sessions may no longer answer.")


def _words(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> tuple[Any, str]:
    """Agent and method. One word is an agent where one is known by it, else a method of the current session's agent."""
    words = list(args.words)
    if len(words) == 1 and registry.current is not None:
        ways = [m.id for m in registry.current.state.auth]
        if words[0] in ways and catalog().get(words[0]) is None:
            return "", words[0]
    agent: Any = words[0] if words else ""
    value = scope.get(agent.removeprefix("$")) if agent else None
    return (list(value) if isinstance(value, (list, tuple)) else agent), words[1] if len(words) > 1 else ""


def _target(magics: HmMagics, agent: Any, name: str) -> _Target:
    """Find the session, or try to open one: what an agent offers is known only from asking it."""
    session = registry.get(name) if name else registry.current
    if not agent and session is not None:
        how = find(_made_of(session, magics))
        return _Target(_made_of(session, magics), how, session, list(session.state.auth), False)
    agent = agent or named(magics.agent)
    launch = find(agent)
    if launch.protocol == "hm":
        raise UsageError(f"{launch.name} has no sign-in of its own: it reads its keys from the environment.")
    from .sub_sessions import opened, ready

    own = [s for _, s in registry.items() if s.state.agent == launch.name]
    if own:
        return _Target(agent, launch, own[-1], list(own[-1].state.auth), False)
    try:
        with remembered(_typed(agent), again="login"):
            made = opened(magics, agent=agent)
    except SignInRequired as error:
        return _Target(agent, launch, None, list(error.methods), True)
    ready(made)
    return _Target(agent, launch, made, list(made.state.auth), False)


def _made_of(session: Session, magics: HmMagics) -> Any:
    """What ``connect`` was given for that session, as far as its program goes."""
    known = catalog().get(session.state.agent)
    return session.agent if session.agent is not None else known[0] if known else named(magics.agent)


def _ways(target: _Target, called: str) -> Table:
    rows = [
        (m.id, m.name + (f"\n{m.help}" if m.help else ""), what_to_type(target.launch, m, called))
        for m in target.methods
    ]
    needed = "wants to know who you are" if target.needed else "may be signed in to"
    return Table(("method", "what", "type"), rows, title=f"{target.launch.name} {needed}:", code=("method", "type"))


def _method(methods: list[AuthMethod], wanted: str) -> AuthMethod:
    found = next((m for m in methods if wanted in (m.id, m.name)), None)
    if found is None:
        ids = [m.id for m in methods]
        near = closest(wanted, ids)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(ids)}."
        raise UsageError(f"There is no way {wanted!r} to sign in; {hint}")
    return found


def _by_its_program(launch: Launch, method: AuthMethod) -> None:
    """Run the agent's own program with what the method adds (ACP, section 3: exit code 0 is success)."""
    from .terminal import run

    line = terminal_line(launch, method)
    if not launch.program:
        raise UsageError(f"{method.name} is done where that agent runs: its own command with {' '.join(method.args)}.")
    if host.host() == "nobody":
        raise UsageError(f"Nobody is here to answer what it asks. In a terminal: {line}")
    say(f"Running {line}\nWhat it asks is asked in the input line below. If that does not go well here, stop it (■) and "
        "type the same line in a terminal.")  # fmt: skip
    laid = {**environment(launch), **method.env}
    whole = {k: v for k, v in {**os.environ, "TERM": "dumb", "NO_COLOR": "1", **laid}.items() if v is not None}
    try:
        code = run([*launch.program, *method.args], env=whole, cwd=os.getcwd(), show=_show)
    except OSError as error:
        raise UsageError(f"{launch.program[0]} cannot be run: {error.strerror or error}.") from None
    if code != 0:
        how = f"ended with {code}" if code > 0 else f"was ended by signal {-code}"
        raise UsageError(f"That {how}, so you are not signed in. In a terminal it may go better: {line}")
    say("Signed in.")


def _again(magics: HmMagics, target: _Target, **given: Any) -> None:
    """Connect anew: an agent learns of a sign-in when it starts."""
    from .sub_sessions import opened, ready

    with remembered(_typed(target.agent), again="login"):
        made = opened(magics, agent=target.agent, **given)
    ready(made)


def _typed(agent: Any) -> str:
    return agent if isinstance(agent, str) else ""


def _show(text: str) -> None:
    sys.stdout.write(visible(text))
    sys.stdout.flush()
