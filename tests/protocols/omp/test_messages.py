"""The agent's messages: streamed block by block, whole at their end, and cheap however they repeat themselves."""

from __future__ import annotations

from omp_talk import Talk, read_by_model, said, update

from hm_jupyter import events as ev

TEXT = {"type": "text", "text": "Hello there"}


def test_text_is_told_as_it_arrives() -> None:
    t = Talk().prompt()
    assert t.delta("Hel") == [ev.TextAppended("m2", "Hel")]
    assert t.delta("lo") == [ev.TextAppended("m2", "lo")]


def test_blocks_are_kept_apart_by_their_index_and_thinking_from_text() -> None:
    t = Talk().prompt()
    t.hears({"type": "message_start", "message": {"role": "assistant", "content": []}}, update("thinking_start"))
    t.delta("hm", "thinking", 0)
    t.delta("A", "text", 1)
    t.delta("m", "thinking", 0)
    t.delta("B", "text", 2)
    t.hears(said({"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": "A"}, {"type": "text", "text": "B"}))
    assert [str(e.text) for e in t.shown("thought")] == ["hmm"]
    assert [str(e.text) for e in t.shown("message")] == ["A", "B"]
    assert not any(e.open for e in [*t.shown("thought"), *t.shown("message")])


def test_the_text_of_a_message_start_is_not_shown_for_the_deltas_repeat_it() -> None:
    t = Talk().prompt()
    t.hears({"type": "message_start", "message": {"role": "assistant", "content": [TEXT]}}, update("text_start"))
    t.delta("Hello ")
    t.delta("there")
    t.hears(update("text_end", contentIndex=0, content="Hello there"), said(TEXT))
    assert [str(e.text) for e in t.shown("message")] == ["Hello there"]


def test_the_end_of_a_block_wins_over_its_deltas_and_the_end_of_a_message_over_that() -> None:
    t = Talk().prompt()
    t.delta("Helo")
    t.hears(update("text_end", contentIndex=0, content="Hello"))
    assert str(t.shown("message")[0].text) == "Hello"
    t.hears(said(TEXT))
    assert str(t.shown("message")[0].text) == "Hello there"


def test_what_was_streamed_is_not_told_twice() -> None:
    t = Talk().prompt()
    t.delta("Hello there")
    (ended,) = t.hears(update("text_end", contentIndex=0, content="Hello there"))
    assert ended == ev.MessageUpdated("m2", final=True)
    assert t.hears(said(TEXT)) == []


def test_text_that_was_only_cut_to_fit_a_line_stays_as_it_was_streamed() -> None:
    t = Talk().prompt()
    for piece in ("Hello ", "there, ", "this is long"):
        t.delta(piece)
    cut = "Hello …[19 chars elided for RPC frame]"
    t.hears(update("text_end", contentIndex=0, content=cut), said({"type": "text", "text": cut}))
    assert str(t.shown("message")[0].text) == "Hello there, this is long"


def test_a_message_that_was_never_streamed_is_shown_from_its_end() -> None:
    t = Talk().prompt()
    t.hears(said({"type": "thinking", "thinking": "hmm"}, TEXT))
    assert [str(e.text) for e in t.shown("message")] == ["Hello there"]


def test_a_message_that_was_cut_off_is_marked_so() -> None:
    t = Talk().prompt()
    t.delta("Half an ans")
    t.hears(said({"type": "text", "text": "Half an ans"}, stop="aborted"))
    t.ends("aborted")
    assert t.shown("message")[0].interrupted


def test_the_text_of_a_failed_attempt_is_not_mixed_into_the_next() -> None:
    t = Talk("pi").prompt()
    t.delta("First tr")
    t.hears(said({"type": "text", "text": "First tr"}, stop="error", errorMessage="overloaded"))
    t.hears({"type": "agent_end", "willRetry": True}, {"type": "agent_start"})
    t.delta("Second try")
    t.hears(said({"type": "text", "text": "Second try"}))
    assert [str(e.text) for e in t.shown("message")] == ["First tr", "Second try"]


def test_pieces_that_come_together_are_taken_together() -> None:
    t = Talk().prompt()
    t.delta("a")
    values = [update("text_delta", contentIndex=0, delta=d) for d in "bcd"]
    values += [update("text_delta", contentIndex=1, delta="x"), {"type": "agent_end"}]
    texts = t.adapter.texts(values, 0)
    assert texts is not None
    assert (texts.message_id, texts.pieces) == ("m2", ["b", "c", "d"])
    assert t.adapter.texts(values, 3) is None
    t.hears(said({"type": "text", "text": "abcd"}))
    assert t.of(ev.MessageUpdated)[-1].text is None


def test_pictures_in_a_message_are_shown() -> None:
    t = Talk().prompt()
    t.hears(said(TEXT, {"type": "image", "data": "iVBOR", "mimeType": "image/png"}))
    assert t.shown("message")[1].images == [ev.Image("iVBOR")]


def test_usage_and_what_the_context_holds_are_counted_per_message() -> None:
    t = Talk().prompt()
    usage = {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 1, "cost": {"input": 1, "total": 0.5}}
    t.hears(said(TEXT, usage=usage))
    t.ends()
    assert t.turn.usage == ev.Usage(10, 2, 3, 1, 0.5)
    assert t.transcript.state.context == 16


def test_messages_the_agent_writes_for_the_model_alone_are_not_shown() -> None:
    t = Talk().prompt()
    hidden = [read_by_model("rules", role) for role in ("system", "developer")]
    assert t.hears(*hidden) == []


def test_a_message_of_a_role_nobody_knows_is_kept() -> None:
    t = Talk().prompt()
    (kept,) = t.hears(read_by_model("x", "oracle"))
    assert isinstance(kept, ev.UnknownReceived)
    assert kept.name == "oracle"


def test_a_message_of_somebody_elses_is_shown_with_its_pictures() -> None:
    t = Talk().prompt()
    image = {"type": "image", "source": {"type": "base64", "mediaType": "image/gif", "data": "R0lG"}}
    attached = {"id": "1", "fileName": "a.png", "mimeType": "image/png", "content": "iVBOR", "extractedText": None}
    t.hears({"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": "see"}, image], "attachments": [attached]}})  # fmt: skip
    assert t.shown("user")[1].images == [ev.Image("R0lG", "image/gif"), ev.Image("iVBOR")]


def test_a_kind_of_update_nobody_knows_is_kept_without_what_repeats_itself() -> None:
    t = Talk().prompt()
    (kept,) = t.hears({**update("hologram", partial={"big": 1}, x=1), "message": {"big": 1}})
    assert kept == ev.UnknownReceived(
        "message_update", {"type": "message_update", "assistantMessageEvent": {"type": "hologram", "x": 1}}
    )
