"""An agent calls a function of the notebook, or reads and writes an address of ours: with leave.

omp asks for host tools by a dialog of its own where it asks at all; a call that was allowed so, with these very arguments, is
not asked twice. Every other is asked here, by a request like any other, policies included. Reading an address needs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..protocols.base import HostCall
from ..transcript import ToolEntry
from ..workspace.refused import Refused
from .offered import Offered, Scheme
from .runtime import beside

if TYPE_CHECKING:
    from .asking import Asking
    from .cards import Cards
    from .controller import Controller


class Offering:
    """One session's."""

    def __init__(self, controller: Controller, asking: Asking, cards: Cards) -> None:
        self.offered = Offered()
        self._controller = controller
        self._asking = asking
        self._cards = cards
        self._used: set[str] = set()  # the calls whose leave was used up
        self._rules: set[str] = set()  # what is allowed for the session

    async def tool(self, call: HostCall) -> dict[str, Any]:
        """Call a function. Raises :class:`Refused`."""
        name, given = str(call.args.get("name")), call.args.get("arguments")
        arguments = given if isinstance(given, Mapping) else {}
        offered = self.offered.tools.get(name)
        if offered is None:
            raise Refused("not_found", f"There is no tool {name!r} here any more.")
        if offered.ask:
            await self._leave(call, f"tool {name}", name, "other", dict(arguments), f"every call of {name}")
        return {"content": await beside(offered.run, arguments)}

    async def uri_read(self, call: HostCall) -> dict[str, Any]:
        """Read an address. Raises :class:`Refused`."""
        url = str(call.args.get("url"))
        found = await beside(_done, self._scheme(url).read, url)
        text = found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
        return {"content": text, "content_type": "text/plain"}

    async def uri_write(self, call: HostCall) -> dict[str, Any]:
        """Write to an address. Raises :class:`Refused`."""
        url, content = str(call.args.get("url")), call.args.get("content")
        scheme = self._scheme(url)
        if scheme.write is None:
            raise Refused("denied", f"{scheme.scheme}:// can only be read.")
        if not isinstance(content, str):
            raise Refused("invalid", "content is no text.")
        if scheme.ask:
            shown = {"path": url, "content": content}
            await self._leave(call, f"write {scheme.scheme}", "write", "edit", shown, f"writes to {scheme.scheme}://")
        await beside(_done, scheme.write, url, content)
        return {}

    def _scheme(self, url: str) -> Scheme:
        found = self.offered.schemes.get(urlsplit(url).scheme)
        if found is None:
            raise Refused("not_found", f"Nothing here answers {url[:200]!r}.")
        return found

    async def _leave(
        self, call: HostCall, key: str, name: str, category: str, shown: dict[str, Any], rule: str
    ) -> None:
        call_id = str(call.args.get("call_id") or "")
        if key in self._rules or self._allowed(call_id, shown):
            return
        card = call_id if call_id and self._controller.transcript.tool(call_id) is not None else self._cards.own(call)
        request = await self._asking.ask(
            call, card, tool=name, category=category, summary=name, input=shown, rule=f"{rule}, for this session",
            paths=[shown["path"]] if category == "edit" else [],
        )  # fmt: skip
        if request.for_session:
            self._rules.add(key)

    def _allowed(self, call_id: str, arguments: Mapping[str, Any]) -> bool:
        """Has a person or the policy allowed that very call, with these arguments? Once. ("": omp does not say for which
        call it wants an address; then any call of the turn that says just that.)"""
        t = self._controller.transcript
        calls = [t.tool(call_id)] if call_id else t.of_turn(t.state.turn)
        for entry in calls:
            if isinstance(entry, ToolEntry) and entry.call_id not in self._used and _allowed(entry, arguments):
                self._used.add(entry.call_id)
                return True
        return False


def _allowed(entry: ToolEntry, arguments: Mapping[str, Any]) -> bool:
    decision, given = entry.decision, entry.input
    if decision is None or decision.outcome != "allowed" or decision.by == "agent" or not isinstance(given, dict):
        return False
    return all(name in given and given[name] == value for name, value in arguments.items())


def _done(function: Any, *args: str) -> Any:
    """Call a person's function; what it raises is told to the agent."""
    try:
        return function(*args)
    except Exception as error:
        raise Refused("failed", f"{type(error).__name__}: {error}") from None
