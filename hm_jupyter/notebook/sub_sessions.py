"""``%hm start use stop sessions resume close delete fork export state``: sessions, opened, chosen, kept and ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..begin import unasked
from ..catalog import catalog
from ..errors import UsageError
from ..exports.view import model_name
from ..launch import expanded, named
from .failed import remembered
from .options import Args, pairs
from .registry import registry
from .show import Table, say

if TYPE_CHECKING:
    from ..session.session import Session
    from .magics import HmMagics


# ---- which session ---------------------------------------------------------------------------------------------------


def session_for(magics: HmMagics, name: str = "", *, agent: str = "") -> Session:
    """The named or current session; a new one where there is none and one may be started. Raises ``UsageError``."""
    if name and name in registry.names():
        return registry.get(name)
    if not agent and (sentence := registry.failed(name)):
        raise UsageError(sentence)
    if not name and not agent and (registry.current is not None or registry.lost() is not None):
        return registry.get()  # raises where its agent has ended: what was meant for that one goes to no other
    if name and not agent:
        return registry.get(name)  # raises, and says which there are
    if agent and not name:
        for known, session in registry.items():
            if known == agent:
                return registry.use(known) if session is not registry.current else session
    if not agent:
        return opened(magics, name=name)  # what the settings say is tried again each time
    with remembered(agent, name):
        return opened(magics, agent=agent, name=name)


def opened(magics: HmMagics, *, agent: Any = "", name: str = "", **given: Any) -> Session:
    """Start an agent with what is ``given`` over the settings, and make its session the current one."""
    from ..connect import connect
    from .presence import register

    register()
    options = {
        **given,
        "cwd": given.get("cwd") or magics.cwd,
        "provider": given.get("provider") or magics.provider,
        "model": given.get("model") or magics.model,
        "mode": given.get("mode") or magics.mode,
        "when_alone": given.get("when_alone") or alone_policy(magics.when_alone),
        "name": name,
    }
    session = connect(agent or named(magics.agent), **{k: v for k, v in options.items() if v})
    registry.add(session, name, follows="approve" not in given)
    return session


def alone_policy(policy: Any) -> Any:
    """A policy for when nobody can be asked, as ``connect`` takes it: a mapping of ``approve`` and ``answers``."""
    return policy if not policy or isinstance(policy, Mapping) else {"approve": policy}


def value_of(text: Any, scope: Mapping[str, Any]) -> Any:
    """``$NAME`` as the value of that variable, anything else as it is."""
    if isinstance(text, str) and text.startswith("$"):
        from .attach import look_up

        return look_up(text[1:], scope, option="$")
    return text


def policy_of(text: str, scope: Mapping[str, Any], *, option: str) -> Any:
    """A policy: one of the words, else the variable of that name."""
    from .attach import look_up
    from .subcommands import POLICIES

    return text if text in POLICIES else look_up(text.removeprefix("$"), scope, option=option)


# ---- subcommands -----------------------------------------------------------------------------------------------------


def start(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm start``"""
    with remembered(args.words[0] if args.words else "", args.get("name", "")):
        session = _started(magics, args, scope)
    ready(session)


def _started(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Session:
    given = {
        k.replace("-", "_"): v if k in ("header", "token", "set") else value_of(v, scope)
        for k, v in args.values.items()
    }
    if "when_alone" in given:
        given["when_alone"] = alone_policy(policy_of(args.values["when-alone"], scope, option="--when-alone"))
    if "resume" in given:
        given["session"] = given.pop("resume")
    _for_agents_elsewhere(given, args, scope)
    if "scenario" in given:
        if given.get("provider", "demo") != "demo" or "model" in given:
            raise UsageError("--scenario is what the demo model plays; leave --provider and --model out.")
        given.update(provider="demo", model=given.pop("scenario"))
    agent: Any = args.words[0] if args.words else ""
    if isinstance(scope.get(agent.removeprefix("$")), (list, tuple)):
        agent = list(scope[agent.removeprefix("$")])
    return opened(magics, agent=agent, name=given.pop("name", ""), **given)


def _for_agents_elsewhere(given: dict[str, Any], args: Args, scope: Mapping[str, Any]) -> None:
    """``--set``, ``--header``, ``--token``, ``--mcp``, ``--folder`` as ``connect`` takes them. Tokens come from the
    environment, so that no notebook holds one."""
    if "set" in given:
        switches: dict[str, bool | str] = {"on": True, "true": True, "off": False, "false": False}
        chosen = pairs(given.pop("set"), option="--set")
        given["options"] = {k: switches.get(v.lower(), v) for k, v in chosen.items()}
    if "header" in given:
        headers = pairs(given.pop("header"), option="--header")
        given["headers"] = {k: expanded(v, f"--header {k}") for k, v in headers.items()}
    if "token" in given:
        if not args.values["token"].startswith("$"):
            raise UsageError(
                "A notebook is saved and shared: put the token in the environment, and write --token $NAME."
            )
        given["token"] = expanded(args.values["token"], "--token")
        if args.words and "://" in args.words[0] and given["token"].strip():
            given["headers"] = _renewed(given.pop("token"), args.values["token"], given.get("headers", {}))
    if "mcp" in given:
        from .attach import look_up

        given["mcp_servers"] = look_up(given.pop("mcp"), scope, option="--mcp")
    if "folder" in given:
        given["directories"] = given.pop("folder")


def _renewed(first: str, token: str, headers: Mapping[str, str]) -> Callable[[], Mapping[str, str]]:
    """Headers with a bearer token that is asked for before each request: a new one in the environment is used from then
    on. One that is taken out there stays as it was."""
    last = first

    def whole() -> Mapping[str, str]:
        nonlocal last
        with suppress(UsageError):
            last = expanded(token, "--token")
        rest = {k: v for k, v in headers.items() if k.lower() != "authorization"}
        return {**rest, "Authorization": f"Bearer {last.strip()}"}

    return whole


def ready(session: Session) -> None:
    """Say who is there, with which model and mode, and that it may not ask."""
    state = session.state
    about = ", ".join(x for x in (model_name(state.model) or state.provider, state.mode and f"mode {state.mode}") if x)
    name = registry.current_name
    who = state.agent if name == state.agent else f"{name}: {state.agent}"
    say(f"{who} is ready" + (f" ({about})." if about else "."))
    found = catalog().get(state.agent) if state.mode else None
    if warning := unasked(state.mode, found[1] if found else None):
        say(warning)
    if state.turn:
        _remembered(session)


def _remembered(session: Session) -> None:
    """Of a session that was taken up: how much was said in it before, and the last turn of that, to go on from."""
    from IPython.display import display

    from ..session.runtime import runtime
    from .freeze import freeze

    count = session.state.turn
    before = f"after {count} turns (%hm export writes them all); the last was" if count > 1 else "after this turn"
    say(f"It goes on {before}:")
    display(runtime().call(freeze, session.transcript, count), raw=True)


def use(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm use``"""
    if not args.words:
        raise UsageError(f"Which session? Open are {', '.join(registry.names()) or 'none'}.")
    name = args.words[0]
    value: Any = scope.get(name)
    if name not in registry.names() and hasattr(value, "controller") and hasattr(value, "prompt"):
        name = registry.add(value, name)
    _known("use", name)
    registry.use(name)
    say(f"{name} is the current session.")


def stop(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm stop``"""
    if args.get("all"):
        names = registry.names()
    else:
        names = args.words or [registry.current_name]
    if not any(names):
        raise UsageError("No session is open, so there is nothing to stop.")
    for name in names:
        session = _known("stop", name)
        session.close()
        registry.remove(name)
        say(f"{name} is stopped.")


def _known(sub: str, name: str) -> Session:
    """The session called ``name``; when there is none, the line may have been meant as a prompt."""
    try:
        return registry.get(name, lost=sub == "stop")
    except UsageError as error:
        raise UsageError(f"{error} To send this as a prompt write %hm -- {sub} {name}") from None


def saved(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm sessions``"""
    found = registry.there(args.get("session", "")).sessions(all=bool(args.get("all")))
    columns = ("id", "title", "updated", "turns", "status", "model")
    rows = []
    for item in found:
        model = "/".join(str(item[k]) for k in ("provider", "model") if item.get(k))
        rows.append((*(item.get(k, "") for k in columns[:-1]), model))
    note = "Take one up again with %hm resume ID." if rows else "None saved here; try %hm sessions --all."
    return Table(columns, rows, note=note, code=("id",))


def resume(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm resume``"""
    named = args.get("session", "")
    wanted = args.words[0] if args.words else ""
    session = registry.lost(named)
    if session is not None:
        name = named or registry.current_name
        again = session.resume(wanted or session.state.session_id, name=args.get("name") or session.name)
        follows = registry.follows(session)
        registry.remove(name)
        registry.add(again, args.get("name") or name, follows=follows)
    else:
        before = registry.names()
        session = magics.session(named)
        _is_saved("resume", session, wanted)
        wanted = wanted or _latest(session)
        again = session.resume(wanted, name=args.get("name") or session.name, **_its_folder(session, wanted))
        follows = registry.follows(session)
        if (
            begun := registry.current_name
        ) not in before:  # only to ask it what is saved, as after the kernel's restart
            session.close()
            registry.remove(begun)
        registry.add(again, args.get("name", ""), follows=follows)
    ready(again)


def close(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm close``"""
    session, wanted = _one_saved("close", magics, args)
    session.close_session(wanted)
    say(f"The agent closed {wanted}.")


def delete(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm delete``"""
    session, wanted = _one_saved("delete", magics, args)
    session.delete_session(wanted)
    say(f"The agent deleted {wanted}.")


def _one_saved(sub: str, magics: HmMagics, args: Args) -> tuple[Session, str]:
    if not args.words:
        raise UsageError(f"Which session? Write %hm {sub} ID; %hm sessions lists them. To end this one: %hm stop.")
    session = registry.get(args.get("session", ""))
    if args.words[0] in registry.names():
        raise UsageError(f"{args.words[0]} is a session of this kernel: %hm stop {args.words[0]} ends it.")
    _is_saved(sub, session, args.words[0])
    return session, args.words[0]


def _latest(session: Session) -> str:
    """The saved session of this folder that was used last and is not open in this kernel; "" where the agent lists none.

    Without it an agent that finds nothing begins anew, and it would look as if that were what was asked for; and the one
    used last is mostly the very session the person is in.
    """
    if not session.capabilities.list_sessions:
        return ""
    here = {s.state.session_id: name for name, s in registry.items()}
    found = sorted(session.sessions(), key=lambda item: str(item.get("updated", "")), reverse=True)
    for item in found:
        if item.get("id") not in here:
            return str(item["id"])
    elsewhere = "%hm sessions --all lists those of other folders, and %hm resume ID goes on with one."
    if found:
        name = here[str(found[0]["id"])]
        raise UsageError(f"The only saved session of this folder is open here as {name}: %hm use {name}. {elsewhere}")
    raise UsageError(f"Nothing is saved of {session.state.root or 'this folder'}. {elsewhere}")


def _its_folder(session: Session, wanted: str) -> dict[str, str]:
    """Where a saved session of another folder worked: it is to find its files there, not in the notebook's folder."""
    if not wanted or not session.capabilities.list_sessions:
        return {}
    root = next((str(i.get("root") or "") for i in session.sessions(all=True) if str(i.get("id")) == wanted), "")
    return {"cwd": root} if root and root != session.state.root and os.path.isdir(root) else {}


def _is_saved(sub: str, session: Session, wanted: str) -> None:
    """Refuse an id the agent does not list: the line may have been meant as a prompt."""
    if not wanted or not session.capabilities.list_sessions:
        return
    if all(str(item.get("id")) != wanted for item in session.sessions(all=True)):
        raise UsageError(
            f"The agent has no session {wanted!r}; %hm sessions --all lists them. "
            f"To send this as a prompt write %hm -- {sub} {wanted}"
        )


def fork(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm fork``"""
    where = args.words[0] if args.words else ""
    made = registry.get(args.get("session", "")).fork(where)
    after = f" after turn {where}" if where.isdigit() else ""
    say(f"The session goes on{after} as {made.get('session') or made.get('id') or 'a fork'}.")


def export(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm export``"""
    session = registry.get(args.get("session", ""), lost=True)
    path = str(value_of(args.words[0], scope)) if args.words else ""
    kind = args.get("format", "")
    if args.get("agent"):
        if args.get("with-secrets"):
            raise UsageError("--with-secrets is for our own export; the agent decides what its export leaves out.")
        if kind in ("txt", "json", "ipynb"):
            raise UsageError(f"the agent's export is html, md or jsonl, not {kind}; without --agent we write {kind}.")
        made = session.agent_export(format=kind or None, path=path, all_branches=bool(args.get("all-branches")))
        redacted = ", ".join(made.get("redacted") or [])
        say(f"The agent wrote {made.get('path', 'its export')}" + (f" (taken out: {redacted})." if redacted else "."))
        return
    if args.get("all-branches"):
        raise UsageError("--all-branches goes with --agent: only the agent knows its other branches.")
    if not path:
        path = f"{registry.current_name or 'session'}.{kind or 'html'}"
    elif kind and not path.endswith(f".{kind}"):
        path = f"{path}.{kind}"
    written = session.export(path, redact=not args.get("with-secrets"))
    taken = ", ".join(written.redacted)
    say(f"Wrote {written}" + (f" (taken out: {taken})." if taken else "."))


def _approval(magics: HmMagics, session: Session) -> str:
    """Who decides: a session that was started without a policy of its own follows the setting, for prompts of magics."""
    own = str(session.state.approve)
    if not registry.follows(session) or not magics.approve or magics.approve == own:
        return own
    return f"{magics.approve} (the setting); {own} for prompts from Python"


def _context(session: Session) -> str:
    used, size = session.context
    if not used:
        return ""
    return f"{used:,} tokens" + (f" of {size:,} ({used / size:.0%})" if size else "")


def state(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm state``"""
    name = args.get("session", "") or registry.current_name
    session = registry.get(name, lost=True)
    now = session.state
    used = now.usage
    tokens = f"{used.input:,} in, {used.output:,} out"
    if used.cache_read or used.cache_write:
        tokens += f", cache {used.cache_read:,} read, {used.cache_write:,} written"
    pairs = [
        ("session", f"{name} ({now.session_id})" if now.session_id else name),
        ("title", now.title),
        ("agent", now.agent),
        ("status", now.status),
        ("model", "/".join(x for x in (now.provider, model_name(now.model)) if x)),
        ("effort", now.effort),
        ("mode", now.mode),
        ("approve", _approval(magics, session)),
        ("folder", now.root),
        ("turns", now.turn),
        ("waiting", len(now.pending) or ""),
        ("tokens", tokens if used.input or used.output else ""),
        ("context", _context(session)),
        ("cost", now.spent or (f"${used.cost:.4f}" if used.cost is not None else "")),
        ("speaks", now.protocol),
        ("connection", now.link),
        ("goes on", "\n".join(f"{b.id}  {b.title or b.kind}" for b in now.background)),
    ]
    return Table(("what", "value"), [p for p in pairs if p[1] != ""], code=("value",))
