"""Approvals: who decides, what is shown, what is done; and the edits a person makes before allowing."""

from __future__ import annotations

import pytest

TWO_FILES = """
[[prompt]]
match = "edit"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "edit_file"
      [[prompt.step.call.edits]]
      path = "a.txt"
      old = "one"
      new = "two"
      [[prompt.step.call.edits]]
      path = "new/b.txt"
      old = ""
      new = "b\\n"
  [[prompt.step]]
  when = { denied = true }
  text = "denied: {{note}}"
  [[prompt.step]]
  when = { ok = true }
  text = "ok: {{result.1.text}}"
  [[prompt.step]]
  when = { ok = false }
  text = "failed: {{result.1.text}}"
"""


@pytest.fixture
def files(start, tmp_path):
    """An agent that wants to change a.txt and create new/b.txt, asked and waiting."""

    def run(*flags):
        work = tmp_path / "work"
        work.mkdir()
        (work / "a.txt").write_bytes(b"zero\r\none\r\n")
        agent = start(*flags, script=TWO_FILES)
        assert agent.call("prompt", text="edit")["ok"]
        return agent

    return run


def answer(agent):
    agent.until("turn_end")
    return [e["text"] for e in agent.seen if e["type"] == "message_end"][-1]


def test_a_command_shows_exactly_what_would_run_and_waits(start):
    """HM-151 HM-156 HM-157 HM-160"""
    agent = start()
    command = "echo 'a b'; touch ran\n# second line"
    asked = agent.ask(f"run: {command}")
    assert asked["command"] == asked["summary"] == command
    assert (asked["tool"], asked["category"]) == ("shell", "shell")
    assert asked["paths"] == [str(agent.cwd)]
    assert asked["cwd"] == str(agent.cwd)
    assert asked["rule"] == f"shell: {command}"
    assert 'mode is "ask"' in asked["reason"]
    call = next(e for e in agent.seen if e["type"] == "tool_call")
    assert call["call_id"] == asked["call_id"]
    assert agent.state()["pending_approvals"] == [asked["call_id"]]
    agent.quiet()
    assert not (agent.cwd / "ran").exists()


def test_allowed_runs_and_its_response_approval_and_result_follow_each_other(start):
    """HM-087 HM-161 HM-172 HM-173"""
    agent = start()
    asked = agent.ask("run: echo ran")
    id = agent.send("approve", call_id=asked["call_id"], allow=True)
    begin = len(agent.seen)
    agent.until("tool_result")
    kinds = [e["type"] for e in agent.seen[begin:]]
    assert kinds == ["response", "approval", "tool_output", "tool_result"]
    assert agent.seen[begin]["id"] == id
    approval = agent.seen[begin + 1]
    assert (approval["call_id"], approval["tool"], approval["allow"]) == (asked["call_id"], "shell", True)
    assert approval["by"] == "user"
    agent.until("turn_end")


def test_refused_does_not_run_and_the_note_reaches_the_model(start):
    """HM-088 HM-161 HM-162 HM-173"""
    agent = start()
    asked = agent.ask("run: touch ran")
    note = "run only the store's tests"
    assert agent.call("approve", call_id=asked["call_id"], allow=False, note=note)["ok"]
    assert agent.until("approval")["note"] == note
    result = agent.until("tool_result")
    assert result["is_error"] is True
    assert note in result["text"]
    assert answer(agent) == f"I did not run it. {note}"
    assert not (agent.cwd / "ran").exists()
    agent.end()
    assert agent.seen[-1]["refused"][0]["note"] == note


def test_the_note_of_an_allowed_call_reaches_the_model_too(start):
    """HM-162"""
    agent = start()
    asked = agent.ask("run: echo x")
    agent.call("approve", call_id=asked["call_id"], allow=True, note="last time")
    assert agent.until("tool_result")["text"].endswith("The user says: last time")


def test_a_decision_fails_unless_that_call_waits(start):
    """HM-089"""
    agent = start()
    unknown = agent.call("approve", call_id="call_99", allow=True)
    assert unknown["ok"] is False
    assert "call_99" in unknown["error"]
    asked = agent.ask("run: echo x")
    agent.call("approve", call_id=asked["call_id"], allow=True)
    again = agent.call("approve", call_id=asked["call_id"], allow=False)
    assert again["ok"] is False
    agent.until("turn_end")
    assert [e["allow"] for e in agent.seen if e["type"] == "approval"] == [True]
    question = agent.call("prompt", text="ask: which?")
    assert question["ok"]
    call_id = agent.until("question")["call_id"]
    assert agent.call("approve", call_id=call_id, allow=True)["ok"] is False


def test_a_read_in_the_workspace_needs_no_leave(start):
    """HM-151"""
    agent = start(cwd=None)
    (agent.cwd / "a.txt").write_text("one\n")
    events = agent.turn("read: a.txt")
    assert "approval_needed" not in [e["type"] for e in events]
    assert events[-2]["text"] == "`a.txt` has 1 lines."


@pytest.mark.parametrize(
    ("approve", "mode", "edit", "shell"),
    [
        ("ask", "ask", "user", "user"), ("edits", "ask", "flag", "user"), ("all", "ask", "flag", "flag"),
        ("ask", "edit", "", "user"), ("ask", "auto", "", ""),
    ],
)  # fmt: skip
def test_mode_and_flag_say_who_decides(start, approve, mode, edit, shell):
    """HM-148 HM-152 HM-153 HM-154"""
    agent = start("--approve", approve, "--mode", mode)
    for prompt, by in (("write x.txt: hello", edit), ("run: echo x", shell)):
        begin = len(agent.seen)
        agent.call("prompt", text=prompt)
        if by == "user":
            call_id = agent.until("approval_needed")["call_id"]
            agent.call("approve", call_id=call_id, allow=True)
        agent.until("turn_end")
        decided = [e for e in agent.seen[begin:] if e["type"] in ("approval_needed", "approval")]
        assert [e["type"] for e in decided] == (["approval_needed", "approval"] if by else [])
        assert [e["by"] for e in decided[1:]] == ([by] if by else [])
        assert [e.get("auto", False) for e in decided[:1]] == ([by == "flag"] if by else [])
    assert (agent.cwd / "x.txt").read_text() == "hello"


def test_mode_plan_refuses_without_asking_whatever_the_flag(start):
    """HM-148"""
    agent = start("--mode", "plan", "--approve", "all")
    events = agent.turn("write x.txt: hello") + agent.turn("run: touch y")
    assert "approval_needed" not in [e["type"] for e in events]
    refused = [e for e in events if e["type"] == "tool_result"]
    assert all(e["is_error"] and e["refused"] and "only reads" in e["text"] for e in refused)
    assert list(agent.cwd.iterdir()) == []


@pytest.mark.parametrize("mode", ["edit", "auto"])
def test_what_leaves_the_workspace_needs_leave_whatever_the_mode(start, tmp_path, mode):
    """HM-148"""
    agent = start("--mode", mode, "--approve", "edits")
    (tmp_path / "secret.txt").write_text("s")
    (agent.cwd / "link").symlink_to(tmp_path)
    for prompt in ("read: ../secret.txt", "read: link/secret.txt", "write link/out.txt: x", f"read: {tmp_path}/none"):
        asked = agent.ask(prompt)
        assert "outside the workspace" in asked["reason"]
        assert "rule" not in asked
        assert asked["paths"][0].startswith(str(tmp_path))
        assert not asked["paths"][0].startswith(str(agent.cwd))
        agent.call("approve", call_id=asked["call_id"], allow=False)
        agent.until("turn_end")
    assert not (tmp_path / "out.txt").exists()


def test_a_command_with_hidden_characters_is_asked_in_every_mode_and_offers_no_rule(start):
    """HM-148"""
    agent = start("--mode", "auto")
    asked = agent.ask("run: echo \u202edlrow")
    assert "invisible" in asked["reason"]
    assert "rule" not in asked


def test_allowed_for_the_session_is_not_asked_again_for_the_same_call_only(start):
    """HM-088 HM-164"""
    agent = start()
    asked = agent.ask("run: echo one")
    agent.call("approve", call_id=asked["call_id"], allow=True, for_session=True)
    assert agent.until("approval")["for_session"] is True
    agent.until("turn_end")
    events = agent.turn("run: echo one")
    assert "approval_needed" not in [e["type"] for e in events]
    (approval,) = [e for e in events if e["type"] == "approval"]
    assert (approval["by"], approval["rule"]) == ("rule", asked["rule"])
    assert agent.ask("run: echo one; echo two")["call_id"]


def test_edits_allowed_for_the_session_cover_the_workspace(files):
    """HM-164"""
    agent = files()
    asked = agent.until("approval_needed")
    assert asked["rule"] == f"edit: {agent.cwd}/**"
    agent.call("approve", call_id=asked["call_id"], allow=True, for_session=True)
    agent.until("turn_end")
    assert "approval_needed" not in [e["type"] for e in agent.turn("write other.txt: x")]


def test_an_edit_shows_the_whole_texts_before_and_after(files):
    """HM-157"""
    agent = files()
    asked = agent.until("approval_needed")
    assert asked["category"] == "edit"
    assert asked["summary"] == "a.txt, new/b.txt"
    assert asked["paths"] == [str(agent.cwd / "a.txt"), str(agent.cwd / "new" / "b.txt")]
    assert asked["files"] == [
        {"path": "a.txt", "old": "zero\r\none\r\n", "new": "zero\r\ntwo\r\n"},
        {"path": "new/b.txt", "old": None, "new": "b\n"},
    ]


def test_an_edit_allowed_as_planned_is_applied_whole(files):
    """HM-161"""
    agent = files()
    asked = agent.until("approval_needed")
    agent.call("approve", call_id=asked["call_id"], allow=True)
    assert agent.until("approval")["files"] == ["a.txt", "new/b.txt"]
    assert agent.until("tool_result")["files"] == asked["files"]
    agent.until("turn_end")
    assert (agent.cwd / "a.txt").read_bytes() == b"zero\r\ntwo\r\n"
    assert (agent.cwd / "new" / "b.txt").read_bytes() == b"b\n"


def test_a_file_left_out_of_edits_is_skipped_and_one_not_planned_is_ignored(files):
    """HM-166 HM-167 HM-169 HM-170"""
    agent = files()
    asked = agent.until("approval_needed")
    edits = [{"path": "./a.txt", "content": "zero\r\ntwo\r\n"}, {"path": "extra.txt", "content": "x"}]
    assert agent.call("approve", call_id=asked["call_id"], allow=True, edits=edits)["ok"]
    assert agent.until("approval")["files"] == ["a.txt"]
    assert [f["path"] for f in agent.until("tool_result")["files"]] == ["a.txt"]
    assert "left out, so not written: new/b.txt" in answer(agent)
    assert sorted(p.name for p in agent.cwd.iterdir()) == ["a.txt"]


def test_changed_content_is_what_gets_applied_and_the_model_is_told(files):
    """HM-166 HM-168"""
    agent = files()
    asked = agent.until("approval_needed")
    edits = [{"path": "a.txt", "content": "mine\n"}, {"path": str(agent.cwd / "new/b.txt"), "content": "b\n"}]
    agent.call("approve", call_id=asked["call_id"], allow=True, edits=edits)
    said = answer(agent)
    assert "changed the new text of a.txt" in said
    assert "new text of new/b.txt" not in said
    assert (agent.cwd / "a.txt").read_bytes() == b"mine\n"
    assert (agent.cwd / "new" / "b.txt").read_bytes() == b"b\n"


def test_no_file_ticked_writes_nothing(files):
    """HM-167"""
    agent = files()
    asked = agent.until("approval_needed")
    agent.call("approve", call_id=asked["call_id"], allow=True, edits=[])
    assert "a.txt, new/b.txt" in answer(agent)
    assert (agent.cwd / "a.txt").read_bytes() == b"zero\r\none\r\n"


def test_edits_on_a_call_that_changes_no_file_fail_and_the_call_still_waits(start):
    """HM-171"""
    agent = start()
    asked = agent.ask("run: touch ran")
    response = agent.call("approve", call_id=asked["call_id"], allow=True, edits=[{"path": "a", "content": ""}])
    assert response["ok"] is False
    assert "changes files" in response["error"]
    assert agent.state()["pending_approvals"] == [asked["call_id"]]
    assert not (agent.cwd / "ran").exists()


def test_a_file_that_changed_underneath_is_not_overwritten(files):
    agent = files()
    asked = agent.until("approval_needed")
    (agent.cwd / "a.txt").write_bytes(b"mine\n")
    agent.call("approve", call_id=asked["call_id"], allow=True)
    result = agent.until("tool_result")
    assert result["is_error"] is True
    assert [f["path"] for f in result["files"]] == ["new/b.txt"]
    assert "a.txt changed while this call waited" in answer(agent)
    assert (agent.cwd / "a.txt").read_bytes() == b"mine\n"


def test_a_path_that_is_led_out_of_the_workspace_while_it_waits_is_not_written(start, tmp_path):
    agent = start()
    (tmp_path / "away").mkdir()
    asked = agent.ask("write sub/x.txt: hello")
    (agent.cwd / "sub").symlink_to(tmp_path / "away")
    agent.call("approve", call_id=asked["call_id"], allow=True)
    assert agent.until("tool_result")["is_error"] is True
    assert list((tmp_path / "away").iterdir()) == []


def test_abort_refuses_a_call_that_waits(start):
    """HM-081"""
    agent = start()
    asked = agent.ask("run: touch ran")
    agent.call("abort")
    approval = agent.until("approval")
    assert (approval["call_id"], approval["allow"]) == (asked["call_id"], False)
    agent.until("tool_result")
    agent.until("turn_end", stop_reason="cancelled")
    assert agent.state()["pending_approvals"] == []
    assert agent.call("approve", call_id=asked["call_id"], allow=True)["ok"] is False
    assert not (agent.cwd / "ran").exists()


# ---- questions ----


def test_a_question_waits_for_its_answer_which_goes_to_the_model(start):
    """HM-091 HM-176 HM-178"""
    agent = start()
    agent.call("prompt", text="ask: Which database should the tests use?")
    question = agent.until("question")
    assert question["text"] == "Which database should the tests use?"
    assert agent.state()["pending_questions"] == [question["call_id"]]
    id = agent.send("answer", call_id=question["call_id"], text="sqlite\nwith WAL")
    begin = len(agent.seen)
    assert agent.until("tool_result")["text"] == "sqlite\nwith WAL"
    assert agent.seen[begin]["id"] == id
    assert answer(agent) == "You answered: sqlite\nwith WAL"


def test_an_answer_fails_unless_that_call_waits_for_one(start):
    """HM-092"""
    agent = start()
    assert agent.call("answer", call_id="call_99", text="x")["ok"] is False
    agent.call("prompt", text="ask: x?")
    call_id = agent.until("question")["call_id"]
    assert agent.call("answer", call_id=call_id, text="x")["ok"] is True
    assert agent.call("answer", call_id=call_id, text="y")["ok"] is False
    agent.until("turn_end")
    asked = agent.ask("run: echo x")
    assert agent.call("answer", call_id=asked["call_id"], text="yes")["ok"] is False
    agent.call("abort")
    agent.until("turn_end")


def test_abort_ends_the_wait_for_an_answer(start):
    """HM-082 HM-092"""
    agent = start()
    agent.call("prompt", text="ask: x?")
    call_id = agent.until("question")["call_id"]
    agent.call("abort")
    agent.until("turn_end", stop_reason="cancelled")
    assert agent.state()["pending_questions"] == []
    assert agent.call("answer", call_id=call_id, text="late")["ok"] is False


def test_choices_come_whole(start):
    """HM-176"""
    script = """
[[prompt]]
match = ""
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "ask_user"
    question = "Which?"
    choices = ["a", { value = "b", label = "B", help = "the second" }]
    multi = true
    free = false
"""
    agent = start(script=script)
    agent.call("prompt", text="x")
    question = agent.until("question")
    assert question["choices"] == [
        {"value": "a", "label": "a", "help": ""},
        {"value": "b", "label": "B", "help": "the second"},
    ]
    assert (question["multi"], question["free"]) == (True, False)
