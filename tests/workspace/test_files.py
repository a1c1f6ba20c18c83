"""Text files of the workspace: what is read, what is written, and what is refused with a clear word."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hm_jupyter.workspace import files
from hm_jupyter.workspace.refused import Refused

FIVE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def five(tmp_path: Path) -> Path:
    path = tmp_path / "five.txt"
    path.write_text(FIVE)
    return path


def refusal(fn, *args) -> Refused:
    with pytest.raises(Refused) as caught:
        fn(*args)
    return caught.value


@pytest.mark.parametrize(
    ("line", "limit", "text"),
    [
        (None, None, FIVE),
        (1, None, FIVE),
        (2, 2, "two\nthree\n"),
        (4, None, "four\nfive\n"),
        (5, 10, "five\n"),
        (1, 5, FIVE),
        (None, 1, "one\n"),
        (0, 1, "one\n"),
        (2, 0, ""),
        (90, 3, ""),
    ],
)
def test_lines_are_counted_from_one_and_limited(five: Path, line: int | None, limit: int | None, text: str) -> None:
    assert files.read(five, line, limit) == text


def test_a_last_line_without_its_end_keeps_that_and_other_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "dos.txt"
    path.write_bytes(b"a\r\nb\x0bc\r\nd")
    assert files.read(path) == "a\r\nb\x0bc\r\nd"
    assert files.read(path, 2, 1) == "b\x0bc\r\n"
    assert files.read(path, 3, 1) == "d"


@pytest.mark.parametrize(("line", "limit"), [(-1, None), (None, -1), (True, None), (1.5, None), ("2", None)])
def test_a_line_that_is_no_number_is_refused(five: Path, line: object, limit: object) -> None:
    assert refusal(files.read, five, line, limit).kind == "invalid"


def test_a_missing_file_is_told_as_such_and_so_is_one_below_a_file(tmp_path: Path, five: Path) -> None:
    for path in (tmp_path / "no.txt", tmp_path / "no" / "such.txt", five / "below.txt"):
        found = refusal(files.read, path)
        assert found.kind == "not_found" and str(path) in found.message


def test_what_is_no_text_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\x89PNG\xff\xfe")
    assert "folder" in refusal(files.read, tmp_path).message
    assert "pipe" in refusal(files.read, tmp_path / "pipe").message
    assert "device" in refusal(files.read, Path("/dev/zero")).message
    assert "UTF-8" in refusal(files.read, tmp_path / "binary").message


def test_a_file_too_large_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(files.MAX_FILE + 1)
    assert "command" in refusal(files.read, path).message


def test_a_file_that_became_a_link_since_it_was_resolved_is_not_followed(tmp_path: Path, five: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(five)
    with pytest.raises(Refused):
        files.read(link)
    with pytest.raises(Refused):
        files.write(link, "x", FIVE)
    folder = tmp_path / "folder"
    folder.symlink_to(tmp_path)
    assert refusal(files.read, folder / "five.txt").kind == "denied"
    assert refusal(files.write, folder / "new.txt", "x", None).kind == "denied"
    assert five.read_text() == FIVE and not (tmp_path / "new.txt").exists()


def test_a_new_file_is_made_with_its_folders_and_the_usual_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.txt"
    files.write(path, "häh\r\n", None)
    assert path.read_bytes() == "häh\r\n".encode()
    usual = tmp_path / "usual"
    usual.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert [p.name for p in path.parent.iterdir()] == ["new.txt"]


def test_the_mode_is_kept(five: Path) -> None:
    five.chmod(0o750)
    files.write(five, "x", FIVE)
    assert (five.read_text(), stat.S_IMODE(five.stat().st_mode)) == ("x", 0o750)


def test_a_file_with_two_names_stays_one_file(tmp_path: Path, five: Path) -> None:
    other = tmp_path / "other.txt"
    other.hardlink_to(five)
    files.write(five, "x", FIVE)
    assert other.read_text() == "x"


@pytest.mark.parametrize("before", [None, "", "ONE\n"])
def test_a_file_that_is_not_what_it_was_is_not_written(five: Path, before: str | None) -> None:
    found = refusal(files.write, five, "mine", before)
    assert found.kind == "failed" and "Read it again" in found.message
    assert five.read_text() == FIVE


def test_a_file_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    assert "is gone" in refusal(files.write, tmp_path / "no.txt", "mine", "what it was").message
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_no_unicode_or_too_long_is_refused(tmp_path: Path) -> None:
    assert refusal(files.write, tmp_path / "x", "\ud800", None).kind == "invalid"
    assert refusal(files.write, tmp_path / "x", "x" * (files.MAX_FILE + 1), None).kind == "invalid"


def test_a_read_only_file_is_refused(five: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    five.chmod(0o444)
    monkeypatch.setattr("os.access", lambda path, how: not (path == five and how == os.W_OK))  # root may write all
    assert "read-only" in refusal(files.write, five, "x", FIVE).message
    assert five.read_text() == FIVE
