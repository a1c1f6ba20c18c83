"""The scripted ACP agent's scenes of questions, of the session itself, and of faults that real agents have."""

from __future__ import annotations

import os
import sys
from typing import Any

from acp_peer import Json, Refused
from acp_scenes import drip, number, scene
from acp_turn import Cancelled, Ends, Turn
from acp_voice import text

FORM: Json = {
    "type": "object",
    "title": "Where to put it",
    "required": ["name", "count"],
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "What to call it", "minLength": 2, "maxLength": 20},
        "slug": {"type": "string", "pattern": "^[a-z-]+$", "default": "a-b"},
        "mail": {"type": "string", "format": "email"},
        "site": {"type": "string", "format": "uri"},
        "day": {"type": "string", "format": "date"},
        "moment": {"type": "string", "format": "date-time"},
        "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "ratio": {"type": "number", "minimum": 0, "maximum": 1},
        "sure": {"type": "boolean", "default": True},
        "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["x", "y", "z"]}},
        "parts": {
            "type": "array",
            "default": ["a"],
            "items": {"anyOf": [{"const": "a", "title": "Part A"}, {"const": "b", "title": "Part B"}]},
        },
    },
}


# ---- questions -----------------------------------------------------------------------------------------------------


@scene
def form(turn: Turn, words: list[str]) -> None:
    """Ask with a form that has a field of every kind."""
    _elicit(turn, mode="form", message="Tell me where to put it.", requestedSchema=FORM)


@scene
def url(turn: Turn, words: list[str]) -> None:
    """Ask to open a page, and tell when that is done."""
    elicitation_id = turn.session.fresh("e")
    page = "https://example.org/sign-in?from=agent"
    if _elicit(turn, mode="url", message="Sign in there.", url=page, elicitationId=elicitation_id):
        assert turn.session.peer is not None
        turn.session.peer.notify("elicitation/complete", {"elicitationId": elicitation_id})


def _elicit(turn: Turn, **params: Any) -> bool:
    try:
        answer = turn.request("elicitation/create", **params)
    except Refused as error:
        if error.code == -32800:
            raise Cancelled from None
        turn.say(f"No answer: {error.code}")
        return False
    action = answer.get("action")
    if action == "cancel":
        turn.check()
    turn.say(f"{action} {sorted((answer.get('content') or {}).items())}")
    return bool(action == "accept")


# ---- the session ---------------------------------------------------------------------------------------------------


@scene
def plan(turn: Turn, words: list[str]) -> None:
    """A plan that gets on."""
    for done in range(3):
        statuses = ["completed"] * done + ["in_progress"] + ["pending"] * 2
        entries = [
            {"content": c, "priority": p, "status": s}
            for c, p, s in zip(("Look", "Change", "Test"), ("high", "medium", "low"), statuses, strict=False)
        ]
        turn.tell(turn.voice.plan(entries))
    turn.session.items.append({"plan": entries})


@scene
def commands(turn: Turn, words: list[str]) -> None:
    """``commands NAME…``: those are the slash commands from now on."""
    listed = turn.voice.commands(words or ["plan", "review"])
    turn.tell({"sessionUpdate": "available_commands_update", "availableCommands": listed})


@scene
def mode(turn: Turn, words: list[str]) -> None:
    """``mode ID``: change it ourselves."""
    turn.agent.change(turn.session, "mode", words[0])


@scene
def model(turn: Turn, words: list[str]) -> None:
    """``model ID``: change it ourselves."""
    turn.agent.change(turn.session, "model", words[0])


@scene
def title(turn: Turn, words: list[str]) -> None:
    """``title TEXT``: the session is called that."""
    turn.session.title = " ".join(words)
    when = "2026-01-02T03:04:05Z"
    turn.tell({"sessionUpdate": "session_info_update", "title": turn.session.title, "updatedAt": when})


@scene
def usage(turn: Turn, words: list[str]) -> None:
    """How much of the context is used, and what it cost."""
    cost = {"amount": 0.12, "currency": "USD"}
    turn.tell({"sessionUpdate": "usage_update", "used": 1200, "size": 200_000, "cost": cost})


@scene
def notice(turn: Turn, words: list[str]) -> None:
    """``notice TEXT``: something to know."""
    said = " ".join(words) or "The disk is nearly full"
    turn.tell({"sessionUpdate": "notice", "severity": "warning", "title": said, "description": "2 % left."})


@scene
def compaction(turn: Turn, words: list[str]) -> None:
    """The context is summarised."""
    said = {"sessionUpdate": "compaction_update", "compactionId": turn.session.fresh("k")}
    turn.tell({**said, "status": "in_progress"})
    for word in ("We ", "talked."):
        chunk = {"sessionUpdate": "compaction_summary_chunk", "compactionId": said["compactionId"]}
        turn.tell({**chunk, "content": text(word)})
    turn.tell({**said, "status": "completed"})


# ---- faults --------------------------------------------------------------------------------------------------------


@scene
def deaf(turn: Turn, words: list[str]) -> None:
    """``deaf [S]``: hear no cancel from now on, and talk on for S seconds."""
    turn.deaf = True
    drip(turn, [str(int(float(words[0] if words else "2") / 0.05)), "0.05"])


@scene
def cancelerror(turn: Turn, words: list[str]) -> None:
    """Wait to be cancelled, and then answer with an error, as several agents do."""
    turn.say("waiting ")
    turn.cancelled.wait()
    raise Refused(-32603, "Internal error", {"details": "aborted"})


@scene
def error(turn: Turn, words: list[str]) -> None:
    """``error [CODE]``: the turn fails."""
    raise Refused(int(words[0]) if words else -32603, "Internal error", {"details": "the model is not there"})


@scene
def stop(turn: Turn, words: list[str]) -> None:
    """``stop REASON``: end like that (refusal, max_tokens, …)."""
    raise Ends(words[0])


@scene
def signout(turn: Turn, words: list[str]) -> None:
    """The sign-in is no longer good."""
    turn.agent.signed_in = False
    raise Refused(-32000, "Authentication required")


@scene
def die(turn: Turn, words: list[str]) -> None:
    """``die [CODE]``: end at once, in mid-turn."""
    turn.say("I am ")
    turn.agent.store.save(turn.session)
    print("the agent's last words", file=sys.stderr, flush=True)
    os._exit(number(words, 3))


@scene
def late(turn: Turn, words: list[str]) -> None:
    """Updates after the turn has ended."""

    def afterwards() -> None:
        turn.say("late text ")
        usage(turn, [])

    turn.afterwards.append(afterwards)


@scene
def unknown(turn: Turn, words: list[str]) -> None:
    """Kinds that nobody knows: an update, a notification, a request."""
    turn.tell({"sessionUpdate": "_vendor/weather", "sunny": True})
    assert turn.session.peer is not None
    turn.session.peer.notify("_vendor/status", {"fine": True})
    try:
        turn.answer_of(turn.session.ask("_vendor/drain", {}))
        turn.say("answered")
    except Refused as refused:
        turn.say(f"refused {refused.code}")


@scene
def noise(turn: Turn, words: list[str]) -> None:
    """Lines on stdout that are no messages."""
    for line in ("Loading the model …", '"a string"', "42", "[]", "null", "{not json"):
        turn.agent.raw(line)
    turn.agent.raw("\x1b]0;agent\x07", end="")  # a terminal's title, glued in front of a message
    turn.say("after the noise")
