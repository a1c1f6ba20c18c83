"""``%hm resume`` without an id: the session that was meant, or the reason why there is none. Real agents."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from hm_jupyter.errors import UsageError
from hm_jupyter.notebook.registry import registry


def run(shell: InteractiveShell, code: str) -> str:
    """Run a cell; what it printed. Raises what it raised."""
    with capture_output() as captured:
        result = shell.run_cell(code)
    result.raise_error()
    return str(captured.stdout)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notebook's folder, with a project in it, and no session saved yet."""
    for name in ("HM_SESSIONS", "HM_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "notebooks" / "project").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path / "notebooks"


def restart() -> None:
    """As the kernel's restart: no session is known any more."""
    for name, session in registry.items():
        session.close()
        registry.remove(name)


def test_after_a_restart_the_latest_session_goes_on_in_one_agent(shell: InteractiveShell, folder: Path):
    run(shell, "%hm start demo\n%hm say: remember me")
    saved = registry.get().state.session_id
    restart()
    assert "hm is ready" in run(shell, "%config HmMagics.agent = 'demo'\n%hm resume")
    assert registry.get().state.session_id == saved
    assert registry.names() == ["hm"], "the agent that was asked what is saved is gone again"


def test_where_nothing_is_saved_that_is_said_and_nothing_begins_anew(shell: InteractiveShell, folder: Path):
    run(shell, "%hm start demo --cwd project\n%hm say: remember me")
    restart()
    run(shell, "%hm start demo")
    with pytest.raises(UsageError, match=rf"Nothing is saved of {folder}\. %hm sessions --all"):
        run(shell, "%hm resume")
    assert len(registry.names()) == 1


def test_a_session_of_another_folder_goes_on_in_its_own(shell: InteractiveShell, folder: Path):
    run(shell, "%hm start demo --cwd project\n%hm say: remember me")
    saved = registry.get().state.session_id
    restart()
    run(shell, f"%hm start demo\n%hm resume {saved}")
    assert registry.get().state.root == str(folder / "project")


def test_the_session_one_is_in_is_not_taken_up_again_but_the_one_before_it(shell: InteractiveShell, folder: Path):
    run(shell, "%hm start demo\n%hm say: this one")
    with pytest.raises(UsageError, match=r"is open here as hm: %hm use hm"):
        run(shell, "%hm resume")
    first = registry.get().state.session_id
    run(shell, "%hm fork")
    run(shell, "%hm resume")
    assert registry.get().state.session_id == first
