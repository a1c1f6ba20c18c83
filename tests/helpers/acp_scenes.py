"""What the scripted ACP agent can be told to do: the words of its prompts, and those that are about words.

A prompt is scenes with ``;`` between them (``think; ask 2; stream 20``), each a word and what it needs. Text that begins
with no such word is answered with what it says. The other scenes: ``acp_scenes_calls``, ``acp_scenes_odd``.
"""

from __future__ import annotations

from collections.abc import Callable

from acp_turn import Turn

SCENES: dict[str, Callable[[Turn, list[str]], None]] = {}

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def play(turn: Turn) -> None:
    """Carry out the prompt."""
    for line in (turn.script or turn.prompt).split(";"):
        turn.check()
        words = line.split()
        scene = SCENES.get(words[0].lstrip("/")) if words else None
        if scene is not None:
            scene(turn, words[1:])
        elif words:
            turn.say(f"You said: {line.strip()}")


def scene(function: Callable[[Turn, list[str]], None]) -> Callable[[Turn, list[str]], None]:
    """The function's name is its word."""
    SCENES[function.__name__.rstrip("_")] = function
    return function


def number(words: list[str], default: int) -> int:
    """The first word, as a number."""
    return int(words[0]) if words else default


# ---- words ---------------------------------------------------------------------------------------------------------


@scene
def stream(turn: Turn, words: list[str]) -> None:
    """``stream N``: N pieces of text, as fast as the pipe takes them."""
    for n in range(number(words, 10)):
        turn.check()
        turn.say(f"w{n} ")


@scene
def drip(turn: Turn, words: list[str]) -> None:
    """``drip N S``: N pieces, one every S seconds."""
    for n in range(number(words, 10)):
        turn.say(f"w{n} ")
        turn.pause(float(words[1]))


@scene
def slow(turn: Turn, words: list[str]) -> None:
    """Talk for a minute, unless stopped."""
    drip(turn, ["3000", "0.02"])


@scene
def say(turn: Turn, words: list[str]) -> None:
    """``say TEXT``."""
    turn.say(" ".join(words))


@scene
def think(turn: Turn, words: list[str]) -> None:
    """``think TEXT``: a thought, in pieces."""
    for word in words or ["Let", "me", "see."]:
        turn.think(f"{word} ")


@scene
def big(turn: Turn, words: list[str]) -> None:
    """``big N``: a tool call that puts out N characters in one line."""
    call_id = turn.call("cat big.txt", "execute", rawInput={"command": "cat big.txt"}, status="in_progress")
    turn.done(call_id, "x" * number(words, 2_000_000))


@scene
def image(turn: Turn, words: list[str]) -> None:
    """A picture in the answer."""
    turn.show({"type": "image", "data": PIXEL, "mimeType": "image/png"})


@scene
def echo(turn: Turn, words: list[str]) -> None:
    """Say what blocks the prompt had."""
    turn.say(" ".join(str(b["type"]) for b in turn.blocks))
