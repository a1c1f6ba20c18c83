"""Changes to files: v1's diffs, v2's structured ones with a git patch (ACP reference, section 6)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter.events import FileDiff
from hm_jupyter.protocols.acp.patches import git_patch, structured

NEW = """diff --git /w/new.txt /w/new.txt
new file mode 100644
--- /dev/null
+++ /w/new.txt
@@ -0,0 +1,2 @@
+line one
+line two
"""
CHANGED = """diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@ def f():
 one
-two
+TWO
 three
@@ -10 +10,2 @@
-ten
\\ No newline at end of file
+ten
+eleven
"""
GONE = """--- a/old.txt
+++ /dev/null
@@ -1,2 +0,0 @@
-- dash
-last
"""


def test_a_new_file_is_whole() -> None:
    assert git_patch(NEW) == [FileDiff("/w/new.txt", None, "line one\nline two\n")]


def test_hunks_of_a_changed_file_are_passages() -> None:
    assert git_patch(CHANGED) == [
        FileDiff("src/a.py", "one\ntwo\nthree\n", "one\nTWO\nthree\n", partial=True),
        FileDiff("src/a.py", "ten", "ten\neleven\n", partial=True),
    ]


def test_a_deleted_file_is_whole_and_a_line_that_looks_like_a_head_is_a_line() -> None:
    assert git_patch(GONE) == [FileDiff("old.txt", "- dash\nlast\n", None)]


def test_several_files_in_one_patch() -> None:
    assert [diff.path for diff in git_patch(NEW + CHANGED + GONE)] == ["/w/new.txt", "src/a.py", "src/a.py", "old.txt"]


def test_a_path_git_has_quoted_is_read() -> None:
    patch = '--- /dev/null\n+++ "b/na\\303\\257ve \\"x\\".txt"\n@@ -0,0 +1 @@\n+x\n'
    assert git_patch(patch) == [FileDiff('naïve "x".txt', None, "x\n")]


@given(st.text(alphabet='@-+ \\\n\tadiff/git0123456789,"', max_size=200))
def test_no_patch_is_fatal(patch: str) -> None:
    for diff in git_patch(patch):
        assert diff.path


def change(operation: str, path: str, **more: Any) -> dict[str, Any]:
    return {"operation": operation, "path": path, **more}


def test_changes_are_named_even_without_a_patch() -> None:
    diffs, words = structured(
        {
            "type": "diff",
            "patch": None,
            "changes": [
                change("add", "/a"),
                change("modify", "/b"),
                change("delete", "/c"),
                change("move", "/e", oldPath="/d"),
                change("copy", "/g", oldPath="/f"),
                change("_chmod", "/h"),
                {"operation": "add"},
                "no",
            ],
        }
    )
    assert diffs == [
        FileDiff("/a", None, "", partial=True),
        FileDiff("/b", None, "", partial=True),
        FileDiff("/c", None, None, partial=True),
    ]
    assert words == ["Moves /d to /e", "Copies /f to /g", "_chmod: /h"]


def test_a_patch_shows_the_changes_under_their_absolute_paths() -> None:
    diffs, words = structured(
        {
            "type": "diff",
            "changes": [change("modify", "/repo/src/a.py"), change("add", "/w/new.txt")],
            "patch": {"format": "git_patch", "text": CHANGED + NEW},
        }
    )
    assert [(diff.path, diff.partial) for diff in diffs] == [
        ("/repo/src/a.py", True),
        ("/repo/src/a.py", True),
        ("/w/new.txt", False),
    ]
    assert words == []


@pytest.mark.parametrize("patch", [7, {"format": "_other", "text": NEW}, {"format": "git_patch"}, {"text": NEW}])
def test_a_patch_that_cannot_be_read_leaves_the_changes(patch: Any) -> None:
    diffs, _ = structured({"changes": [change("delete", "/c")], "patch": patch})
    assert diffs == [FileDiff("/c", None, None, partial=True)]
