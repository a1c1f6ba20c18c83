"""The named sessions of this kernel and which one is current.

Magics, ``hm_jupyter.current`` and ``hm_jupyter.last`` look here. Knows nothing of how a session is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError
from .options import closest

if TYPE_CHECKING:
    from ..session.session import Session
    from ..session.turn import Turn


class Registry:
    """Open sessions by name. A session that was closed elsewhere is forgotten when next looked at.

    One whose agent ended by itself is kept until it is taken up again, another takes its place, or :meth:`remove`: what was
    meant for that agent must not go to another one without a word, and what was said can still be exported.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._lost: dict[str, Session] = {}
        self._current = ""
        self._following: set[str] = set()
        self._failed: dict[str, str] = {}  # by name, "" for the one meant where none is named
        self.last: Turn | None = None

    def add(self, session: Session, name: str = "", *, follows: bool = False) -> str:
        """Keep ``session``, make it current, and return the name it has here (made unique with ``-2``, ``-3``, …).

        ``follows``: its prompts are decided by the setting ``approve``, not by a policy it was started with.
        """
        for known, other in self._open().items():
            if other is session and name in ("", known):
                self._failed.pop("", None)
                self._current = known
                return known
        wanted = name or session.name or "agent"
        chosen, n = wanted, 1
        while chosen in self._sessions:
            n += 1
            chosen = f"{wanted}-{n}"
        self._sessions[chosen] = session
        self._lost.pop(chosen, None)
        self._failed.pop(chosen, None)
        self._failed.pop("", None)
        self._current = chosen
        if follows:
            self._following.add(chosen)
        return chosen

    def follows(self, session: Session) -> bool:
        """Do the prompts of ``session`` follow the setting ``approve``?"""
        known = {**self._lost, **self._sessions}
        return any(s is session and name in self._following for name, s in known.items())

    def use(self, name: str) -> Session:
        """Make the session called ``name`` current. Raises :class:`UsageError`."""
        session = self.get(name)
        self._current = name
        self._failed.pop("", None)
        return session

    def fail(self, sentence: str, name: str = "") -> None:
        """A start failed: until one succeeds, or another session is chosen, ``sentence`` answers what is meant for it."""
        self._failed[""] = sentence
        if name and name not in self._open():
            self._failed[name] = sentence

    def failed(self, name: str = "") -> str:
        """Why nothing can go to the session called ``name``, or to the current one, since its start failed; else ""."""
        return "" if name in self._open() else self._failed.get(name, "")

    def lost(self, name: str = "") -> Session | None:
        """The session called ``name``, or the current one, if its agent has ended by itself."""
        self._open()
        return self._lost.get(name or self._current)

    def get(self, name: str = "", *, lost: bool = False) -> Session:
        """The session called ``name``, or the current one; with ``lost`` also one whose agent has ended by itself. Raises
        :class:`UsageError` when there is none."""
        sessions = self._open()
        ended = self.lost(name)
        if ended is not None:
            if lost:
                return ended
            raise UsageError(f"{ended.state.ended} {ended.controller.start_again}")
        if not name:
            session = sessions.get(self._current)
            if session is None:
                raise UsageError(
                    self.failed()
                    or "There is no session yet, none is open; %hm start begins one, and so does a prompt: %hm TEXT."
                )
            return session
        if name not in sessions:
            if sentence := self.failed(name):
                raise UsageError(sentence)
            meant = closest(name, sessions)
            if meant:
                hint = f"did you mean {meant}?"
            elif sessions:
                hint = f"open are {', '.join(sessions)}."
            else:
                hint = "none is open; %hm start begins one."
            raise UsageError(f"There is no session called {name!r}; {hint}")
        return sessions[name]

    def forget_failures(self) -> None:
        """As if no start had ever failed."""
        self._failed.clear()

    def there(self, name: str = "") -> Session:
        """As :meth:`get`, for what only looks at an agent or sets something: it starts none, and it is no other's than the
        one that was asked for last. Raises :class:`UsageError`."""
        if sentence := self.failed(name):
            raise UsageError(sentence)
        return self.get(name)

    def remove(self, name: str) -> None:
        """Forget a session; the one opened before it becomes current."""
        self._sessions.pop(name, None)
        self._lost.pop(name, None)
        self._following.discard(name)
        self._failed.pop(name, None)
        if self._current == name:
            self._current = next(reversed(self._open()), "")

    def names(self) -> list[str]:
        """The names of the open sessions, in the order they were opened."""
        return list(self._open())

    def items(self) -> list[tuple[str, Session]]:
        """The open sessions with their names."""
        return list(self._open().items())

    @property
    def current(self) -> Session | None:
        """The current session, or None."""
        return self._open().get(self._current)

    @property
    def current_name(self) -> str:
        """The current session's name, or ""."""
        return self._current if self._current in self._open() or self._current in self._lost else ""

    def _open(self) -> dict[str, Session]:
        for name in [n for n, s in self._sessions.items() if s.closed]:
            session = self._sessions.pop(name)
            if session.lost:
                self._lost[name] = session
            else:
                self._following.discard(name)
        return self._sessions


registry = Registry()
