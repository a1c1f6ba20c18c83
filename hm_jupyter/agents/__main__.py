"""The agent's command line: flags, exit codes, signals before the loop is up.

Source: hm RPC, "Life of a session": bad flags end with 2 and nothing on standard output, SIGINT and SIGTERM with 130.
"""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":  # until main() takes over: nothing to clean up yet, and a Ctrl-C is no traceback
    for _number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(_number, lambda *_: os._exit(130))

import argparse
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(130)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line: whoever started the agent shows that to a person, who has not typed the flags."""

    def error(self, message: str) -> NoReturn:
        """One line on standard error, and exit code 2."""
        self.exit(2, f"{self.prog}: {message} (--help lists the flags)\n")


def parser() -> Parser:
    """The flags of the document."""
    p = Parser(
        prog="hm-jupyter agent",
        description="The built-in agent: JSON commands on standard input, JSON events on standard output.",
        allow_abbrev=False,
    )
    p.add_argument("--rpc", action="store_true", help="speak hm RPC; the only way it speaks")
    p.add_argument("--cwd", metavar="DIR", help="the workspace (default: the current folder)")
    p.add_argument("--mode", metavar="NAME", help="ask (default), edit, auto, plan, or one of hm.toml")
    p.add_argument(
        "--provider", metavar="NAME", default="",
        help="where models come from (default: hm.toml's, else the first with a key in the environment, else demo)",
    )  # fmt: skip
    p.add_argument("--model", metavar="ID", default="", help="a model's name; for demo a scenario's or a .toml file")
    which = p.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="ID", help="go on with that saved session (its id, or the beginning of it)")
    which.add_argument(
        "--continue", dest="resume", action="store_true", help="go on with the newest saved session of the workspace"
    )
    which.add_argument("--no-session", action="store_true", help="save nothing")
    p.add_argument("--max-steps", metavar="N", type=_positive, help="most model calls a turn may make")
    p.add_argument("--approve", choices=("ask", "edits", "all"), default="ask", help="who decides (default: ask)")
    return p


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(argv: Sequence[str] | None = None) -> int:
    """Serve one session; returns the exit code (2: bad flags, 130: interrupted)."""
    try:
        signal.signal(signal.SIGTERM, _terminated)  # until the loop takes over
        return _main(argv)
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:  # argparse's way to say so
        return end.code if isinstance(end.code, int) else 0


def _main(argv: Sequence[str] | None) -> int:
    p = parser()
    flags = p.parse_args(argv)
    if not flags.rpc:
        p.error("give --rpc: this agent is driven by another program")
    from .opening import BadFlags, open_session

    try:
        session, config = open_session(flags)
    except BadFlags as error:
        p.error(str(error))

    import asyncio

    from .serve import Agent, Options
    from .tools.shell import clean_up

    agent = Agent(Options(session, flags.approve, flags.max_steps or config.max_steps or None, config), 0, 1)
    try:
        return asyncio.run(agent.serve())
    finally:
        clean_up()


if __name__ == "__main__":
    sys.exit(main())
