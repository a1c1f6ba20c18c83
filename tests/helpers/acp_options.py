"""What the scripted ACP agent can be told when it is started: its version, what it offers, and which faults it has."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from acp_sessions import REPLAYS


def parser() -> argparse.ArgumentParser:
    """What can be said when it is started."""
    p = argparse.ArgumentParser(prog="acp_agent.py")
    p.add_argument("--v1", dest="speaks", action="store_const", const=(1,), default=(1,), help="version 1 (default)")
    p.add_argument("--v2", dest="speaks", action="store_const", const=(2,), help="version 2")
    p.add_argument("--dual", dest="speaks", action="store_const", const=(1, 2), help="both")
    p.add_argument("--draft", choices=("old", "new"), default="new", help="which generation of v2")
    p.add_argument("--scenario", default="", help="what to do with every prompt, whatever it says")
    p.add_argument("--store", type=Path, default=os.environ.get("HM_ACP_STORE"), help="folder for the sessions")
    p.add_argument(
        "--replay", choices=REPLAYS, default="whole", help="; ".join(f"{k}: {v}" for k, v in REPLAYS.items())
    )
    p.add_argument("--ids", action="store_true", help="v1 messages have ids")
    p.add_argument("--echo", action="store_true", help="v1: the prompt comes back as user_message_chunk")
    p.add_argument("--early", action="store_true", help="updates before session/new is answered")
    p.add_argument("--auth", action="store_true", help="-32000 until somebody signs in")
    p.add_argument("--login", action="store_true", help="the terminal sign-in: says so and ends")
    p.add_argument("--busy", choices=("queue", "error", "cancel"), default="queue", help="a prompt while one runs")
    p.add_argument("--sticky", action="store_true", help="a cancel that comes while idle stops the next prompt")
    p.add_argument("--legacy", action="store_true", help="v1: modes and models, no configOptions")
    p.add_argument("--plain", action="store_true", help="no capabilities, no settings, no commands")
    p.add_argument("--any", action="store_true", help="load and resume answer null for sessions that do not exist")
    p.add_argument("--page", type=int, default=50, help="sessions to a page of session/list")
    p.add_argument(
        "--any-version", action="store_true", help="answer whatever version is asked for, and speak the first"
    )
    p.add_argument("--repeat", action="store_true", help="states and news of calls are told twice")
    p.add_argument("--noise", action="store_true", help="a banner on stdout before anything else")
    p.add_argument("--stubborn", action="store_true", help="does not end when its input does")
    p.add_argument("acp", nargs="*", help="ignored")
    return p
