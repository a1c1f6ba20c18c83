"""The session that the flags ask for: a new one, or a saved one taken up again.

Source: hm RPC, "Life of a session" and the flags. Flags that are given go before what the saved session had. Raises
:class:`BadFlags` with one line for people.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from . import saved
from .config import Config, ConfigError, load_config
from .journal import Busy, Journal, peek
from .modes import DEFAULT_MODE, modes
from .providers import UnknownModel, default_provider, make_model
from .session import Session, new_session_id
from .tools.workspace import Workspace


class BadFlags(ValueError):
    """The agent cannot be started so. The text says what to give instead."""


def open_session(flags: argparse.Namespace) -> tuple[Session, Config]:
    """The session, and the person's settings."""
    if flags.cwd is not None and not os.path.isdir(flags.cwd):
        raise BadFlags(f"--cwd: there is no folder {flags.cwd!r}")
    try:
        config = load_config()
    except ConfigError as error:
        raise BadFlags(str(error)) from None
    known = modes(config.modes)
    if flags.mode is not None and flags.mode not in known:
        raise BadFlags(f"--mode: there is no mode {flags.mode!r}; the modes are {', '.join(known)}")
    root = Path(flags.cwd or ".").resolve()
    try:
        id = (
            saved.find(flags.session, root) if flags.session is not None else saved.newest(root) if flags.resume else ""
        )
    except saved.NoSuchSession as error:
        raise BadFlags(f"--session: {error}") from None
    session = _resumed(id, flags) if id else _new(root, flags, config)
    session.mode = flags.mode or (session.mode if session.mode in known else DEFAULT_MODE)
    if flags.provider or flags.model:
        same = not flags.provider or flags.provider == session.provider
        session.provider, session.model = (
            flags.provider or session.provider,
            flags.model or (session.model if same else ""),
        )
    try:
        make_model(session.provider, session.model)
    except UnknownModel as error:
        if not id or flags.provider or flags.model:
            raise BadFlags(str(error)) from None
        # What the session had is gone (a key, a scenario): it opens all the same, and says so when it is asked.
    return session, config


def _new(root: Path, flags: argparse.Namespace, config: Config) -> Session:
    try:
        provider = flags.provider or default_provider()
    except UnknownModel as error:
        raise BadFlags(str(error)) from None
    model = flags.model or (config.model if provider == config.provider else "")
    id = new_session_id()
    journal = saved.journal(id, save=not flags.no_session)
    return Session(
        Workspace(root), DEFAULT_MODE, provider, model, config.effort, id=id, journal=journal,
    )  # fmt: skip


def _resumed(id: str, flags: argparse.Namespace) -> Session:
    path = saved.file_of(id)
    try:
        first, _, _ = peek(path, "summary")
        head = first.get("session") if first else None
        if not isinstance(head, dict):
            raise BadFlags(f"the saved session {id} cannot be read; start without it, its file is {path}")
        root = Path(flags.cwd or str(head.get("root") or ".")).resolve()
        if not root.is_dir():
            raise BadFlags(f"the workspace of session {id} is gone: {root} is no folder; give --cwd to go on elsewhere")
        session = Session(Workspace(root), DEFAULT_MODE, "demo", id=id, journal=Journal(path))
    except Busy:
        raise BadFlags(f"session {id} is open in another process; end that one first, or fork it there") from None
    except OSError as error:
        raise BadFlags(f"session {id} cannot be opened: {error.strerror or error}") from None
    session.read()
    session.resumed = True
    return session
