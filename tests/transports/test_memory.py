"""The transport without a process: what a test says to it arrives, what is sent can be seen."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from hm_jupyter.errors import AgentGone, UsageError
from hm_jupyter.transports.base import BadLine, Exit, Message
from hm_jupyter.transports.memory import memory_transport

pytestmark = pytest.mark.anyio


async def test_what_the_agent_says_arrives_in_batches_also_what_it_said_before_the_opening() -> None:
    transport, agent = memory_transport()
    agent.say(1, {"a": "\u2028"})
    await transport.open()
    agent.say_raw(b'"half')
    agent.say_raw(b' a line"\nnoise\n"cut')
    agent.end(3, "bye")
    batches = [batch async for batch in transport.receive()]
    assert batches[0] == [Message(1), Message({"a": "\u2028"})]
    assert [type(item) for batch in batches[1:] for item in batch] == [Message, BadLine, BadLine]
    assert await transport.close() == Exit(3, "bye")
    assert agent.closed


async def test_what_is_sent_can_be_awaited_and_seen() -> None:
    transport, agent = memory_transport()
    await transport.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(transport.send, {"n": 1})
        assert await agent.next() == {"n": 1}
    await transport.send({"n": (2,)})
    assert await agent.next() == {"n": [2]}  # as JSON has it
    assert agent.sent == [{"n": 1}, {"n": [2]}]
    with pytest.raises(TimeoutError):
        await agent.next(timeout=0.01)
    with pytest.raises(ValueError, match="JSON"):
        await transport.send(float("nan"))


async def test_another_thread_may_play_the_agent() -> None:
    transport, agent = memory_transport()
    await transport.open()

    def play() -> None:
        while (value := agent.wait()) != "stop":
            agent.say({"heard": value})
        agent.end()

    thread = threading.Thread(target=play)
    thread.start()
    received: list[Any] = []
    await transport.send(1)
    async for batch in transport.receive():
        received += [item.value for item in batch if isinstance(item, Message)]
        await transport.send("stop")
    thread.join(5)
    assert received == [{"heard": 1}]


async def test_a_function_may_play_the_agent() -> None:
    def echo_twice(value: Any) -> list[Any]:
        return [value, value]

    transport, agent = memory_transport(echo_twice)
    await transport.open()
    await transport.send("x")
    agent.end()
    assert [batch async for batch in transport.receive()] == [[Message("x")], [Message("x")]]


async def test_an_agent_that_ended_or_had_its_input_closed_takes_nothing_more() -> None:
    transport, agent = memory_transport()
    with pytest.raises(UsageError, match="not open"):
        await transport.send(1)
    await transport.open()
    await transport.end_input()
    assert agent.input_ended
    with pytest.raises(AgentGone, match="input"):
        await transport.send(1)
    agent.end(2, "oops")
    with pytest.raises(AgentGone, match="exit code 2") as caught:
        await transport.send(1)
    assert (caught.value.code, caught.value.stderr, transport.stderr) == (2, "oops", "oops")


async def test_closing_ends_a_reader() -> None:
    transport, _ = memory_transport()
    await transport.open()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.close)
            assert [batch async for batch in transport.receive()] == []
