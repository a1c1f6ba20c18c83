"""Files and terminals of ours that an agent of v1 may use: its requests become host calls, what became of them its answers.

ACP v1, ``fs/*`` and ``terminal/*``. Whether a call is carried out is decided elsewhere (``session/hosting.py``): nothing here
touches a file or a process. Terminal ids are ours; one that is not known, or was released, is never passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..base import HostCall, HostFailure, Step
from ..jsonrpc import CANCELLED, INTERNAL_ERROR, INVALID_PARAMS, Peer, RpcId
from .updates import Updates

NOT_FOUND = -32002  # ACP v1, "Error codes": resource not found
_CODES = {
    "not_found": NOT_FOUND,
    "denied": INTERNAL_ERROR,
    "invalid": INVALID_PARAMS,
    "failed": INTERNAL_ERROR,
    "cancelled": CANCELLED,
}


class Invalid(Exception):
    """Params a host call cannot be made of; the text says which. Never leaves this module."""


@dataclass(slots=True)
class _Call:
    rpc_id: RpcId
    name: str
    terminal_id: str
    answer: Callable[[dict[str, Any]], Any]


class Hosting:
    """The host's side of one connection.

    Args:
        peer: who answers.
        updates: who shows what a terminal of ours wrote.
        missing_is_empty: a file that is not there is read as empty. Gemini CLI cannot create a file otherwise: it
            does not recognise the error it asks for.
        offered: whether anything of ours was offered at all.
        read: whether reading files was.
    """

    def __init__(
        self,
        peer: Peer,
        updates: Updates,
        *,
        offered: bool = True,
        missing_is_empty: bool = False,
        read: bool = True,
    ) -> None:
        self._peer = peer
        self._updates = updates
        self._missing_is_empty = missing_is_empty
        self._calls: dict[str, _Call] = {}
        self._terminals: set[str] = set()
        self._made = 0
        self._handlers: dict[str, Callable[[dict[str, Any]], tuple[HostCall, Callable[[dict[str, Any]], Any]]]] = {
            "fs/write_text_file": self._write,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._plain("terminal_kill"),
            "terminal/release": self._release,
        }
        if read:
            self._handlers["fs/read_text_file"] = self._read
        if not offered:
            self._handlers.clear()

    # ---- from the agent --------------------------------------------------------------------------------------------

    def request(self, rpc_id: RpcId, method: str, params: dict[str, Any], step: Step) -> bool:
        """A request of the agent's. False: it is not for the host."""
        handler = self._handlers.get(method)
        if handler is None:
            return False
        try:
            call, answer = handler(params)
        except Invalid as wrong:
            self._peer.fail(step, rpc_id, INVALID_PARAMS, str(wrong))
        except KeyError as unknown:
            text = f"There is no terminal {str(unknown.args[0])[:100]!r}; it was released, or never made."
            self._peer.fail(step, rpc_id, NOT_FOUND, text)
        else:
            self._calls[call.id] = _Call(rpc_id, call.name, str(call.args.get("terminal_id", "")), answer)
            step.calls.append(call)
        return True

    def withdraw(self, rpc_id: RpcId, step: Step) -> bool:
        """The agent does not wait for this any more. False: it is nothing of the host's."""
        for call_id, call in self._calls.items():
            if call.rpc_id == rpc_id and type(call.rpc_id) is type(rpc_id):
                self._drop(call_id, step)
                return True
        return False

    def forget(self, step: Step) -> None:
        """The connection is gone, and with it whoever used these."""
        step.dropped.extend(self._calls)
        self._calls.clear()
        for terminal_id in sorted(self._terminals):
            step.calls.append(self._call("terminal_release", terminal_id=terminal_id))
        self._terminals.clear()

    # ---- from the host ---------------------------------------------------------------------------------------------

    def done(self, call_id: str, result: dict[str, Any] | HostFailure, step: Step) -> None:
        """A host call is done."""
        call = self._calls.pop(call_id, None)
        if call is None:
            return  # withdrawn meanwhile, or one of ours that nobody waits for
        if isinstance(result, HostFailure):
            if call.name == "terminal_create":
                self._terminals.discard(call.terminal_id)
            if call.name == "read_file" and result.kind == "not_found" and self._missing_is_empty:
                self._peer.answer(step, call.rpc_id, {"content": ""})
            else:
                self._peer.fail(step, call.rpc_id, _CODES.get(result.kind, INTERNAL_ERROR), result.message)
            return
        ended = {"terminal_wait": result, "terminal_output": result.get("exit")}.get(call.name)
        if isinstance(ended, dict):
            self._updates.host_exit(call.terminal_id, ended.get("code"), step.events)
        self._peer.answer(step, call.rpc_id, call.answer(result))

    # ---- its requests ----------------------------------------------------------------------------------------------

    def _call(self, name: str, **args: Any) -> HostCall:
        self._made += 1
        return HostCall(f"h{self._made}", name, args)

    def _read(self, p: dict[str, Any]) -> tuple[HostCall, Callable[[dict[str, Any]], Any]]:
        call = self._call("read_file", path=_text(p, "path"), line=_count(p, "line"), limit=_count(p, "limit"))
        return call, lambda result: {"content": result.get("content", "")}

    def _write(self, p: dict[str, Any]) -> tuple[HostCall, Callable[[dict[str, Any]], Any]]:
        content = p.get("content")
        if not isinstance(content, str):
            raise Invalid("content must be a text.")
        return self._call("write_file", path=_text(p, "path"), content=content), _nothing

    def _create(self, p: dict[str, Any]) -> tuple[HostCall, Callable[[dict[str, Any]], Any]]:
        args = p.get("args")
        if args is not None and not (isinstance(args, list) and all(isinstance(a, str) for a in args)):
            raise Invalid("args must be a list of texts.")
        cwd = p.get("cwd")
        call = self._call("terminal_create")
        terminal_id = f"terminal-{self._made}"
        call.args = {
            "terminal_id": terminal_id,
            "command": _text(p, "command"),
            "args": args or [],
            "env": _environment(p.get("env")),
            "cwd": cwd if isinstance(cwd, str) and cwd else None,
            "output_limit": _count(p, "outputByteLimit"),
            "call_id": self._updates.calls.of_terminal(terminal_id),
        }
        self._terminals.add(terminal_id)
        return call, lambda result: {"terminalId": terminal_id}

    def _output(self, p: dict[str, Any]) -> tuple[HostCall, Callable[[dict[str, Any]], Any]]:
        def answer(result: dict[str, Any]) -> dict[str, Any]:
            told = {"output": result.get("output", ""), "truncated": result.get("truncated") is True}
            ended = result.get("exit")
            return {**told, "exitStatus": _exit(ended)} if isinstance(ended, dict) else told

        return self._call("terminal_output", terminal_id=self._known(p)), answer

    def _wait(self, p: dict[str, Any]) -> tuple[HostCall, Callable[[dict[str, Any]], Any]]:
        return self._call("terminal_wait", terminal_id=self._known(p)), _exit

    def _plain(self, name: str) -> Callable[[dict[str, Any]], tuple[HostCall, Callable[[dict[str, Any]], Any]]]:
        return lambda p: (self._call(name, terminal_id=self._known(p)), _nothing)

    def _release(self, p: dict[str, Any]) -> tuple[HostCall, Callable[[dict[str, Any]], Any]]:
        terminal_id = self._known(p)
        self._terminals.discard(terminal_id)  # the id is not valid any more, whatever is still shown of it
        return self._call("terminal_release", terminal_id=terminal_id), _nothing

    def _known(self, p: dict[str, Any]) -> str:
        terminal_id = _text(p, "terminalId")
        if terminal_id not in self._terminals:
            raise KeyError(terminal_id)
        return terminal_id

    def _drop(self, call_id: str, step: Step) -> None:
        call = self._calls.pop(call_id)
        if call.name == "terminal_create":
            self._terminals.discard(call.terminal_id)
        step.dropped.append(call_id)
        self._peer.fail(step, call.rpc_id, CANCELLED, "Given up.")


def _nothing(result: dict[str, Any]) -> dict[str, Any]:
    return {}


def _exit(result: dict[str, Any]) -> dict[str, Any]:
    return {"exitCode": result.get("code"), "signal": result.get("signal")}


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise Invalid(f"{name} must be a text.")
    return value


def _count(params: dict[str, Any], name: str) -> int | None:
    value = params.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or not 0 <= value < 2**53:
        raise Invalid(f"{name} must be a number that is not negative.")
    return int(value)


def _environment(value: Any) -> dict[str, str]:
    """A list of name and value (ACP v1), or a mapping, as some write it."""
    if isinstance(value, dict):
        pairs = list(value.items())
    else:
        pairs = (
            [(p.get("name"), p.get("value")) for p in value if isinstance(p, dict)] if isinstance(value, list) else []
        )
    return {k: v for k, v in pairs if isinstance(k, str) and k and isinstance(v, str)}
