"""The session loop in its thread: waits that an interrupt breaks, work that ends with the process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from hm_jupyter.session.runtime import follow, runtime


def test_there_is_one_runtime_and_its_work_runs_in_its_own_thread():
    async def where() -> int:
        return threading.get_ident()

    assert runtime() is runtime()
    assert runtime().run(where) != threading.get_ident()
    assert runtime().run(where) == runtime().run(where)


def test_an_error_there_is_raised_here():
    async def fail() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError):
        runtime().run(fail)


def test_waiting_for_itself_is_refused_instead_of_hanging():
    async def nested() -> None:
        async def nothing() -> None: ...

        runtime().run(nothing)

    with pytest.raises(RuntimeError, match="await"):
        runtime().run(nested)


@pytest.mark.anyio
async def test_cancelling_the_wait_cancels_the_work():
    begun, cancelled = threading.Event(), threading.Event()

    async def forever() -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    task = asyncio.ensure_future(follow(runtime().spawn(forever)))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(cancelled.wait, 5)


def script(body: str) -> list[str]:
    head = "import threading\nfrom hm_jupyter.session.runtime import runtime\n"
    return [sys.executable, "-c", head + textwrap.dedent(body)]


def test_an_interrupt_breaks_a_wait_at_once_and_cancels_the_work():
    program = script(
        """
        import asyncio
        async def forever():
            print("waiting", flush=True)
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                print("cancelled", flush=True)
                raise
        try:
            runtime().run(forever)
        except KeyboardInterrupt:
            async def after(): print("alive", flush=True)
            runtime().run(after)
        """
    )
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10)[0].split() == ["cancelled", "alive"]
        assert process.returncode == 0


def test_what_is_registered_is_closed_when_the_interpreter_ends():
    program = script(
        """
        async def close(): print("closed", flush=True)
        owner = object()
        runtime().at_exit(owner, close)
        """
    )
    assert subprocess.run(program, capture_output=True, text=True, timeout=20, check=True).stdout == "closed\n"


def test_a_forked_child_gets_a_runtime_of_its_own():
    program = script(
        """
        import os
        async def one(): return 1
        runtime().run(one)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if runtime().run(one) == 1 else 1)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    )
    assert subprocess.run(program, timeout=20, check=False).returncode == 0


def test_a_forked_copy_of_the_process_is_told_so_instead_of_waiting_for_ever():
    script = """
        import os, sys, signal, tempfile
        import hm_jupyter as hm
        with hm.connect(provider="demo", model="quickstart-fast", cwd=tempfile.gettempdir()) as s:
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)  # what hangs ends by this
                for call in (lambda: s.prompt("say: hi"), s.abort, s.get_state):
                    try:
                        call()
                    except hm.UsageError as error:
                        assert "forked" in str(error)
                    else:
                        os._exit(1)
                s.close()
                with hm.connect(provider="demo", model="quickstart-fast", cwd=tempfile.gettempdir()) as own:
                    assert own.prompt("say: mine").text == "mine"
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
            assert s.prompt("say: ours").text == "ours"
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
