"""What a person names becomes a plan of how to reach that agent: a program or an address, its protocol, its environment.

It starts nothing and connects to nothing (that is ``connect``). Tokens pass through here into headers and nowhere else:
no repr, no name and no error text of this module holds one.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union
from urllib.parse import urlsplit

from .catalog import PROTOCOLS, Agent, catalog
from .errors import AgentNotFound, UsageError

BUILTIN = [sys.executable, "-m", "hm_jupyter.agents"]
_URL = re.compile(r"(https?|wss?)://", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
Headers = Union[Mapping[str, str], Callable[[], Mapping[str, str]], None]


@dataclass(frozen=True)
class Launch:
    """How to reach an agent: ``name`` for people, ``program`` (a process of ours) or ``url`` (one that runs already).

    ``headers`` go with every request to ``url``. ``known`` is its name in the catalog, ``agent`` what stands there.
    """

    name: str
    program: list[str]
    protocol: str
    url: str = field(default="", repr=False)
    headers: Headers = field(default=None, repr=False)
    known: str = ""
    agent: Agent | None = field(default=None, repr=False)

    @property
    def builtin(self) -> bool:
        """Is it the agent that comes with this package?"""
        return self.program[:3] == BUILTIN


def find(
    agent: str | Sequence[str] | None,
    protocol: str | None = None,
    *,
    headers: Headers = None,
    token: str | None = None,
) -> Launch:
    """How to reach ``agent`` (see :func:`hm_jupyter.connect`). Raises ``AgentNotFound`` or ``UsageError``."""
    if protocol is not None and protocol not in PROTOCOLS:
        raise UsageError(f"protocol={protocol!r} is not spoken here. Known: {', '.join(PROTOCOLS)}.")
    if isinstance(agent, str) and _URL.match(agent):
        return _remote(agent, protocol, {}, headers, token)
    if (headers or token is not None) and not (isinstance(agent, str) and _is_remote(agent)):
        raise UsageError(
            "headers= and token= go with an address, such as https://host/acp; a program of yours takes env=."
        )
    if agent is None or agent in ("demo", "builtin"):
        demo = ["--provider", "demo"] if agent == "demo" else []  # else whatever its settings and keys say
        return Launch("hm", [*BUILTIN, *demo], _only_hm(protocol, "the built-in agent"))
    if isinstance(agent, str):
        return _hm(protocol) if agent == "hm" else _known(agent, protocol, headers, token)
    command = [str(part) for part in agent]
    if not command or not command[0]:
        raise UsageError("The command is empty: give the program and its arguments, or nothing for the built-in agent.")
    return Launch(_called(command), command, protocol or "acp")


def named(text: str) -> str | list[str] | None:
    """What a setting or ``HM_JUPYTER_AGENT`` means: a name or an address as it is, several words as a command."""
    text = text.strip()
    if not text:
        return None
    return text if _URL.match(text) or not re.search(r"\s", text) else shlex.split(text)


def environment(launch: Launch, env: Mapping[str, str | None] | None = None) -> dict[str, str | None]:
    """What is laid over the inherited environment for the agent's process (None takes a variable out).

    Everything is inherited (keys, proxies, certificates, PATH) but what ``npm run`` sets for its own children. Then the
    catalog's word, then the caller's, which wins.
    """
    laid: dict[str, str | None] = {name: None for name in os.environ if name.lower().startswith("npm_")}
    if launch.agent is not None:
        laid.update(dict.fromkeys(launch.agent.remove))
        laid.update({name: value for name, value in launch.agent.env.items() if name not in os.environ})
    laid.update(env or {})
    if launch.builtin:
        # it is this very package, wherever it was imported from
        home = str(Path(__file__).resolve().parent.parent)
        path = laid.get("PYTHONPATH", os.environ.get("PYTHONPATH"))
        laid["PYTHONPATH"] = os.pathsep.join(p for p in (home, path) if p)
    return laid


def how_to_install(name: str, agent: Agent) -> str:
    """What to type to have an agent of the catalog, in a sentence or two."""
    lines = [f"Install it: {agent.install}" if agent.install else f"See the pages of {agent.title or name}"]
    if agent.needs:
        lines.append(f"it needs {agent.needs}")
    return "; ".join(lines) + "."


def missing(launch: Launch, env: Mapping[str, str | None] | None = None) -> AgentNotFound | None:
    """Why the program of an agent of the catalog cannot be started here, and how to get it; None when it is there."""
    if launch.agent is None or not launch.program:
        return None
    path = (env or {}).get("PATH") or os.environ.get("PATH")
    if shutil.which(launch.program[0], path=path):
        return None
    title = launch.agent.title or launch.known
    text = (
        f"{title} is not here: there is no program {launch.program[0]!r} on this kernel's PATH. "
        f"{how_to_install(launch.known, launch.agent)} Installed elsewhere? Give its command"
    )
    command = f'["/path/to/{launch.program[0]}"{"".join(", " + repr(a) for a in launch.program[1:])}]'
    return AgentNotFound(
        f"{text}: hm.connect({command}).",
        magic=f"{text} in a variable: agent = {command}, then %hm start agent. %hm agents lists what is here.",
    )


# ---- the kinds ---------------------------------------------------------------------------------------------------------


def _called(command: Sequence[str]) -> str:
    """A command's name for people: the program's, or what it is told to run where it only runs others."""
    runners = r"(python|pypy)[\d.]*|node|bun|deno|npx|bunx|uvx|uv|pipx|env"
    words = [w for w in command[1:] if not w.startswith("-") and w not in ("run", "tool", "exec") and "=" not in w]
    name = Path(command[0]).name
    if re.fullmatch(runners, name) and words:
        name = Path(re.sub(r"(?<=.)@[^@/]*$", "", words[0])).name
    return re.sub(r"\.(py|m?js|cjs|ts|exe)$", "", name) or name


def _is_remote(name: str) -> bool:
    found = catalog().get(name)
    return bool(_URL.match(name)) or (found is not None and bool(found[1].url))


def _only_hm(protocol: str | None, who: str) -> str:
    if protocol not in (None, "hm"):
        raise UsageError(f'{who} speaks hm RPC: leave protocol={protocol!r} out, or write protocol="hm".')
    return "hm"


def _hm(protocol: str | None) -> Launch:
    spoken = _only_hm(protocol, "hm")
    program = shutil.which("hm")
    if program is None:
        text = "There is no hm program on PATH. Install it, or use the built-in agent: "
        raise AgentNotFound(f"{text}hm.connect() with no name.", magic=f"{text}%hm start builtin.")
    return Launch("hm", [program, "agent"], spoken)


def _known(name: str, protocol: str | None, headers: Headers, token: str | None) -> Launch:
    from difflib import get_close_matches

    known = catalog()
    found = known.get(name)
    if found is None:
        close = get_close_matches(name.lower(), [*known.names, "hm"], n=1, cutoff=0.7)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known: hm, {', '.join(known.agents)}."
        words = shlex.split(name) if re.search(r"\s", name) else [name, "acp"]
        text = f"No agent is known by the name {name!r}. {hint} %hm agents lists them. For any other program give its command"
        elsewhere = "for one that runs elsewhere its address, https://… or wss://…."
        raise AgentNotFound(
            f"{text} as a list: hm.connect({words!r}); {elsewhere}",
            magic=f"{text} in a variable: agent = {words!r}, then %hm start agent; {elsewhere}",
        )
    own, agent = found
    spoken = protocol or agent.protocol
    if agent.url:
        return _remote(agent.url, spoken, _from_environment(own, agent.headers), headers, token, own, agent)
    return Launch(own, list(agent.command), spoken, known=own, agent=agent)


def _remote(
    url: str,
    protocol: str | None,
    usual: Mapping[str, str],
    headers: Headers,
    token: str | None,
    known: str = "",
    agent: Agent | None = None,
) -> Launch:
    if protocol in ("hm", "omp", "pi"):
        name = "hm" if protocol == "hm" else "omp's and pi's"
        raise UsageError(f"{name} RPC is spoken with a program only: an address must speak ACP (leave protocol= out).")
    try:
        parts = urlsplit(url)
        port = parts.port
        good = bool(parts.hostname) and parts.username is None
    except ValueError:
        good = False
    if not good:
        raise UsageError(
            "That is no address: write https://host/acp or wss://host/acp, with no name or password in it."
        )
    if token is not None and not token.strip():
        raise UsageError("token= is empty: is the environment variable set where the kernel was started?")
    sent: Headers = headers
    if usual or token is not None:
        if callable(headers):
            raise UsageError("headers= is a function: have it give the Authorization header too, and leave token= out.")
        whole = {**usual, **(headers or {})}
        if token is not None:
            whole = {k: v for k, v in whole.items() if k.lower() != "authorization"}
            whole["Authorization"] = f"Bearer {token.strip()}"
        sent = whole
    name = known or f"{parts.hostname}{f':{port}' if port else ''}"
    return Launch(name, [], protocol or "acp", url, sent, known, agent)


def _from_environment(name: str, headers: Mapping[str, str]) -> dict[str, str]:
    return {header: expanded(value, f"the header {header} of {name}") for header, value in headers.items()}


def expanded(text: str, what: str) -> str:
    """``text`` with ``$NAME`` and ``${NAME}`` taken from the environment. Raises ``UsageError`` for one not set."""

    def value(match: re.Match[str]) -> str:
        variable = match[1] or match[2]
        if variable not in os.environ:
            raise UsageError(
                f"{what} needs the environment variable {variable}, which this kernel does not have. Set it where Jupyter is "
                f"started, or here: import os, getpass; os.environ[{variable!r}] = getpass.getpass()"
            )
        return os.environ[variable]

    return _VARIABLE.sub(value, text)
