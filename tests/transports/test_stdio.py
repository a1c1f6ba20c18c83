"""An agent as a local process: what it says arrives, what we say reaches it, and its troubles are told."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from hm_jupyter.errors import AgentGone, AgentNotFound, TransportError, UsageError
from hm_jupyter.transports import child as child_module
from hm_jupyter.transports.base import BadLine, Message, Received
from hm_jupyter.transports.stdio import StdioTransport

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="local agents need POSIX")]

Argv = Callable[..., list[str]]


@asynccontextmanager
async def opened(argv: list[str], **options: Any) -> AsyncIterator[StdioTransport]:
    transport = StdioTransport(argv, **{"grace": 1.0, **options})
    await transport.open()
    try:
        with anyio.fail_after(30):
            yield transport
    finally:
        await transport.close()


async def rest(transport: StdioTransport) -> list[Received]:
    return [item async for batch in transport.receive() for item in batch]


async def test_values_go_there_and_back(talk: list[str]) -> None:
    value = {"text": "ü\u2028\nx", "n": [1, None, 2.5]}
    async with opened(talk) as transport:
        await transport.send({"echo": value})
        await transport.end_input()
        assert await rest(transport) == [Message(value)]
        assert await transport.close() == await transport.close()
        assert (await transport.close()).code == 0


async def test_lines_of_one_read_come_as_one_batch(program: Argv) -> None:
    lines = "".join(f'{{"n": {n}}}\n' for n in range(500))
    async with opened(program(f"import os; os.write(1, {lines.encode()!r})")) as transport:
        batches = [batch async for batch in transport.receive()]
    assert len(batches) == 1
    assert batches[0] == [Message({"n": n}) for n in range(500)]


async def test_the_first_line_after_a_rest_is_not_held_back(talk: list[str]) -> None:
    async with opened(talk) as transport:
        reader = transport.receive()
        best = 1.0
        for n in range(10):
            started = time.perf_counter()
            await transport.send({"echo": n})
            assert await reader.__anext__() == [Message(n)]
            best = min(best, time.perf_counter() - started)
            await anyio.sleep(0.01)  # the rest
        await reader.aclose()  # type: ignore[attr-defined]
    assert best < 0.02


async def test_20_megabytes_in_one_line_each_way(program: Argv) -> None:
    source = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"
    async with opened(program(source)) as transport:
        big = "x" * 20_000_000
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.send, {"big": big})
            async for batch in transport.receive():
                assert batch == [Message({"big": big})]
                break


async def test_10_megabytes_of_stderr_stop_nothing_and_the_last_lines_are_kept(program: Argv) -> None:
    source = (
        "import sys\n"
        "for n in range(100_000): sys.stderr.write(f'{n} ' + 'x' * 100 + '\\n')\n"
        "sys.stderr.write('the end\\n'); sys.stderr.flush(); print('[1]', flush=True); sys.stdin.read()"
    )
    async with opened(program(source)) as transport:
        async for batch in transport.receive():
            assert batch == [Message([1])]
            break
        end = await transport.close()
    assert end.stderr.endswith("the end\n")
    assert 100 <= end.stderr.count("\n") <= 200
    assert len(end.stderr) <= 65536
    assert transport.stderr == end.stderr


async def test_an_agent_that_writes_byte_by_byte_is_understood(program: Argv) -> None:
    source = 'import os\nfor byte in \'{"text": "é"}\\n[2]\\n\'.encode(): os.write(1, bytes([byte]))'
    async with opened(program(source)) as transport:
        assert await rest(transport) == [Message({"text": "é"}), Message([2])]


async def test_noise_and_death_in_mid_line_are_told_and_end_nothing_before_its_time(talk: list[str]) -> None:
    async with opened(talk) as transport:
        await transport.send({"raw": 'loading model...\nnoise{"a": 1}\n{"n": 1}\n{"n": 2'})
        await transport.send({"exit": 3})
        received = await rest(transport)
        end = await transport.close()
    assert [type(item) for item in received] == [BadLine, BadLine, Message, BadLine]
    assert received[2] == Message({"n": 1})
    assert "cut off" in received[3].reason  # type: ignore[union-attr]
    assert end.code == 3


async def test_a_line_over_the_cap_is_skipped_and_the_next_is_read(talk: list[str]) -> None:
    async with opened(talk, max_line=100_000) as transport:
        await transport.send({"echo": "x" * 5_000_000})
        await transport.send({"echo": "after"})
        await transport.end_input()
        received = await rest(transport)
    assert [type(item) for item in received] == [BadLine, Message]
    assert received[1] == Message("after")


async def test_the_exit_code_and_the_last_words_are_told(talk: list[str]) -> None:
    async with opened(talk) as transport:
        await transport.send({"err": "out of cheese\n", "exit": 42})
        assert await rest(transport) == []
        end = await transport.close()
    assert (end.code, end.stderr) == (42, "out of cheese\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
async def test_an_agent_killed_by_a_signal_tells_which(talk: list[str], number: int) -> None:
    async with opened(talk) as transport:
        await transport.send({"die": number})
        assert await rest(transport) == []
        assert (await transport.close()).code == -number


async def test_sending_to_a_dead_agent_raises_with_code_and_stderr(talk: list[str]) -> None:
    async with opened(talk) as transport:
        await transport.send({"err": "bye\n", "exit": 7})
        assert await rest(transport) == []
        with pytest.raises(AgentGone, match="exit code 7") as caught:
            await transport.send({"echo": 1})
    assert (caught.value.code, caught.value.stderr) == (7, "bye\n")


async def test_an_agent_that_dies_while_a_line_waits_to_be_written_frees_the_sender(program: Argv) -> None:
    async with opened(program("import os, sys; os.read(0, 1); os._exit(5)")) as transport:
        with pytest.raises(AgentGone):
            await transport.send("x" * 5_000_000)


async def test_an_agent_that_closed_its_stdin_but_lives_is_told(program: Argv) -> None:
    async with opened(
        program("import os, time\nos.close(0); print('[1]', flush=True); time.sleep(60)"), grace=0.1
    ) as transport:
        async for _ in transport.receive():
            break
        with pytest.raises(AgentGone, match="closed its input"):
            await transport.send(1)


async def test_sending_after_the_input_was_ended_is_refused(talk: list[str]) -> None:
    async with opened(talk) as transport:
        await transport.end_input()
        await transport.end_input()
        with pytest.raises(AgentGone):
            await transport.send(1)


async def test_a_send_that_waits_does_not_stop_the_reader(program: Argv) -> None:
    source = """
import os, sys
for n in range(3000): os.write(1, b'{"n": %d}\\n' % n)
sys.stdin.buffer.readline()
"""
    async with opened(program(source)) as transport:
        received: list[Received] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.send, "x" * 3_000_000)
            async for batch in transport.receive():
                received += batch
    assert received == [Message({"n": n}) for n in range(3000)]


async def test_lines_sent_at_once_never_mix_and_keep_their_order(talk: list[str]) -> None:
    async with opened(talk) as transport, anyio.create_task_group() as tasks:
        for n in range(20):
            tasks.start_soon(transport.send, {"echo": [n, "x" * 50_000]})
        tasks.start_soon(transport.end_input)  # behind them all
        received = await rest(transport)
    assert [item.value[0] for item in received if isinstance(item, Message)] == list(range(20))


async def test_a_cancelled_send_never_leaves_half_a_line(program: Argv) -> None:
    source = """
import sys, json
sys.stdin.buffer.read(1)
print('[0]', flush=True)
line = b'"' + sys.stdin.buffer.readline()
for line in [line, *sys.stdin.buffer]: print(len(json.loads(line)), flush=True)
"""
    async with opened(program(source)) as transport:
        with anyio.move_on_after(0):
            await transport.send("x" * 1_000_000)  # begun, so it is finished
        with anyio.move_on_after(0):
            await transport.send("y" * 2_000_000)  # not begun, so it is taken back
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.send, "z" * 10)
            await anyio.sleep(0)
            await transport.end_input()
            received = await rest(transport)
    assert received == [Message([0]), Message(1_000_000), Message(10)]


async def test_a_flood_leaves_other_tasks_their_turn(program: Argv) -> None:
    async with opened(program("import os\nwhile True: os.write(1, b'[1]\\n' * 10000)"), grace=0.1) as transport:
        count = 0

        async def read() -> None:
            nonlocal count
            async for batch in transport.receive():
                count += len(batch)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            for _ in range(50):
                await anyio.sleep(0)
            while count < 50_000:
                await anyio.sleep(0)
            tasks.cancel_scope.cancel()


async def test_closing_gives_a_reader_the_rest(program: Argv) -> None:
    source = "import sys\nprint('[1]', flush=True); sys.stdin.read(); print('\"x\"\\n' * 300, flush=True)"
    async with opened(program(source)) as transport:
        received: list[Received] = []
        reader = transport.receive()
        received += await reader.__anext__()  # and now it does not read on until the agent is gone
        assert (await transport.close()).code == 0
        async for batch in reader:
            received += batch
    assert received == [Message([1]), *[Message("x")] * 300]


async def test_a_reader_that_is_busy_while_the_agent_is_closed_loses_nothing_and_no_order(program: Argv) -> None:
    source = """
import os, sys
os.write(1, b'[0]\\n')
sys.stdin.read()
os.write(1, b''.join(b'[%d]\\n' % n for n in range(1, 100_000)))
os._exit(6)
"""
    async with opened(program(source)) as transport:
        received: list[Received] = []
        async for batch in transport.receive():
            if not received:
                closing = asyncio.ensure_future(transport.close())
                await asyncio.sleep(0.02)  # busy; the agent has more to say than a pipe holds
            received += batch
        assert (await closing).code == 6
    assert received == [Message([n]) for n in range(100_000)]


async def test_closing_lets_an_agent_that_still_has_much_to_say_end_by_itself(program: Argv) -> None:
    source = "import os, sys\nsys.stdin.read(); os.write(1, b'x' * 1_000_000); os._exit(9)"
    async with opened(program(source)) as transport:
        assert (await transport.close()).code == 9


async def test_environment_and_folder_reach_the_agent_and_nothing_is_added(
    program: Argv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HM_KEPT", "1")
    monkeypatch.setenv("HM_DROPPED", "1")
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    source = "import os, json; print(json.dumps([os.getcwd(), dict(os.environ)]))"
    # No locale is set, so Python would add LC_CTYPE; that the one in between does not is what is to be seen.
    given = {"HM_NEW": "a\nb", "HM_DROPPED": None, "PYTHONCOERCECLOCALE": "0"}
    for locale in ({}, {"LC_CTYPE": "C"}):
        async with opened([sys.executable, "-S", "-c", source], cwd=tmp_path, env={**given, **locale}) as transport:
            [message] = await rest(transport)
        assert isinstance(message, Message)
        folder, environment = message.value
        assert folder == str(tmp_path.resolve())
        expected = {**os.environ, **given, **locale}
        del expected["HM_DROPPED"]
        assert environment == expected


async def test_the_agent_gets_default_signals_and_only_its_own_files(program: Argv) -> None:
    source = """
import os, json, signal
fds = []
for fd in range(200):
    try: os.fstat(fd); fds.append(fd)
    except OSError: pass
print(json.dumps([fds, [signal.getsignal(s) == signal.SIG_DFL for s in (signal.SIGTERM, signal.SIGHUP)],
    signal.getsignal(signal.SIGINT) == signal.default_int_handler, sorted(signal.pthread_sigmask(0, [])),
    os.getsid(0) == os.getpid() == os.getpgid(0)]))
"""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as ipykernel has it between two cells
    try:
        async with opened(program(source)) as transport:
            assert await rest(transport) == [Message([[0, 1, 2], [True, True], True, [], True])]
    finally:
        signal.signal(signal.SIGINT, before)


async def test_a_program_that_is_not_there_is_named_with_the_path_looked_at() -> None:
    with pytest.raises(AgentNotFound, match=r"'no-such-agent' is not on this kernel's PATH.*/nowhere"):
        await StdioTransport(["no-such-agent"], env={"PATH": "/nowhere"}).open()


async def test_what_cannot_be_started_says_why_and_what_to_do(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo hi")
    no_magic = tmp_path / "no_magic"
    no_magic.write_text("hello")
    no_interpreter = tmp_path / "no_interpreter"
    no_interpreter.write_text("#!/no/such/interpreter\n")
    for path in (no_magic, no_interpreter):
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    cases: list[tuple[list[str], dict[str, Any], str]] = [
        ([str(tmp_path / "absent")], {}, "There is no program at"),
        (["./absent"], {"cwd": tmp_path}, f"There is no program at '{tmp_path}/"),
        ([str(plain)], {}, r"not executable. Try: chmod \+x"),
        ([str(tmp_path)], {}, "is a folder"),
        (["true"], {"cwd": tmp_path / "gone"}, "working folder .* does not exist"),
        (["true"], {"cwd": plain}, "working folder .* is not a folder"),
        ([str(no_magic)], {}, "first line such as"),
        ([str(no_interpreter)], {}, "interpreter"),
    ]
    for argv, options, message in cases:
        if os.geteuid() == 0 and "executable" in message and os.access(plain, os.X_OK):
            continue
        transport = StdioTransport(argv, **options)
        with pytest.raises(AgentNotFound, match=message):
            await transport.open()
        await transport.close()
    for wrong in ([], [""], ["true", "a\0b"], "true"):
        with pytest.raises(UsageError):
            await StdioTransport(wrong).open()
    assert not child_module._live


async def test_windows_is_refused_in_words(talk: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Windows:
        name = "nt"

    monkeypatch.setattr(child_module, "os", Windows)
    with pytest.raises(TransportError, match="WSL"):
        await StdioTransport(talk).open()


async def test_a_transport_is_opened_once(talk: list[str]) -> None:
    async with opened(talk) as transport:
        with pytest.raises(UsageError, match="opened before"):
            await transport.open()
    unopened = StdioTransport(talk)
    with pytest.raises(UsageError, match="not open"):
        await unopened.send(1)
    assert (await unopened.close()).code is None


async def test_opening_that_is_cancelled_leaves_nothing(talk: list[str]) -> None:
    task = asyncio.ensure_future(StdioTransport(talk).open())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not child_module._live


async def test_no_descriptor_is_left_behind(talk: list[str]) -> None:
    async def once() -> None:
        async with opened(talk) as transport:
            await transport.send({"echo": 1})

    await once()
    before = os.listdir("/dev/fd")
    for _ in range(5):
        await once()
    assert len(os.listdir("/dev/fd")) == len(before)


async def test_20_000_deltas_cost_a_twentieth_of_a_second_or_so(program: Argv) -> None:
    source = """
import sys
sys.stdin.readline()
for n in range(20000):
    sys.stdout.write('{"v":1,"type":"text_delta","session":"s","time":"2026-11-30T10:00Z","text":"token %d "}\\n' % n)
"""
    best = 1.0
    for _ in range(3):
        async with opened(program(source)) as transport:
            started = time.process_time()
            await transport.send("go")
            count = 0
            async for batch in transport.receive():
                count += len(batch)
            best = min(best, time.process_time() - started)
        assert count == 20_000
    sys.stderr.write(f"20,000 lines: {best * 1000:.0f} ms CPU\n")
    assert best < 0.15  # 0.02-0.03 on an idle machine


async def test_an_agent_that_flushes_each_of_many_lines_does_not_cost_a_wakeup_each(program: Argv) -> None:
    source = """
import os, time
for n in range(3000):
    os.write(1, b'{"n": %d}\\n' % n)
    until = time.perf_counter() + 1e-4
    while time.perf_counter() < until: pass
"""
    async with opened(program(source)) as transport:
        batches = [len(batch) async for batch in transport.receive()]
    assert sum(batches) == 3000
    assert len(batches) < 1000


async def test_pitfall_1_a_line_of_40_megabytes_arrives_whole_and_the_next_one_behind_it(program: Argv) -> None:
    source = """
import sys
sys.stdout.write('{"jsonrpc":"2.0","method":"x","params":{"text":"' + "y" * 40_000_000 + '"}}\\n{"n":2}\\n')
"""
    async with opened(program(source)) as transport:
        received = [item async for batch in transport.receive() for item in batch]
    assert all(isinstance(item, Message) for item in received)
    first, second = (item.value for item in received if isinstance(item, Message))
    assert len(first["params"]["text"]) == 40_000_000
    assert second == {"n": 2}
