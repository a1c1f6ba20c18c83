"""The composition root: what a person names becomes a transport, an adapter and a session.

The only module that names concrete transports and protocols.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .errors import AgentNotFound, UsageError
from .protocols.base import Adapter
from .protocols.hm import HmAdapter
from .protocols.hm_flags import hm_argv
from .session.controller import Controller
from .session.policy import AnswerPolicy, ApprovePolicy, Policy
from .session.runtime import follow, runtime
from .session.session import Session
from .transports.base import Transport
from .transports.stdio import StdioTransport

PROTOCOLS = ("hm",)


@dataclass(frozen=True)
class Launch:
    """How to start an agent: its name for people, its program and protocol."""

    name: str
    program: list[str]
    protocol: str


def connect(
    agent: str | Sequence[str] | None = None,
    *,
    protocol: str | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    approve: ApprovePolicy = "ask",
    answers: AnswerPolicy = None,
    when_alone: Mapping[str, Any] | None = None,
    provider: str | None = None,
    model: str | None = None,
    mode: str | None = None,
    session: str | None = None,
    resume: bool = False,
    save: bool = True,
    max_steps: int | None = None,
    agent_approve: Literal["ask", "edits", "all"] | None = None,
    args: Sequence[str] = (),
    name: str | None = None,
    start_timeout: float = 30.0,
) -> Session:
    """Start an agent and open a session with it.

    ``agent``: nothing for the built-in agent, ``"hm"`` for the real one on PATH, or a command as a list (then
    ``protocol`` says what it speaks: "hm"). ``cwd``: its workspace (default: here). ``env``: variables added to the
    inherited environment. ``approve``, ``answers``: the policy (:class:`~hm_jupyter.session.policy.Policy`);
    ``when_alone``: ``{"approve": …, "answers": …}`` used only in a notebook nobody watches (nbconvert, nbval).
    ``session``: an id to resume, or ``resume=True`` for the latest; ``save=False`` keeps none. ``agent_approve`` has
    the agent itself decide (hm's ``--approve``); ``args`` are further arguments for it. ``start_timeout``: seconds.

    Raises ``UsageError``, ``AgentNotFound``, ``StartError``.
    """
    options = {k: v for k, v in locals().items() if k != "agent"}
    return runtime().run(_open, agent, options)


async def aconnect(agent: str | Sequence[str] | None = None, **options: Any) -> Session:
    """``connect`` for async code; takes the same arguments."""
    return await follow(runtime().spawn(_open, agent, {**_DEFAULTS, **options}))


_DEFAULTS: dict[str, Any] = dict(connect.__kwdefaults__ or {})


async def _open(agent: str | Sequence[str] | None, options: dict[str, Any]) -> Session:
    unknown = sorted(set(options) - set(_DEFAULTS))
    if unknown:
        raise UsageError(f"connect() does not know {', '.join(unknown)}. It takes: {', '.join(_DEFAULTS)}.")
    launch = find(agent, options["protocol"])
    cwd = Path(options["cwd"] or ".").expanduser().resolve()
    if not cwd.is_dir():
        raise UsageError(f"cwd={str(cwd)!r} is not a folder: create it, or give another.")
    argv = hm_argv(
        launch.program,
        cwd=str(cwd),
        mode=options["mode"] or "",
        provider=options["provider"] or "",
        model=options["model"] or "",
        session=options["session"] or "",
        continue_=options["resume"],
        save=options["save"],
        max_steps=options["max_steps"],
        approve=options["agent_approve"] or "",
    )
    return await open_session(
        StdioTransport([*argv, *options["args"]], cwd=str(cwd), env=_environment(launch, options["env"])),
        HmAdapter(agent_approve=options["agent_approve"] or "ask"),
        agent=launch.name,
        policy=Policy(options["approve"], options["answers"]),
        alone=Policy(**options["when_alone"]) if options["when_alone"] else None,
        name=options["name"],
        start_timeout=options["start_timeout"],
    )


async def open_session(
    transport: Transport,
    adapter: Adapter,
    *,
    agent: str,
    policy: Policy | None = None,
    alone: Policy | None = None,
    name: str | None = None,
    start_timeout: float = 30.0,
) -> Session:
    """A session over any transport and adapter, opened on the session loop (await it there: ``runtime().run(…)``).

    ``connect`` ends here; tests come here with a memory transport. Raises ``StartError``, ``AgentNotFound``.
    """
    controller = Controller(transport, adapter, agent=agent, policy=policy or Policy(), alone=alone)
    await transport.open()
    host = runtime()
    host.spawn(controller.run)
    session = Session(controller, host, name=name or agent)
    host.at_exit(session, controller.close)
    try:
        await controller.wait_ready(start_timeout)
    except BaseException:
        host.forget(session)
        await controller.close()
        raise
    return session


def find(agent: str | Sequence[str] | None, protocol: str | None = None) -> Launch:
    """How to start ``agent`` (see :func:`connect`). Raises ``AgentNotFound`` or ``UsageError``."""
    if protocol is not None and protocol not in PROTOCOLS:
        raise UsageError(f"protocol={protocol!r} is not spoken here. Known: {', '.join(PROTOCOLS)}.")
    if agent is None or agent == "demo" or agent == "builtin":
        return Launch("hm", [sys.executable, "-m", "hm_jupyter.agents"], "hm")
    if isinstance(agent, str):
        if agent == "hm":
            found = shutil.which("hm")
            if found is None:
                raise AgentNotFound(
                    "There is no hm program on PATH. Install it, or use the built-in agent: hm.connect() with no name."
                )
            return Launch("hm", [found, "agent"], "hm")
        raise AgentNotFound(
            f"No agent is known by the name {agent!r}. Known: hm, and the built-in one (no name). For any other "
            f'program give its command as a list: hm.connect([{agent!r}, "--rpc"], protocol="hm").'
        )
    command = [str(part) for part in agent]
    if not command:
        raise UsageError("The command is empty: give the program and its arguments, or nothing for the built-in agent.")
    if protocol is None:
        raise UsageError(f'Say which protocol {command[0]!r} speaks: hm.connect({command!r}, protocol="hm").')
    return Launch(Path(command[0]).name, command, protocol)


def _environment(launch: Launch, env: Mapping[str, str] | None) -> dict[str, str]:
    whole = {**os.environ, **(env or {})}
    if launch.program[:3] == [sys.executable, "-m", "hm_jupyter.agents"]:
        # the built-in agent is this very package, wherever it was imported from
        home = str(Path(__file__).resolve().parent.parent)
        whole["PYTHONPATH"] = os.pathsep.join(p for p in (home, whole.get("PYTHONPATH", "")) if p)
    return whole
