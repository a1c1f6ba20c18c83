"""What a finished turn leaves behind, and whole sessions as documents: the words, the order, and no difference between runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hm_jupyter.events import FileDiff
from hm_jupyter.exports import diffs, documents, html, jsonl, markdown, mime, render, text
from hm_jupyter.notebook.freeze import NBVAL_SANITIZE, freeze
from hm_jupyter.transcript import Decision, Put, State, Transcript, TurnEntry, UserEntry

from .story import JOIN_NEW, JOIN_OLD, LOAD_NEW, LOAD_OLD, ROOT, everything, join, offers, tool

GOLDEN = Path(__file__).parent.parent / "golden" / "exports"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("join.html", lambda: html.fragment(join(), 1)),
        ("join.md", lambda: markdown.fragment(join(), 1)),
        ("join.txt", lambda: text.plain(join(), 1)),
        ("everything.md", lambda: documents.document_markdown(everything(), title="The join")),
        ("everything.txt", lambda: documents.document_text(everything(), title="The join")),
        ("everything.jsonl", lambda: documents.to_jsonl(everything(), times=False)),
        ("offers.html", lambda: html.fragment(offers(), 1)),
        ("offers.md", lambda: documents.document_markdown(offers(), title="The key")),
        ("offers.txt", lambda: text.plain(offers(), 1)),
        ("offers.jsonl", lambda: documents.to_jsonl(offers(), times=False)),
    ],
)  # fmt: skip
def test_what_is_written_is_what_was_agreed(name: str, written: object) -> None:
    """``HM_GOLDEN=write pytest …`` writes the golden files anew; read the difference before committing it."""
    now = written()  # type: ignore[operator]
    path = GOLDEN / name
    if os.environ.get("HM_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(now, "utf-8", newline="\n")
    assert now == path.read_text("utf-8")


def elsewhere(at: float, story: Callable[[float], Transcript] = everything) -> Transcript:
    """The same session at another time, in another folder, with other ids."""
    told = story(at)
    moved = json.loads(json.dumps(jsonl.data(told, times=True)).replace(ROOT, f"/home/other/{at:.0f}/revenue"))
    for n, entry in enumerate(moved["entries"]):
        entry["id"] = f"{at}-{n}"
        if "call_id" in entry:
            entry["call_id"] += f"-{at}"
        if entry.get("parent"):
            entry["parent"] += f"-{at}"
    return jsonl.read(moved)


def test_two_runs_at_other_times_in_other_folders_leave_the_same_cell() -> None:
    assert freeze(elsewhere(5.5), 1, 3) == freeze(elsewhere(77_777.25), 1, 3)
    assert mime.bundle(everything()) == mime.bundle(everything())
    assert mime.bundle(elsewhere(5.5, offers), 1) == mime.bundle(elsewhere(77_777.25, offers), 1)


def test_times_are_shown_when_asked_for() -> None:
    assert "1:48" in html.fragment(join(), 1, times=True)
    assert "1:48" not in html.fragment(join(), 1)


def test_writing_changes_nothing_in_the_transcript() -> None:
    told = everything()
    before = json.dumps(jsonl.data(told, times=True))
    mime.bundle(told)
    documents.document_html(told)
    assert json.dumps(jsonl.data(told, times=True)) == before


def test_the_header_says_how_it_ended_and_what_it_cost() -> None:
    first = text.plain(join(), 1).split("\n")[0]
    assert first == "Finished · hm · sonnet-4.5 · 8 tool calls, 1 failed · 3 approvals · 41.2k tokens · $0.18"


def test_paths_are_relative_to_the_sessions_folder_everywhere() -> None:
    for written in freeze(everything(), 1, 3).values():
        assert ROOT not in str(written)


def test_a_folder_an_agent_makes_up_cannot_hide_what_ran() -> None:
    told = join()
    told.state.root = "/etc"
    told.apply(Put(tool("z", 1, "shell", input={"command": "rm -rf /etc/x"}, output="removed /etc/x")))
    written = text.plain(told, 1)
    assert "Shell rm -rf /etc/x" in written
    told.state.root = "rm"
    assert "Shell rm -rf /etc/x" in text.plain(told, 1)


def test_edits_and_denials_are_open_and_a_failure_is_closed_with_its_exit_code() -> None:
    page = html.fragment(join(), 1)
    rows = re.findall(r'<details class="hm-tool( hm-tool-bad)?"( open)?><summary.*?</summary>', page)
    assert ("", " open") in rows
    assert (" hm-tool-bad", "") in rows
    assert '<span class="hm-bad-text">exit 1</span>' in page


def test_decisions_are_sentences_with_the_note_quoted() -> None:
    page = html.fragment(join(), 1)
    assert "You allowed 2 of 3 files. Left alone: notes/lost_rows.md." in page
    assert "You denied it: “I push by hand.”" in page
    refused = replace(join().entries["x3"], decision=Decision("denied", "policy", "", "Nobody can be asked."))  # type: ignore[arg-type]
    told = Transcript()
    told.apply(Put(refused))
    assert "The session’s policy refused it: “Nobody can be asked.”" in text.plain(told)


def test_without_classes_styles_and_drawings_every_row_still_reads_as_a_sentence() -> None:
    page = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<[^>]*>", "", html.fragment(join(), 1), flags=re.S)
    assert page.startswith("Finished · hm · sonnet-4.5 · 8 tool calls, 1 failed")
    assert "Shell pytest tests/test_join.py -q (failed) exit 1" in page
    assert "Shell git push · denied" in page


def test_the_agents_own_options_are_named_with_what_they_decided() -> None:
    written = text.plain(offers(), 1)
    assert "You allowed it. You chose: “Always allow pytest”, which lasts beyond this call." in written
    assert "You denied it: “I push by hand.” You chose: “No, and tell the agent why”." in written


def test_calls_of_a_sub_agent_stand_within_it_and_are_counted() -> None:
    written = text.plain(offers(), 1)
    assert (
        "+ Sub-agent find every reader\n    + Search read_csv\n    + Sub-agent check the notebooks\n        + Shell git log"
        in written
    )
    assert "7 tool calls" in written.split("\n")[0]
    assert written.count("read_csv") == 1


@pytest.mark.parametrize(
    "parents", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "gone"}, {f"c{n}": f"c{n - 1}" for n in range(30)}]
)
def test_no_parent_an_agent_names_can_hide_a_call(parents: dict[str, str]) -> None:
    told = Transcript()
    for name, parent in parents.items():
        call = tool(name, 1, "shell", input={"command": f"echo {name}."}, parent=f"call-{parent}")
        told.apply(Put(call))
    for written in mime.bundle(told).values():
        for name in parents:
            assert f"echo {name}." in str(written)


def test_two_calls_with_one_id_are_no_endless_nest() -> None:
    told = Transcript()
    for id, call_id, parent in (("1", "x", "y"), ("2", "y", "x"), ("3", "x", "")):
        call = tool(id, 1, "agent", title=f"helper {id}", parent=parent)
        told.apply(Put(replace(call, call_id=call_id)))
    for written in mime.bundle(told).values():
        assert {*re.findall(r"helper \d", str(written))} == {"helper 1", "helper 2", "helper 3"}


def test_how_full_the_context_is_stands_with_the_turn_it_was_told_in() -> None:
    assert "context 94 % of 200k tokens · 4.20 EUR spent" in text.plain(offers(), 1)
    told = offers()
    told.state.turn = 2
    assert "context" not in text.plain(told, 1).split("\n")[0]


def test_what_is_said_twice_is_written_once() -> None:
    written = text.plain(offers(), 1)
    assert written.count("The connection was lost") == 1
    assert "Nothing is missing. (Said 2 times.)" in written


def test_forms_and_pages_are_told_without_a_link() -> None:
    page = html.fragment(offers(), 1)
    assert "Branch: fix/keys<br>Sample rows: 500" in page
    assert "Asked for: Branch, Sample rows." in page
    assert "You agreed to open it." in page
    assert "https://login.example.org/oauth?…" in page
    assert all("state=9f" not in str(written) for written in mime.bundle(offers()).values()), (
        "a one-time code is no record"
    )
    assert 'https://w<b class="hm-esc">[U+0456]</b>ki.example.org/' in page
    assert "<a" not in page


def test_one_ordinary_cell_is_small() -> None:
    told = Transcript(join().state, {k: e for k, e in join().entries.items() if k in ("t1", "u1", "r1", "x4", "m1")})
    assert len(html.fragment(told, 1).encode()) < 12_000


def test_long_output_is_folded_and_ends_somewhere() -> None:
    told = Transcript()
    told.apply(Put(tool("x", 1, "shell", input={"command": "seq"}, output="\n".join(map(str, range(9_000))))))
    page = html.fragment(told)
    assert "+8,993 lines" in page
    assert "and 6,993 more lines" in page
    assert "8999" in page


@pytest.mark.parametrize(
    ("old", "new"),
    [(LOAD_OLD, LOAD_NEW), (JOIN_OLD, JOIN_NEW), (None, "new\nfile\n"), ("gone\n", None), ("a\nb", "a\nc"), ("a\nb\n", "a\nb"),
     ("a", "a\n"), ("", "x\n"), ("\n".join(map(str, range(3_000))), "\n".join(map(str, range(1, 3_000, 2))))],
)  # fmt: skip
def test_a_diff_can_be_applied(tmp_path: Path, old: str | None, new: str | None) -> None:
    target = tmp_path / "file.py"
    if old is not None:
        target.write_text(old, newline="\n")
    patch = str(diffs.unified(FileDiff("file.py", old, new))) + "\n"
    subprocess.run(["git", "apply", "-p0", "-"], input=patch.encode(), cwd=tmp_path, check=True)
    assert (target.read_text() if target.exists() else None) == new


@pytest.mark.parametrize("story", [everything, offers])
def test_json_can_be_read_again(story: Callable[[], Transcript]) -> None:
    told = story()
    again = jsonl.read(json.loads(json.dumps(jsonl.data(told, times=True))))
    assert mime.bundle(again) == mime.bundle(told)
    assert [json.loads(line)["kind"] for line in documents.to_jsonl(told).splitlines()][:2] == ["session", "turn"]


def test_a_page_fetches_nothing_and_lists_its_turns() -> None:
    page = documents.document_html(everything(), title="The <join>")
    assert "<title>The &lt;join&gt;</title>" in page
    assert "<script" not in page
    assert re.findall(r'<a href="#(turn-\d)">', page) == ["turn-1", "turn-2", "turn-3"]
    assert "url(" not in page


@pytest.mark.parametrize("format", ["html", "md", "txt", "ipynb"])
def test_a_document_is_called_as_its_session_is_else_by_its_first_prompt(format: str) -> None:
    """An agent names its session late or never; "Agent session" is left for one in which nothing was asked."""
    told = Transcript()

    def heading(title: str = "") -> str:
        written = render(told, format, title)
        if format == "html":
            (name,) = re.findall("<h1>(.*)</h1>", written)
            assert f"<title>{name}</title>" in written
            return str(name)
        if format == "ipynb":
            written = "".join(json.loads(written)["cells"][0]["source"])
        return written.partition("\n")[0].removeprefix("# ")

    assert heading() == "Agent session"
    told.apply(Put(TurnEntry("t1", 1, "finished")))
    told.apply(Put(UserEntry("u1", 1, "fix the\nfailing test")))
    assert heading() == "fix the failing test"
    told.apply(State({"title": "The sign of add"}))
    assert heading() == "The sign of add"
    assert heading("As I say") == "As I say"


def test_the_sanitiser_for_nbval_can_be_found_and_read() -> None:
    import configparser

    said = subprocess.run(
        [sys.executable, "-m", "hm_jupyter.notebook.freeze"], capture_output=True, text=True, check=True
    )
    assert Path(said.stdout.strip()) == NBVAL_SANITIZE
    rules = configparser.RawConfigParser()
    rules.read(NBVAL_SANITIZE)
    assert rules.sections()
    for name in rules.sections():
        re.compile(rules[name]["regex"])


@pytest.mark.parametrize("path", ["/home/ada/lessons/first.toml", r"C:\Users\ada\first.toml", "lessons/first.toml"])
def test_of_a_scenario_file_only_its_name_is_written(path: str) -> None:
    """It is the demo provider's model: where it lies is this machine's business, and no notebook's."""
    told = join()
    told.state.model = path
    for entry in list(told.entries.values()):
        if isinstance(entry, TurnEntry):
            told.apply(Put(replace(entry, model=path)))
    whole = [*mime.bundle(told, 1).values(), documents.document_html(told), documents.document_markdown(told),
             documents.document_text(told), documents.to_jsonl(told)]  # fmt: skip
    for written in whole:
        said = written if isinstance(written, str) else json.dumps(written)
        assert "first.toml" in said
        assert not re.search(r"(?:ada|lessons)(?:/|\\)", said)
    assert told.state.model == path, "the session's own is left alone"
