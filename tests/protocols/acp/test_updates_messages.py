"""Messages, thoughts and our own prompts coming back (ACP reference, section 6)."""

from __future__ import annotations

from typing import Any

import pytest
from acp_scene import Scene, text_block

from hm_jupyter import events as ev
from hm_jupyter.transcript import MessageEntry, ThoughtEntry, UserEntry

PNG = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def messages(scene: Scene) -> list[MessageEntry]:
    return [e for e in scene.transcript.entries.values() if isinstance(e, MessageEntry)]


# ---- v1: ids may be missing ----------------------------------------------------------------------------------------


def test_v1_chunks_without_ids_go_on_with_the_open_message(v1: Scene) -> None:
    v1.says("Hel")
    v1.says("lo")
    assert v1.seen()[1:] == [("message", "Hello")]


def test_v1_a_tool_call_ends_the_message_above_it(v1: Scene) -> None:
    v1.says("before")
    v1.hears("tool_call", toolCallId="c", title="ls")
    v1.says("after")
    assert v1.seen()[1:] == [("message", "before"), ("tool", "ls"), ("message", "after")]
    assert [m.open for m in messages(v1)] == [False, True]


def test_v1_progress_of_a_call_that_is_known_does_not_split_a_message(v1: Scene) -> None:
    v1.hears("tool_call", toolCallId="c", title="ls")
    v1.says("be")
    v1.call("c", status="completed")
    v1.says("low")
    assert v1.seen()[1:] == [("tool", "ls"), ("message", "below")]


def test_v1_where_a_plan_appears_the_message_above_it_ends(v1: Scene) -> None:
    v1.says("above")
    for status in ("pending", "completed"):
        v1.hears("plan", entries=[{"content": "x", "status": status}])
        v1.says("below")
    assert v1.seen()[1:] == [("message", "above"), ("message", "belowbelow")]


def test_v1_a_thought_and_a_message_are_two(v1: Scene) -> None:
    v1.thinks("hm")
    v1.says("yes")
    v1.thinks("hm again")
    assert v1.seen()[1:] == [("thought", "hm"), ("message", "yes"), ("thought", "hm again")]


def test_v1_another_message_id_is_another_message(v1: Scene) -> None:
    v1.says("one", "a")
    v1.says(" more", "a")
    v1.says("two", "b")
    assert v1.seen()[1:] == [("message", "one more"), ("message", "two")]


def test_v1_an_id_that_comes_again_below_a_call_is_read_below_it(v1: Scene) -> None:
    v1.says("above", "a")
    v1.hears("tool_call", toolCallId="c", title="ls")
    v1.says("below", "a")
    assert v1.seen()[1:] == [("message", "above"), ("tool", "ls"), ("message", "below")]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"])
def test_an_empty_chunk_leaves_no_trace(version: int, kind: str) -> None:
    scene = Scene(version).turn()
    scene.says("", "m", kind)
    scene.ends()
    assert scene.seen() == [("user", "go")]
    assert scene.notices() == []


def test_a_message_cut_off_by_a_cancel_is_marked_so_and_one_that_was_over_is_not(v1: Scene) -> None:
    v1.says("whole")
    v1.hears("tool_call", toolCallId="c", title="ls")
    v1.says("cut o")
    v1.ends("cancelled")
    assert [(m.open, m.interrupted) for m in messages(v1)] == [(False, False), (False, True)]


def test_text_between_turns_is_shown_and_closed_when_the_next_turn_begins(v1: Scene) -> None:
    v1.ends()
    v1.says("by the way")
    assert ("message", "by the way") in v1.seen()
    v1.turn("next", "p2")
    assert all(not m.open for m in messages(v1))
    assert v1.notices() == []


# ---- v2: every message has its id ----------------------------------------------------------------------------------


def test_v2_chunks_of_several_messages_may_interleave(v2: Scene) -> None:
    v2.says("A1", "a")
    v2.says("B1", "b")
    v2.says("A2", "a")
    v2.says("B2", "b")
    assert v2.seen()[1:] == [("message", "A1A2"), ("message", "B1B2")]


def test_v2_a_message_and_a_thought_may_have_the_same_id(v2: Scene) -> None:
    v2.thinks("think", "x")
    v2.says("say", "x")
    v2.hears("user_message", messageId="x", content=[text_block("go")])
    assert v2.seen() == [("user", "go"), ("thought", "think"), ("message", "say")]


def test_v2_a_whole_message_replaces_what_was_streamed_and_chunks_follow_it(v2: Scene) -> None:
    v2.says("draft", "a")
    v2.hears("agent_message", messageId="a", content=[text_block("Fin"), text_block("al")])
    v2.says("!", "a")
    assert v2.seen()[1:] == [("message", "Final!")]


@pytest.mark.parametrize(("given", "left"), [({}, "kept"), ({"content": None}, ""), ({"content": []}, "")])
def test_v2_left_out_keeps_and_null_or_nothing_clears(v2: Scene, given: dict[str, Any], left: str) -> None:
    v2.says("kept", "a")
    v2.hears("agent_message", messageId="a", **given)
    assert v2.seen()[1:] == [("message", left)]


def test_v2_a_whole_thought_is_a_thought(v2: Scene) -> None:
    v2.hears("agent_thought", messageId="t", content=[text_block("hm")])
    (thought,) = [e for e in v2.transcript.entries.values() if isinstance(e, ThoughtEntry)]
    assert str(thought.text) == "hm"


def test_v2_an_empty_whole_message_leaves_no_trace(v2: Scene) -> None:
    v2.hears("agent_message", messageId="a", content=[])
    v2.hears("agent_message", messageId="b")
    v2.ends()
    assert v2.seen() == [("user", "go")]


def test_v2_a_chunk_without_its_id_is_shown_all_the_same(v2: Scene) -> None:
    v2.says("no ")
    v2.says("id")
    assert v2.seen()[1:] == [("message", "no id")]


def test_v2_a_message_that_was_over_is_not_marked_as_cut_off_by_a_cancel(v2: Scene) -> None:
    v2.says("whole", "a")
    v2.says("cut o", "b")
    v2.ends("cancelled")
    assert [(str(m.text), m.interrupted) for m in messages(v2)] == [("whole", False), ("cut o", True)]


# ---- what is not text ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_picture_belongs_to_its_message(version: int) -> None:
    scene = Scene(version).turn()
    scene.says("Look: ", "a")
    scene.hears("agent_message_chunk", messageId="a", content=PNG)
    (message,) = messages(scene)
    assert (str(message.text), message.images) == ("Look: ", [ev.Image("iVBORw0KGgo=", "image/png")])


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "audio", "data": "AAAA" * 1000, "mimeType": "audio/wav"}, "[Audio, audio/wav, 3 kB]"),
        (
            {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt", "mimeType": "text/plain", "size": 12},
            "[Link to a.txt: file:///a.txt, text/plain, 12 bytes]",
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "inside"}},
            "[Embedded, file:///b.txt, 6 bytes]",
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///c.bin", "blob": "AAAA", "mimeType": "application/x"}},
            "[Embedded, file:///c.bin, application/x, 3 bytes]",
        ),
        ({"type": "hologram", "data": 1}, "[Content of a kind not known here: hologram]"),
    ],
)
def test_what_a_transcript_cannot_show_is_said_in_words(v1: Scene, block: dict[str, Any], words: str) -> None:
    v1.hears("agent_message_chunk", content=block)
    assert v1.seen()[1:] == [("message", words)]
    assert v1.notices() == []


# ---- our own prompts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [None, "u"])
def test_v1_the_echo_of_our_prompt_is_not_shown_again_pitfall_22(ids: str | None) -> None:
    scene = Scene(1).turn("tell me all")
    scene.says("tell ", ids, "user_message_chunk")
    scene.says("me all", ids, "user_message_chunk")
    scene.hears("user_message_chunk", content=PNG, **({"messageId": ids} if ids else {}))
    scene.says("All.", "m")
    assert scene.seen() == [("user", "tell me all"), ("message", "All.")]


@pytest.mark.parametrize("kind", ["user_message", "user_message_chunk"])
def test_v2_the_echo_says_that_our_prompt_was_read_pitfall_22(v2: Scene, kind: str) -> None:
    (entry,) = [e for e in v2.transcript.entries.values() if isinstance(e, UserEntry)]
    assert entry.status == "sent"
    content: Any = text_block("go") if kind == "user_message_chunk" else [text_block("go")]
    v2.hears(kind, messageId="u", content=content)
    (entry,) = [e for e in v2.transcript.entries.values() if isinstance(e, UserEntry)]
    assert (entry.status, entry.text) == ("read", "go")


def test_v2_an_echo_after_the_prompts_answer_adds_nothing_pitfall_22(v2: Scene) -> None:
    out: list[ev.Event] = []
    v2.updates.prompt_read(out)
    v2.feed(out)
    v2.hears("user_message", messageId="u", content=[text_block("go")])
    v2.hears("user_message", messageId="u", content=[text_block("go")])
    assert v2.seen() == [("user", "go")]


def test_v2_an_echo_in_other_words_is_still_our_prompt(v2: Scene) -> None:
    v2.hears("user_message", messageId="u", content=[text_block("<context/>\n\nGO")])
    v2.says("ok", "m")
    assert v2.seen() == [("user", "go"), ("message", "ok")]


def test_an_echo_with_more_around_it_is_still_our_prompt_pitfall_22() -> None:
    scene = Scene(1).turn("explain this")
    scene.says("explain this\n<file>…</file>", "u", "user_message_chunk")
    scene.says("ok", "m")
    assert scene.seen() == [("user", "explain this"), ("message", "ok")]


def test_a_prompt_of_another_client_is_shown(v1: Scene) -> None:
    v1.says("from elsewhere", "u", "user_message_chunk")
    v1.says("ok", "m")
    assert v1.seen() == [("user", "go"), ("user", "from elsewhere"), ("message", "ok")]


def test_what_is_meant_for_the_model_alone_is_not_shown_as_said_by_the_person() -> None:
    scene = Scene(1)
    block = {**text_block("Called the Read tool"), "annotations": {"audience": ["assistant"]}}
    scene.hears("user_message_chunk", messageId="u", content=block)
    scene.says("hello", "u", "user_message_chunk")
    scene.says("ok", "m")
    assert scene.seen() == [("user", "hello"), ("message", "ok")]


def test_messages_of_a_session_that_is_taken_up_keep_their_order() -> None:
    scene = Scene(1)
    scene.says("one", None, "user_message_chunk")
    scene.says("1")
    scene.says("two", None, "user_message_chunk")
    scene.hears("tool_call", toolCallId="c", title="ls")
    assert scene.seen() == [("user", "one"), ("message", "1"), ("user", "two"), ("tool", "ls")]


def test_v2_a_message_that_is_emptied_first_and_then_comes_in_pieces_is_kept() -> None:
    """codex-acp 2.6 and claude-agent-acp 0.101 replay a session so; the person's messages were missing."""
    scene = Scene(2)
    scene.hears("user_message", messageId="u", content=[])
    scene.says("one ", "u", "user_message_chunk")
    scene.says("two", "u", "user_message_chunk")
    scene.hears("agent_message", messageId="a", content=[])
    scene.says("ok", "a")
    assert scene.seen() == [("user", "one two"), ("message", "ok")]
