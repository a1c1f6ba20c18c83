"""The composition root: what a person names becomes a transport, an adapter and a session.

The only module that names concrete transports and protocols. What a name stands for is ``launch``'s and ``catalog``'s
business, what is set once the session is there ``begin``'s.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from .begin import configure, sign_in_help
from .catalog import Quirks
from .connect_omp import omp_adapter, omp_shelf, omp_transport, speaks_omp
from .errors import NotSupported, SignInRequired, UsageError
from .launch import Headers, Launch, environment, find, missing
from .protocols.base import Adapter
from .protocols.hm import HmAdapter
from .protocols.hm_flags import hm_argv
from .redact import header_secrets, known_secrets
from .session.controller import Controller
from .session.policy import AnswerPolicy, ApprovePolicy, Policy
from .session.runtime import follow, runtime
from .session.session import Session
from .session.shelf import Shelf
from .transports.base import Transport
from .transports.stdio import StdioTransport
from .version import __version__


def connect(
    agent: str | Sequence[str] | None = None,
    *,
    protocol: str | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str | None] | None = None,
    headers: Headers = None,
    token: str | None = None,
    cookies: Mapping[str, str] | None = None,
    insecure: bool = False,
    tls: ssl.SSLContext | None = None,
    approve: ApprovePolicy = "ask",
    answers: AnswerPolicy = None,
    when_alone: Mapping[str, Any] | None = None,
    provider: str | None = None,
    model: str | None = None,
    mode: str | None = None,
    options: Mapping[str, bool | str] | None = None,
    mcp_servers: Any = (),
    directories: Sequence[str | Path] = (),
    session: str | None = None,
    resume: bool = False,
    sign_in: str | None = None,
    save: bool = True,
    max_steps: int | None = None,
    agent_approve: Literal["ask", "edits", "all"] | None = None,
    args: Sequence[str] = (),
    name: str | None = None,
    start_timeout: float | None = None,
) -> Session:
    """Start an agent and open a session with it; each session has a process or a connection of its own.

    ``agent``: nothing for the built-in agent, a name of the catalog (``%hm agents``), ``"hm"`` for hm on PATH, a command as
    a list, or the address of one that runs elsewhere (``https://…``, ``wss://…``; then ``headers``, a mapping or a function
    that gives one, or a bearer ``token``, ``cookies``, ``tls`` a context of yours, ``insecure`` to send them in the clear).
    ``protocol``: "acp" (the default of a command and an address), "acp1" or "acp2" for one version of it only, "hm"; "omp" and
    "pi" for the RPC modes of those programs, which are started asking (``mode`` says about what).

    ``cwd``: its workspace (default: here), ``directories``: further ones. ``env``: variables laid over the inherited
    environment (None takes one out). ``approve``, ``answers``: the policy (:class:`~hm_jupyter.session.policy.Policy`);
    ``when_alone``: ``{"approve": …, "answers": …}`` used only in a notebook nobody watches (nbconvert, nbval).
    ``model``, ``mode``, ``options`` (by id, as ``session.options`` lists them) are set before the first prompt.
    ``mcp_servers``: ``[{"name", "command", "args", "env"}]`` or ``[{"name", "type": "http", "url", "headers"}]``.
    ``session``: an id to take up again, or ``resume=True`` for the latest. ``sign_in``: the method to sign in by first.
    ``args``: further arguments for its program. ``start_timeout``: seconds (30, more where an agent is known to be slow).
    ``provider``, ``save=False`` (no session is kept): hm, omp and pi. hm RPC only: ``max_steps``; ``agent_approve`` has the
    agent itself decide.

    Raises ``UsageError``, ``AgentNotFound``, ``StartError``, ``SignInRequired``, ``TransportError``.
    """
    given = {k: v for k, v in locals().items() if k != "agent"}
    return runtime().run(_open, agent, given)


async def aconnect(agent: str | Sequence[str] | None = None, **options: Any) -> Session:
    """``connect`` for async code; takes the same arguments."""
    return await follow(runtime().spawn(_open, agent, {**_DEFAULTS, **options}))


_DEFAULTS: dict[str, Any] = dict(connect.__kwdefaults__ or {})
_HM_ONLY = ("provider", "max_steps", "agent_approve")
_REMOTE_ONLY = ("cookies", "insecure", "tls")
_ACP_ONLY = ("options", "mcp_servers", "directories", "sign_in")
_NOT_OMP = ("max_steps", "agent_approve", "mcp_servers", "sign_in")


async def _open(agent: str | Sequence[str] | None, given: dict[str, Any]) -> Session:
    unknown = sorted(set(given) - set(_DEFAULTS))
    if unknown:
        raise UsageError(f"connect() does not know {', '.join(unknown)}. It takes: {', '.join(_DEFAULTS)}.")
    launch = find(agent, given["protocol"], headers=given["headers"], token=given["token"])
    _fits(launch, given)
    policy = Policy(given["approve"], given["answers"])
    alone = Policy(**given["when_alone"]) if given["when_alone"] else None
    adapter = _adapter(launch, given)
    why = missing(launch, given["env"])
    if why:
        raise why
    usual = launch.agent.start_timeout if launch.agent is not None else 30.0
    try:
        session = await open_session(
            _transport(launch, given),
            adapter,
            agent=launch.name,
            policy=policy,
            alone=alone,
            name=given["name"],
            roots=[_folder(launch, given["cwd"]), *_further(given)],
            shelf=omp_shelf(launch, given, _folder(launch, given["cwd"])) if speaks_omp(launch) else None,
            start_timeout=usual if given["start_timeout"] is None else given["start_timeout"],
        )
    except SignInRequired as error:
        raise SignInRequired(sign_in_help(launch, error), methods=error.methods, stderr=error.stderr) from None

    async def again(changes: Mapping[str, Any]) -> Session:
        return await _open(agent, {**given, "session": None, "resume": False, **changes})

    session.reopen, session.agent = again, agent
    session.secrets = lambda: _secrets(launch, given)
    if speaks_omp(launch):
        given = {**given, "mode": session.state.mode, "model": None}  # these it was started with
    if launch.protocol != "hm":
        try:
            await configure(session, launch, given)
        except BaseException:
            await session._close()
            raise
    return session


def _secrets(launch: Launch, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What this session was opened with and no export may hold: as it is now, for headers may be renewed."""
    found = known_secrets({k: v for k, v in (given["env"] or {}).items() if v is not None})
    headers = launch.headers() if callable(launch.headers) else launch.headers
    found += header_secrets(headers or {})
    found += [("cookie", value) for value in (given["cookies"] or {}).values() if len(value) >= 6]
    if given["token"]:
        found.append(("token", given["token"].strip()))
    for server in given["mcp_servers"] or ():
        if isinstance(server, Mapping):
            found += known_secrets(_named(server.get("env"))) + header_secrets(_named(server.get("headers")))
    return found


def _named(values: Any) -> dict[str, str]:
    """A server's variables or headers, given as a mapping or as ACP's ``[{"name", "value"}]``."""
    if isinstance(values, Mapping):
        return {str(k): str(v) for k, v in values.items()}
    return {str(v.get("name")): str(v.get("value")) for v in values or () if isinstance(v, Mapping)}


async def open_session(
    transport: Transport,
    adapter: Adapter,
    *,
    agent: str,
    policy: Policy | None = None,
    alone: Policy | None = None,
    name: str | None = None,
    roots: Sequence[str] = (),
    shelf: Shelf | None = None,
    start_timeout: float = 30.0,
) -> Session:
    """A session over any transport and adapter, opened on the session loop (await it there: ``runtime().run(…)``).

    ``roots``: the folders of ours the agent may reach through us (default: the session's own). ``shelf``: where it keeps its
    sessions, if its wire has no word for them.
    ``connect`` ends here; tests come here with a memory transport. Raises ``StartError``, ``AgentNotFound``.
    """
    controller = Controller(transport, adapter, agent=agent, policy=policy or Policy(), alone=alone, roots=roots)
    if shelf is not None:
        controller.shelf = shelf
        controller.offer(list_sessions=True, delete_session=True, resume=True)
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


def _fits(launch: Launch, given: Mapping[str, Any]) -> None:
    """Refuse what the protocol has no word for, instead of leaving it out in silence."""
    if speaks_omp(launch):
        if wrong := [k for k in _NOT_OMP if given[k]]:
            raise NotSupported(
                f"{', '.join(wrong)}: {launch.name} speaks the RPC of {launch.protocol}, which has no such thing."
            )
    else:
        _fits_protocol(launch, given)
    if given["session"] and given["resume"]:
        raise UsageError("Give session= (an id) or resume=True (the latest), not both.")
    if not launch.url and any(given[k] for k in _REMOTE_ONLY):
        raise UsageError(f"{', '.join(_REMOTE_ONLY)} go with an address, such as https://host/acp.")
    if launch.url and (given["args"] or given["env"]):
        raise UsageError("args= and env= are for a program we start; that agent runs already.")


def _fits_protocol(launch: Launch, given: Mapping[str, Any]) -> None:
    hm = launch.protocol == "hm"
    wrong = [k for k in (_ACP_ONLY if hm else _HM_ONLY) if given[k]]
    if not hm and not given["save"]:
        wrong.append("save")
    if wrong:
        spoken, other = ("hm RPC", "ACP") if hm else ("ACP", "hm RPC")
        raise NotSupported(f"{', '.join(wrong)}: {launch.name} speaks {spoken}, and only {other} has that.")


def _folder(launch: Launch, cwd: str | Path | None) -> str:
    path = Path(cwd or ".").expanduser()
    if launch.url and path.is_absolute():
        return str(path)  # a folder of the machine it runs on
    if not path.resolve().is_dir():
        raise UsageError(f"cwd={str(path.resolve())!r} is not a folder: create it, or give another.")
    return str(path.resolve())


def _quirks(quirks: Quirks) -> list[str]:
    found = {"missing_file_is_empty": quirks.missing_file == "empty", "reinitialize": quirks.reinitialize}
    return [name for name, there in found.items() if there]


def _further(given: Mapping[str, Any]) -> list[str]:
    return [str(Path(d).expanduser().resolve()) for d in given["directories"]]


def _adapter(launch: Launch, given: Mapping[str, Any]) -> Adapter:
    if launch.protocol == "hm":
        return HmAdapter(agent_approve=given["agent_approve"] or "ask")
    if speaks_omp(launch):
        return omp_adapter(launch, given, _folder(launch, given["cwd"]))
    from .protocols.acp.adapter import AcpAdapter  # not loaded by who speaks hm RPC only
    from .protocols.acp.servers import servers

    known = launch.agent
    quirks = known.quirks if known is not None else Quirks()
    version: Literal["auto", 1, 2] = "auto"
    if launch.protocol != "acp":
        version = 1 if launch.protocol == "acp1" else 2
    return AcpAdapter(
        cwd=_folder(launch, given["cwd"]),
        version=version,
        client=("hm_jupyter", __version__),
        mcp_servers=servers(given["mcp_servers"]),
        roots=_further(given),
        resume=given["session"] or "",
        latest=given["resume"],
        sign_in=given["sign_in"] or "",
        mode=given["mode"] or (known.mode if known is not None else ""),
        model=given["model"] or "",
        options={**(known.options if known is not None else {}), **(given["options"] or {})},
        host=not launch.url,  # files and commands of this machine are no business of one that runs elsewhere
        fs_read=quirks.fs_read,
        streams=launch.url.startswith("http"),
        quirks=_quirks(quirks),
    )


def _transport(launch: Launch, given: Mapping[str, Any]) -> Transport:
    cwd = _folder(launch, given["cwd"])
    if launch.url:
        remote = {key: given[key] for key in _REMOTE_ONLY}
        if launch.url.lower().startswith("ws"):
            from .transports.websocket import WebSocketTransport

            return WebSocketTransport(launch.url, headers=launch.headers, **remote)
        from .transports.http import HttpTransport

        return HttpTransport(launch.url, headers=launch.headers, **remote)
    if speaks_omp(launch):
        return omp_transport(launch, given, cwd)
    argv = list(launch.program)
    if launch.protocol == "hm":
        argv = hm_argv(
            launch.program,
            # A saved session is taken up where it was, unless somebody says where.
            cwd="" if given["session"] and not given["cwd"] else cwd,
            mode=given["mode"] or "",
            provider=given["provider"] or "",
            model=given["model"] or "",
            session=given["session"] or "",
            continue_=given["resume"],
            save=given["save"],
            max_steps=given["max_steps"],
            approve=given["agent_approve"] or "",
        )
    return StdioTransport([*argv, *given["args"]], cwd=cwd, env=environment(launch, given["env"]))
