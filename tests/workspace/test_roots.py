"""Where an agent may reach: what a path really means, and which names look like a secret's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hm_jupyter.workspace.refused import Refused
from hm_jupyter.workspace.roots import Roots, secret


def kind_of(roots: Roots, path: object) -> str:
    with pytest.raises(Refused) as caught:
        roots.locate(path)
    return caught.value.kind


def test_a_path_is_inside_by_what_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "leave").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "stay").symlink_to(tmp_path / "in")
    (tmp_path / "come").symlink_to(tmp_path / "in")
    roots = Roots([tmp_path / "come"])
    inside = tmp_path / "in"
    assert roots.locate(f"{inside}/a.txt") == inside / "a.txt"
    assert roots.locate(f"{tmp_path}/come/a.txt") == inside / "a.txt"
    assert roots.locate(f"{inside}/stay/b/../a.txt") == inside / "a.txt"
    assert roots.locate(str(inside)) == inside
    for path in (f"{inside}/leave/x", f"{inside}/leave", f"{inside}/../out/x", "/etc/passwd", f"{inside}x/a", "/"):
        assert kind_of(roots, path) == "denied", path


def test_every_folder_of_the_workspace_counts_and_the_first_is_the_working_folder(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    roots = Roots([one, two])
    assert roots.locate(str(two / "x")) == two / "x"
    assert (roots.cwd, roots.name(one / "a" / "b"), roots.name(two / "c")) == (one, "a/b", str(two / "c"))


@pytest.mark.parametrize("path", ["", "relative.txt", "~/x", "a\0b", None, 3, ["/x"]])
def test_what_is_no_absolute_path_is_invalid(tmp_path: Path, path: object) -> None:
    assert kind_of(Roots([tmp_path]), path) == "invalid"


def test_a_loop_of_links_leads_nowhere_or_stays_inside_unread(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    roots = Roots([tmp_path])
    if sys.version_info < (3, 13):
        assert kind_of(roots, str(tmp_path / "a")) == "invalid"
    else:  # newer Pythons give up resolving without a word; opening it fails
        assert roots.locate(str(tmp_path / "a")).parent == tmp_path


def test_without_a_folder_nothing_is_inside() -> None:
    assert kind_of(Roots([]), "/tmp/x") == "denied"
    with pytest.raises(Refused):
        _ = Roots([]).cwd


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".env.local", ".ENV", ".envrc", "id_rsa", "id_ed25519", "server.pem", "tls.key", "store.p12", ".netrc",
        ".npmrc", ".pypirc", ".git-credentials", "credentials.json", "secrets.toml", "service-account-prod.json",
        ".aws/credentials", ".aws/config", ".ssh/config", ".kube/config", ".docker/config.json", ".pgpass",
    ],
)  # fmt: skip
def test_names_that_mostly_hold_secrets(path: str) -> None:
    assert secret(Path("/w") / path)


@pytest.mark.parametrize(
    "path", [".env.example", "env.py", "id_rsa.pub", "keys.py", "config.json", "notes.txt", "a.pem.md"]
)
def test_names_that_do_not(path: str) -> None:
    assert not secret(Path("/w") / path)
