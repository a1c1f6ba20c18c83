"""``Session.export``: secrets are taken out unless asked otherwise, and what was taken out is told."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from hm_jupyter import connect

SECRET = "correct-horse-battery-7"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("HM_DEMO_SPEED", "0")
    with connect(cwd=tmp_path, provider="demo", env={"SHOP_PASSWORD": SECRET}, approve="all") as opened:
        yield opened


def test_secrets_of_the_environment_and_those_given_to_connect_are_taken_out(session, tmp_path, monkeypatch):  # type: ignore[no-untyped-def]
    """HM-137"""
    monkeypatch.setenv("KERNEL_TOKEN", "of-this-kernel-99")
    session.prompt(f"say: {SECRET} and of-this-kernel-99")
    for ending in ("html", "md", "txt", "json", "jsonl", "ipynb"):
        written = session.export(tmp_path / f"s.{ending}")
        text = written.read_text("utf-8")
        assert SECRET not in text
        assert "of-this-kernel-99" not in text
        assert written.redacted == ["2 password", "2 token"]
        shown = session.export(tmp_path / f"all.{ending}", redact=False)
        assert "of-this-kernel-99" in shown.read_text("utf-8")
        assert shown.redacted == []


def test_a_session_is_written_as_a_notebook(session, tmp_path):  # type: ignore[no-untyped-def]
    session.prompt("run: echo made it")
    notebook = nbformat.read(session.export(tmp_path / "s.ipynb"), as_version=4)
    nbformat.validate(notebook)
    (code,) = [c for c in notebook.cells if c.cell_type == "code"]
    assert code.source == "%%bash\necho made it"
    assert json.dumps(code.outputs).count("made it") == 1


def test_the_agents_own_export_says_what_it_took_out(session, tmp_path):  # type: ignore[no-untyped-def]
    """HM-136 HM-137"""
    session.prompt(f"say: {SECRET}")
    made = session.agent_export("html", "own.html")
    assert made["path"] == str(tmp_path / "own.html")
    assert made["redacted"] == ["2 password"]
    assert SECRET not in (tmp_path / "own.html").read_text("utf-8")
