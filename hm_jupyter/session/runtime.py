"""The one background thread: an anyio loop on which every session lives.

The kernel's own loop stands still while a cell runs, so sessions cannot live there. Threads exist only here.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

import anyio

from ..errors import UsageError

T = TypeVar("T")

EXIT_GRACE = 8.0  # seconds all sessions together have to end at interpreter exit


class Runtime:
    """A loop in a daemon thread. Made by :func:`runtime`, once per process."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closers: dict[int, Callable[[], Awaitable[None]]] = {}
        self.pid = os.getpid()
        self._thread = threading.Thread(target=anyio.run, args=(self._main,), name="hm-session", daemon=True)
        self._thread.start()
        self._ready.wait()
        atexit.register(self._at_exit)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._ready.set()
        await self._stop.wait()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop itself."""
        assert self._loop is not None
        return self._loop

    @property
    def forked(self) -> bool:
        """Are we in a forked copy of the process (which has no session thread)?"""
        return self.pid != os.getpid()

    @property
    def here(self) -> bool:
        """Are we on the session thread?"""
        return threading.current_thread() is self._thread

    def spawn(self, afn: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Future[T]:
        """Start ``afn(*args)`` on the session thread; the future is a thread's (``concurrent.futures``)."""
        if self.forked:  # waiting would never end
            raise UsageError(
                "This session belongs to the process that made it, and this is a forked copy of that (os.fork, "
                "multiprocessing). Make a session of its own here, or use the 'spawn' start method."
            )
        return asyncio.run_coroutine_threadsafe(afn(*args), self.loop)

    def run(self, afn: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """Run ``afn(*args)`` there and wait for it. ``KeyboardInterrupt`` breaks the wait and cancels it."""
        if self.here:
            raise RuntimeError("Runtime.run would wait for itself: await the coroutine instead.")
        future = self.spawn(afn, *args)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def call(self, fn: Callable[..., T], *args: Any) -> T:
        """Run the plain function ``fn`` there and wait for it; on the session thread, and in a fork, just call it."""
        if self.here or self.forked:
            return fn(*args)
        result: T = self.run(_plain, fn, *args)
        return result

    def call_soon(self, fn: Callable[..., Any], *args: Any) -> None:
        """Have ``fn(*args)`` called there soon; from any thread, does not wait."""
        self.loop.call_soon_threadsafe(fn, *args)

    def at_exit(self, owner: object, closer: Callable[[], Awaitable[None]]) -> None:
        """Have ``closer`` awaited when the interpreter ends, unless :meth:`forget` comes first."""
        self._closers[id(owner)] = closer

    def forget(self, owner: object) -> None:
        """``owner`` needs no closing any more."""
        self._closers.pop(id(owner), None)

    def _at_exit(self) -> None:
        if self.forked or not self._thread.is_alive():
            return
        try:
            self.spawn(self._close_all).result(EXIT_GRACE)
        except Exception:  # an interpreter that ends is not to be held up; the watchdog sees to what is left
            pass
        self.loop.call_soon_threadsafe(self._stop.set)

    async def _close_all(self) -> None:
        closers, self._closers = list(self._closers.values()), {}
        await asyncio.gather(*(closer() for closer in closers), return_exceptions=True)


async def _plain(fn: Callable[..., T], *args: Any) -> T:
    return fn(*args)


async def beside(fn: Callable[..., T], *args: Any) -> T:
    """Run ``fn(*args)``, somebody's function, in a thread of its own, and await it.

    A daemon, so that a function that never returns does not hold up the interpreter's end, and not one of anyio's
    threads, since 40 such functions would leave none for the others. What is raised there and is no ``Exception``
    (``sys.exit``) comes as ``RuntimeError``: on the loop it would end every session.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_: Callable[[Any], None], value: Any) -> None:
        if not done.done():  # else nobody waits any more
            set_(value)

    def work() -> None:
        try:
            found: tuple[Callable[[Any], None], Any] = done.set_result, fn(*args)
        except BaseException as error:
            plain = isinstance(error, Exception) and not isinstance(error, StopIteration)  # which no future takes
            found = done.set_exception, error if plain else RuntimeError(repr(error))
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, *found)

    threading.Thread(target=contextvars.copy_context().run, args=(work,), name="hm-policy", daemon=True).start()
    return await done


async def follow(future: Future[T]) -> T:
    """Await a thread's future on the caller's own loop, waking four times a second.

    A kernel's loop asleep in ``select`` does not notice an interrupt; one that wakes does. Cancelling the wait cancels
    the work.
    """
    wrapped = asyncio.wrap_future(future)
    try:
        while not wrapped.done():
            await asyncio.wait({wrapped}, timeout=0.25)
        return wrapped.result()
    except asyncio.CancelledError:
        future.cancel()
        raise


_runtime: Runtime | None = None
_lock = threading.Lock()


def runtime() -> Runtime:
    """This process's runtime, started on first use (and anew in a forked child, which has no threads)."""
    global _runtime
    with _lock:
        if _runtime is None or _runtime.forked:
            _runtime = Runtime()
        return _runtime
