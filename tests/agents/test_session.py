"""The session: its state, mode, model, pictures, compaction, fork and export."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest


def image(kind="PNG", size=(40, 20), noise=False):
    from PIL import Image

    picture = Image.effect_noise(size, 100).convert("RGB") if noise else Image.new("RGB", size, "red")
    out = io.BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def encoded(raw):
    return {"data": base64.b64encode(raw).decode()}


# ---- state ----


def test_the_state_has_the_documented_shape(start):
    """HM-109 HM-143 HM-146"""
    agent = start()
    state = agent.state()
    assert set(state) == {"session", "running", "pending_approvals", "pending_questions"}
    session = state["session"]
    assert set(session) == {
        "id", "title", "root", "mode", "provider", "model", "status", "running", "saved", "context", "usage",
    }  # fmt: skip
    assert session["running"] is state["running"] is False
    assert set(session["usage"]) == {"input", "output", "cache_read", "cache_write", "cost"}


def test_what_waits_is_listed_while_it_waits(start):
    """HM-110 HM-111"""
    agent = start()
    asked = agent.ask("run: echo x")
    state = agent.state()
    assert (state["running"], state["session"]["running"], state["session"]["status"]) == (True, True, "waiting")
    assert (state["pending_approvals"], state["pending_questions"]) == ([asked["call_id"]], [])
    agent.call("approve", call_id=asked["call_id"], allow=False)
    agent.until("turn_end")
    assert agent.state()["pending_approvals"] == []


def test_the_context_grows_with_a_turn(start):
    """HM-145"""
    agent = start()
    before = agent.state()["session"]["context"]
    agent.turn("say: " + "word " * 400)
    after = agent.state()["session"]
    assert after["context"] >= before + 900
    assert after["title"].startswith("say: word")


def test_no_session_is_listed_as_saved(start):
    """HM-113 HM-114"""
    agent = start()
    agent.turn("say: x")
    assert agent.call("list_sessions")["data"] == {"sessions": []}
    assert agent.call("list_sessions", all=True)["data"] == {"sessions": []}


# ---- settings ----


def test_a_mode_set_during_a_turn_applies_from_the_next_one(start):
    """HM-093 HM-094"""
    agent = start(
        script="""
[[prompt]]
match = "two"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "shell"
    command = "true"
    [[prompt.step.call]]
    tool = "shell"
    command = "true"
"""
    )
    asked = agent.ask("two")
    assert agent.call("set_mode", mode="auto")["ok"]
    agent.call("approve", call_id=asked["call_id"], allow=True)
    asked = agent.until("approval_needed")
    agent.call("approve", call_id=asked["call_id"], allow=True)
    agent.until("turn_end")
    assert "approval_needed" not in [e["type"] for e in agent.turn("two")]
    assert agent.state()["session"]["mode"] == "auto"


def test_an_unknown_mode_is_refused_and_the_modes_are_named(start):
    """HM-095"""
    agent = start()
    response = agent.call("set_mode", mode="nope")
    assert response["ok"] is False
    assert "ask, edit, auto, plan" in response["error"]
    assert agent.state()["session"]["mode"] == "ask"


def test_a_model_set_during_a_turn_applies_from_the_next_one(start):
    """HM-096 HM-097"""
    agent = start()
    asked = agent.ask("run the tests")
    assert agent.call("set_model", model="stress")["ok"]
    agent.call("approve", call_id=asked["call_id"], allow=False)
    agent.until("turn_end")
    assert any("did not run the tests" in e.get("text", "") for e in agent.seen)
    assert agent.turn("stream 3")[-2]["text"] == "token token token "


def test_empty_and_left_out_fields_of_set_model(start):
    """HM-098 HM-099 HM-100 HM-101 HM-102 HM-103 HM-144"""
    agent = start("--model", "approvals")

    def now(**fields):
        assert agent.call("set_model", **fields)["ok"], fields
        session = agent.state()["session"]
        return session["provider"], session["model"], session.get("effort")

    for effort in ("off", "low", "medium", "high", "xhigh", "max"):
        assert now(effort=effort) == ("demo", "approvals", effort)
    assert now(model="stress") == ("demo", "stress", "max")
    assert now(provider="", effort="low") == ("demo", "stress", "low")
    assert now(provider="demo") == ("demo", "stress", "low")
    assert now(effort="") == ("demo", "stress", None)
    assert now(provider="", model="") == ("demo", "", None)
    for bad in ({"effort": "ultra"}, {"provider": "nope"}, {"model": "nope"}, {}):
        assert agent.call("set_model", **bad)["ok"] is False, bad
    assert "there is no provider 'nope'" in agent.call("set_model", provider="nope")["error"]
    assert agent.state()["session"]["model"] == ""


# ---- pictures ----


@pytest.mark.parametrize("command", ["prompt", "steer", "follow_up"])
def test_what_is_no_picture_fails_the_command_and_the_session_goes_on(start, command):
    """HM-064 HM-073"""
    agent = start()
    for data in (base64.b64encode(b"plain text").decode(), "not base64!", ""):
        response = agent.call(command, text="look", images=[{"data": data}])
        assert response["ok"] is False
        assert "PNG, JPEG, GIF or WebP" in response["error"]
    assert agent.state()["running"] is False
    assert agent.turn("say: x")[-1]["type"] == "turn_end"


def test_the_four_formats_are_told_apart_by_their_bytes_and_a_prompt_may_be_pictures_alone(start):
    """HM-062 HM-065 HM-138 HM-139"""
    agent = start()
    images = [encoded(image(kind)) for kind in ("PNG", "JPEG", "GIF", "WEBP")]
    events = agent.turn(images=images)
    said = [e["text"] for e in events if e["type"] == "message_end"][-1]
    assert said == "I see: image/png 40 × 20, image/jpeg 40 × 20, image/gif 40 × 20, image/webp 40 × 20."


def test_a_picture_too_wide_or_too_heavy_is_scaled_down_before_the_model_sees_it():
    """HM-140 HM-141"""
    from hm_jupyter.agents.images import MAX_BYTES, picture

    wide = picture(encoded(image(size=(3136, 100)))["data"])
    assert (wide.width, wide.height) == (1568, 50)
    raw = image("PNG", (1500, 1500), noise=True)
    raw += b"\0" * (MAX_BYTES + 1 - len(raw))
    heavy = picture(encoded(raw)["data"])
    assert len(base64.b64decode(heavy.data)) <= MAX_BYTES
    assert heavy.width <= 1500


# ---- compact ----


def test_compaction_is_answered_when_it_is_done(start):
    """HM-104 HM-105"""
    agent = start()
    agent.turn("say: " + "word " * 2000)
    before = agent.state()["session"]["context"]
    begin = len(agent.seen)
    assert agent.call("compact", focus="the words")["ok"]
    assert [e["type"] for e in agent.seen[begin:]] == ["compaction_start", "compaction_end", "response"]
    assert "Focus: the words" in agent.seen[begin + 1]["summary"]
    assert agent.state()["session"]["context"] < before
    assert agent.call("compact")["ok"]
    assert agent.turn("say: x")[-2]["text"] == "x"


def test_compaction_fails_while_a_turn_runs(start):
    """HM-106"""
    agent = start()
    agent.ask("run: echo x")
    response = agent.call("compact")
    assert response["ok"] is False
    assert "turn_end" in response["error"]
    assert "compaction_start" not in agent.kinds()


def test_abort_stops_a_compaction(start):
    """HM-105"""
    agent = start(env={"HM_DEMO_SPEED": "100"})
    id = agent.send("compact")
    agent.until("compaction_start")
    assert agent.call("prompt", text="x")["ok"] is False
    assert agent.call("abort")["ok"]
    assert "error" in agent.until("compaction_end")
    assert agent.until("response", id=id)["ok"] is False


# ---- fork ----


def test_a_fork_goes_on_as_a_new_session_with_all_of_the_conversation(start):
    """HM-118 HM-120 HM-123 HM-124 HM-125 HM-126"""
    agent = start()
    agent.turn("say: one")
    old = agent.state()["session"]
    begin = len(agent.seen)
    response = agent.call("fork")
    announced = agent.seen[begin]
    assert [e["type"] for e in agent.seen[begin:]] == ["session_start", "response"]
    fork = response["data"]
    assert fork["id"] == announced["session"] == response["session"] != old["id"]
    assert fork["fork_of"] == old["id"]
    assert fork["context"] == old["context"]
    assert {e["session"] for e in agent.turn("say: two")} == {fork["id"]}


def test_a_fork_from_an_entry_leaves_out_what_came_later(start):
    """HM-121"""
    agent = start()
    agent.turn("say: one")
    before = agent.state()["session"]["context"]
    entry = [e["entry"] for e in agent.seen if e["type"] == "message_end"][-1]
    agent.turn("say: " + "two " * 500)
    fork = agent.call("fork", entry=entry)["data"]
    assert fork["context"] == before


def test_an_unknown_entry_fails_and_nothing_changes(start):
    """HM-127"""
    agent = start()
    id = agent.state()["session"]["id"]
    assert "no entry" in agent.call("fork", entry="x")["error"]
    assert agent.state()["session"]["id"] == id


def test_a_fork_during_a_turn_fails(start):
    """HM-119"""
    agent = start()
    agent.ask("run: echo x")
    assert agent.call("fork")["ok"] is False
    assert agent.kinds().count("session_start") == 1


# ---- export ----


def test_an_export_is_written_where_it_was_asked_for(start):
    """HM-129 HM-131 HM-132 HM-136"""
    agent = start()
    agent.turn("say: ```py\nx```")
    data = agent.call("export", format="md", path="out.md")["data"]
    assert data == {"path": str(agent.cwd / "out.md"), "redacted": []}
    assert "> say:" in (agent.cwd / "out.md").read_text()
    there = agent.call("export", format="jsonl", path=".")["data"]["path"]
    rows = [json.loads(line) for line in Path(there).read_text("utf-8").splitlines()]
    assert [r.get("role") or r["type"] for r in rows] == ["session", "user", "usage", "assistant", "turn_end"]
    assert rows[0]["id"] == agent.seen[0]["session"]


def test_without_a_path_it_goes_to_downloads(start, tmp_path):
    """HM-133"""
    agent = start(env={"HOME": str(tmp_path / "home")})
    agent.turn("say: x")
    path = agent.call("export", format="md")["data"]["path"]
    assert path.startswith(str(tmp_path / "home" / "Downloads") + "/")


def test_html_is_the_default_and_one_page_by_itself(start, tmp_path):
    """HM-130"""
    agent = start("--approve", "all")
    agent.turn("run: echo made it")
    page = Path(agent.call("export", path=".")["data"]["path"])
    assert page.name == f"hm-{agent.seen[0]['session']}.html"
    text = page.read_text("utf-8")
    assert "<script" not in text
    assert "echo made it" in text
    assert "You asked" in text


def test_another_format_fails_and_a_place_that_cannot_be_written_says_so(start):
    """HM-130"""
    agent = start()
    assert agent.call("export", format="pdf")["ok"] is False
    (agent.cwd / "file").write_text("")
    response = agent.call("export", path="file/x.html")
    assert response["ok"] is False
    assert "give another path" in response["error"]
