"""What oh-my-pi and pi can do beside what every agent can: a call for each command of their wire (``session.rpc``).

Each is one request (``session.call``) under the name it has in the agent's dialect, and gives its ``data``. What the answer
changes of the session (a name, a model, …) the adapter tells as it does any change. Raises ``NotSupported`` for a command that
this agent has not, ``AgentError`` with its own words for one it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..errors import NotSupported, UsageError
from .offered import scheme, tool

if TYPE_CHECKING:
    from .session import Session

OMP, PI = frozenset({"omp"}), frozenset({"pi"})
BOTH = OMP | PI

#: The commands with a call here, and who has them (dialects of one wire; the newest releases).
COMMANDS: dict[str, frozenset[str]] = {
    "new_session": BOTH, "switch_session": BOTH, "open_session": OMP, "get_messages": BOTH, "get_messages_page": OMP,
    "get_entries": BOTH, "get_tree": BOTH, "cycle_model": BOTH, "get_available_models": BOTH,
    "cycle_thinking_level": BOTH, "get_available_thinking_levels": BOTH, "abort_retry": BOTH, "bash": BOTH,
    "abort_bash": BOTH, "get_session_stats": BOTH, "get_last_assistant_text": BOTH, "set_session_name": BOTH,
    "get_branch_messages": OMP, "get_fork_messages": PI, "clone": PI, "clear_queue": PI, "handoff": OMP,
    "abort_and_prompt": OMP, "get_available_commands": OMP, "get_commands": PI, "set_todos": OMP,
    "set_subagent_subscription": OMP, "get_subagents": OMP, "get_subagent_messages": OMP, "set_event_filter": OMP,
    "get_login_providers": OMP, "login": OMP, "remove_queued_message": OMP, "promote_queued_message": OMP,
    "cancel_subagent": OMP, "steer_subagent": OMP, "set_fast_mode": OMP, "set_host_tools": OMP, "set_host_uri_schemes": OMP,
}  # fmt: skip


class RpcCalls:
    """The calls. ``session.rpc`` makes it; raises ``NotSupported`` for an agent that speaks something else."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.dialect = session.controller.adapter.name
        if self.dialect not in BOTH:
            raise NotSupported(
                f"{session.state.agent} does not speak the RPC of omp or pi; s.call(…) sends it a request."
            )

    # ---- your own commands -----------------------------------------------------------------------------------------

    def bash(self, command: str, *, hidden: bool = False) -> dict[str, Any]:
        """Run a shell command of *yours* at the agent, and wait for its end; a card shows it. The model sees command and
        output with your next prompt, not before. ``hidden`` (pi): it never does.

        Gives ``output``, ``exitCode``, ``cancelled``, ``truncated``, … Nobody is asked: it is your command.
        """
        if not command.strip():
            raise UsageError("Which command? Write bash('ls'), or %hm bash ls.")
        if hidden and self.dialect != "pi":
            raise NotSupported(f"{self.dialect} keeps no command from the model.")
        more = {"excludeFromContext": True} if hidden else {}
        return self._data("bash", command=command, **more)

    def abort_bash(self) -> None:
        """Stop that command."""
        self._call("abort_bash")

    # ---- the session -----------------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Counts of messages and calls, ``tokens``, ``cost``, ``contextUsage``."""
        return self._data("get_session_stats")

    def set_name(self, name: str) -> None:
        """Call the session something, in the agent's own list."""
        self._call("set_session_name", name=name)

    def new_session(self, parent: str = "") -> bool:
        """Go on in a new session, same process; False when an extension did not let it. ``parent``: the file it is from."""
        return not self._data("new_session", **({"parentSession": parent} if parent else {})).get("cancelled")

    def switch_session(self, session: str) -> bool:
        """Go on in a saved session, by its id or file; False when an extension did not let it.

        Both programs begin a new session in a file that is not there: so only one that is listed is taken."""
        listed = self._session.sessions(all=True)
        found = [s["path"] for s in listed if session in (s.get("id"), s.get("path"))]
        if not found:
            raise UsageError(f"There is no saved session {session[:80]!r}; s.sessions(all=True) lists them.")
        return not self._data("switch_session", sessionPath=found[0]).get("cancelled")

    def open_session(self, folder: str) -> dict[str, Any]:
        """Go on in the session of that session folder, or begin one there (omp from 18.3)."""
        return self._data("open_session", sessionDir=folder)

    def branch_messages(self) -> list[dict[str, Any]]:
        """The messages from which the session may be forked (``session.fork(entryId)``): ``entryId`` and ``text``."""
        command = "get_branch_messages" if self.dialect == "omp" else "get_fork_messages"
        return _list(self._data(command), "messages")

    def clone(self) -> bool:
        """Go on in a copy of the whole session (pi)."""
        return not self._data("clone").get("cancelled")

    def messages(self) -> list[dict[str, Any]]:
        """All messages, as the agent keeps them."""
        return _list(self._data("get_messages"), "messages")

    def message_page(self, cursor: str = "", limit: int = 0) -> dict[str, Any]:
        """A page of them (omp): ``messages``, ``totalMessages``, and ``nextCursor`` for the next one."""
        return self._data(
            "get_messages_page", **({"cursor": cursor} if cursor else {}), **({"limit": limit} if limit else {})
        )

    def entries(self, since: str = "") -> dict[str, Any]:
        """The session's rows: ``entries`` and ``leafId``; those after ``since`` alone."""
        return self._data("get_entries", **({"since": since} if since else {}))

    def tree(self) -> dict[str, Any]:
        """The session's branches: ``tree`` and ``leafId``."""
        return self._data("get_tree")

    def last_text(self) -> str:
        """The agent's last answer, "" when there is none."""
        return str(self._data("get_last_assistant_text").get("text") or "")

    def handoff(self, instructions: str = "") -> str:
        """Have it write down where things stand and go on from that (omp); the file it was saved to, or ""."""
        more = {"customInstructions": instructions} if instructions else {}
        return str(self._data("handoff", **more).get("savedPath") or "")

    # ---- the model -------------------------------------------------------------------------------------------------

    def models(self) -> list[dict[str, Any]]:
        """All models there are, each whole."""
        return _list(self._data("get_available_models"), "models")

    def cycle_model(self) -> dict[str, Any] | None:
        """The next model; None when there is no other."""
        return self._data("cycle_model") or None

    def thinking_levels(self) -> list[str]:
        """The levels of the model in use."""
        return [str(level) for level in self._data("get_available_thinking_levels").get("levels") or []]

    def cycle_thinking(self) -> str | None:
        """The next thinking level; None when the model does not think."""
        return self._data("cycle_thinking_level").get("level")

    def fast_mode(self, on: bool) -> dict[str, Any]:
        """omp's fast mode: ``enabled``, ``active``."""
        return self._data("set_fast_mode", enabled=on)

    # ---- what goes on ----------------------------------------------------------------------------------------------

    def abort_retry(self) -> None:
        """Give up on a request that is to be tried again."""
        self._call("abort_retry")

    def abort_and_prompt(self, text: str) -> None:
        """Stop the turn and begin another with ``text`` in one (omp)."""
        self._call("abort_and_prompt", message=text)

    def clear_queue(self) -> dict[str, Any]:
        """Take back what is queued (pi): the texts, ``steering`` and ``followUp``."""
        return self._data("clear_queue")

    def remove_queued(self, text: str, queue: Literal["steering", "followUp"] = "followUp") -> bool:
        """Take back one queued message (the newest omp)."""
        return bool(self._data("remove_queued_message", message=text, queue=queue).get("removed"))

    def promote_queued(self, text: str) -> bool:
        """Make a queued follow-up a steer (the newest omp)."""
        return bool(self._data("promote_queued_message", message=text).get("promoted"))

    def commands(self) -> list[dict[str, Any]]:
        """Its slash commands, each whole (``session.commands`` has their names)."""
        command = "get_available_commands" if self.dialect == "omp" else "get_commands"
        return _list(self._data(command), "commands")

    def set_todos(self, phases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Set its list of what is to do (omp): phases of ``name`` and ``tasks`` (``content``, ``status``)."""
        return _list(self._data("set_todos", phases=[_phase(p, n) for n, p in enumerate(phases, 1)]), "todoPhases")

    def event_filter(self, events: Sequence[str] | None) -> Any:
        """Have it send these events alone, or all (None) again (omp from 18.3). What is left out we cannot show."""
        return self._call("set_event_filter", events=None if events is None else list(events))

    # ---- sub-agents, signing in ------------------------------------------------------------------------------------

    def subagents(self, level: Literal["", "off", "progress", "events"] = "") -> list[dict[str, Any]]:
        """Its sub-agents (omp). ``level``: from now on be told of them: not, of their progress, of all they do."""
        if level:
            self._call("set_subagent_subscription", level=level)
        return _list(self._data("get_subagents"), "subagents")

    def subagent_messages(self, subagent: str, from_byte: int = 0) -> dict[str, Any]:
        """What a sub-agent has said: ``messages``, ``entries``, and ``nextByte`` to go on from."""
        return self._data("get_subagent_messages", subagentId=subagent, fromByte=from_byte)

    def steer_subagent(self, subagent: str, text: str) -> None:
        """Tell a sub-agent something (the newest omp)."""
        self._call("steer_subagent", subagentId=subagent, message=text)

    def cancel_subagent(self, subagent: str) -> bool:
        """Stop one sub-agent (the newest omp)."""
        return bool(self._data("cancel_subagent", subagentId=subagent).get("cancelled"))

    def login_providers(self) -> list[dict[str, Any]]:
        """Where one may sign in (omp): ``id``, ``name``, ``available``, ``authenticated``."""
        return _list(self._data("get_login_providers"), "providers")

    def login(self, provider: str) -> Any:
        """Sign in there (omp); it asks what it needs, and pages are opened by your click."""
        return self._call("login", providerId=provider)

    # ---- what the notebook offers it -------------------------------------------------------------------------------

    def offer(self, *functions: Callable[..., Any], ask: bool = True) -> list[str]:
        """Offer functions of yours to the model as tools (omp), in place of those offered before; their names.

        Name, docstring and annotations are what it is told. Each call is asked for, or decided by the policy, unless
        ``ask`` is False. A function runs in a thread of its own, while the cell waits; what it returns (text, data, a table,
        a figure) is its result, what it raises an error the model sees.
        """
        tools = {made.name: made for made in (tool(function, ask=ask) for function in functions)}
        found = self._data("set_host_tools", tools=[made.definition() for made in tools.values()])
        self._session.controller.hosting.offering.offered.tools = tools
        return [str(name) for name in found.get("toolNames") or ()]

    def offer_addresses(
        self,
        name: str,
        read: Callable[[str], Any],
        write: Callable[[str, str], Any] | None = None,
        *,
        description: str = "",
        ask: bool = True,
    ) -> list[str]:
        """Answer addresses ``name://…`` that the model reads and writes like files (omp): ``read(url)``, ``write(url,
        text)``. Writes are asked for, unless ``ask`` is False. Gives all schemes that are answered."""
        offered = self._session.controller.hosting.offering.offered
        schemes = {**offered.schemes, name: scheme(name, read, write, description, ask=ask)}
        found = self._data("set_host_uri_schemes", schemes=[each.definition() for each in schemes.values()])
        offered.schemes = schemes
        return [str(each) for each in found.get("schemes") or ()]

    # ---- beneath ---------------------------------------------------------------------------------------------------

    def _call(self, command: str, /, **params: Any) -> Any:
        if self.dialect not in COMMANDS[command]:
            raise NotSupported(f"{self._session.state.agent} has no command {command}: {self.dialect} lacks it.")
        return self._session.call(command, params)

    def _data(self, command: str, /, **params: Any) -> dict[str, Any]:
        found = self._call(command, **params)
        return dict(found) if isinstance(found, Mapping) else {}


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    found = data.get(key)
    return list(found) if isinstance(found, list) else []


def _phase(phase: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A phase with the ids that omp wants and does not keep."""
    tasks = [
        {"id": f"task-{number}-{n}", "status": "pending", **({"content": t} if isinstance(t, str) else t)}
        for n, t in enumerate(phase.get("tasks") or (), 1)
    ]
    return {"id": f"phase-{number}", "name": str(phase.get("name") or ""), **phase, "tasks": tasks}
