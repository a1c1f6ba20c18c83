"""``%hm bash stats name new-session branches call``: commands of oh-my-pi and pi, and any request of an agent's own wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .options import Args
from .registry import registry
from .show import Table, say

if TYPE_CHECKING:
    from ..session.session import Session
    from .magics import HmMagics


def bash(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm bash``"""
    session = registry.there(args.get("session", ""))
    if args.get("stop"):
        session.rpc.abort_bash()
        say("The agent was told to stop the command.")
        return
    found = session.rpc.bash(args.text, hidden=bool(args.get("hidden")))
    output = str(found.get("output") or "").rstrip("\n")
    if output:
        say(output)
    say(_ending(found, hidden=bool(args.get("hidden"))))


def _ending(found: Mapping[str, Any], *, hidden: bool) -> str:
    """How it ended, what is missing of its output, and when the model gets to see it."""
    code = found.get("exitCode")
    how = "Stopped" if found.get("cancelled") else f"Exit code {code}" if code is not None else "Done"
    cut = ""
    if found.get("truncated"):
        where = found.get("fullOutputPath") or found.get("artifactId")
        lines = f" ({found['outputLines']} of {found['totalLines']} lines)" if "totalLines" in found else ""
        cut = f" The output is cut{lines}{f'; the whole of it: {where}' if where else ''}."
    seen = "The model does not see this." if hidden else "The model sees this with your next prompt."
    return f"{how}.{cut} {seen}"


def stats(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm stats``"""
    found = registry.there(args.get("session", "")).rpc.stats()
    rows = []
    for key, value in found.items():
        if isinstance(value, Mapping):
            rows += [(f"{key}.{inner}", _shown(each)) for inner, each in value.items()]
        else:
            rows.append((key, _shown(value)))
    return Table(("what", "value"), rows, code=("value",))


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def name(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm name``"""
    session = registry.there(args.get("session", ""))
    if not args.text.strip():
        say(f"The agent calls this session {session.state.title!r}." if session.state.title else "It has no name yet.")
        return
    session.rpc.set_name(args.text.strip())
    say(f"The agent calls this session {args.text.strip()!r} now.")


def new_session(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> None:
    """``%hm new-session``"""
    session = registry.there(args.get("session", ""))
    before = session.state.session_id
    if not session.rpc.new_session():
        raise UsageError("An extension of the agent did not let it begin a new session; the old one goes on.")
    say(f"{session.state.agent} begins anew. What was said so far stays saved: %hm resume {before}")


def branches(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm branches``"""
    found = registry.there(args.get("session", "")).rpc.branch_messages()
    rows = [(str(m.get("entryId", "")), _line(str(m.get("text", "")))) for m in found if isinstance(m, Mapping)]
    note = "Go on from before one of them with %hm fork ENTRY." if rows else "Nothing was said yet."
    return Table(("entry", "your message"), rows, note=note, code=("entry",))


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else flat[:99] + "…"


def call(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Any:
    """``%hm call``"""
    session: Session = registry.there(args.get("session", ""))
    method, _, rest = args.text.strip().partition(" ")
    if not method:
        raise UsageError('Which request? Write %hm call METHOD, or %hm call METHOD {"name": "value"}.')
    try:
        params = json.loads(rest) if rest.strip() else {}
    except ValueError as error:
        raise UsageError(f"What follows {method} is not JSON ({error}).") from None
    if not isinstance(params, dict):
        raise UsageError(f'What follows {method} must be a JSON object, such as {{"name": "value"}}.')
    answer = session.call(method, params)
    text = json.dumps(answer, indent=1, ensure_ascii=False, default=str)
    say(
        text
        if len(text) <= 20_000
        else f"{text[:20_000]}…\n(cut: {len(text):,} characters; s.call({method!r}) gives it)"
    )
