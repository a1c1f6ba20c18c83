"""Real models in a notebook: cells in a real kernel, the built-in agent on each provider's API, real HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from kernels import Kernel, kernel
from model_server import APIS, Answer, ModelServer, model_server, says

pytest.importorskip("pydantic_ai", reason="needs the extra llm")
pytestmark = [pytest.mark.kernel, pytest.mark.slow]

MOCK = Path(__file__).resolve().parents[3] / "shared" / "agents" / "mock_llm.py"


class Place(NamedTuple):
    """A kernel with a session in the folder ``work``, whose models are ``API-here`` and ``API-shared``."""

    k: Kernel
    server: ModelServer
    work: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("models")
    work = folder / "work"
    work.mkdir()
    with model_server() as server, shared_models() as shared, pytest.MonkeyPatch.context() as patch:
        settings = server.settings()
        if shared:
            settings += settings.replace("-here", "-shared").replace(server.address, shared)
        (folder / "hm.toml").write_text(settings, encoding="utf-8")
        patch.setenv("HM_CONFIG", str(folder / "hm.toml"))
        with kernel(folder) as k:
            k.run(
                "%load_ext hm_jupyter\nimport time\nimport hm_jupyter as hm\n"
                "def asked():\n    while not hm.current.pending and not hm.last.done: time.sleep(0.02)\n"
                f"%hm start --cwd work --provider {APIS[0]}-here"
            )
            yield Place(k, server, work)


@contextmanager
def shared_models() -> Iterator[str]:
    """The shared scripted models' address while they run; "" where they are not."""
    if not MOCK.is_file():
        yield ""
        return
    with subprocess.Popen([sys.executable, MOCK, "--port", "0"], stdout=subprocess.PIPE, text=True) as mock:
        assert mock.stdout is not None
        try:
            yield mock.stdout.readline().split()[-1]
        finally:
            mock.kill()


@pytest.mark.parametrize("api", APIS)
def test_a_cell_has_a_command_run_and_an_edit_refused(place: Place, api: str) -> None:
    k, server, work = place
    server.will(
        Answer([
            ("think", "Two things."), ("text", "I will do both."),
            ("call", "shell", {"command": "echo from-the-shell"}),
            ("call", "write_file", {"path": "new.txt", "content": "new"}),
        ]),
        says("One is done."),
    )  # fmt: skip
    k.run(f"%hm model --provider {api}-here\n%hm --background --as t do both")
    k.run("asked()\n%hm approve")
    k.run("asked()\n%hm deny not that file")
    said = k.run("t.wait(30)\nprint(t.text, t.stop_reason)")
    assert "One is done." in said and "end_turn" in said, said
    asked = server.asked[-1]
    assert asked.api == api
    assert "from-the-shell" in asked.text and "not that file" in asked.text
    assert not (work / "new.txt").exists()


@pytest.mark.skipif(not MOCK.is_file(), reason="the scripted models (../shared/agents/mock_llm.py) are not here")
@pytest.mark.parametrize("api", APIS)
def test_a_cell_drives_the_shared_models_through_a_tool_round_trip(place: Place, api: str) -> None:
    k, _, work = place
    made = work / f"made-by-{api}"
    k.run(f'%hm model --provider {api}-shared\n%hm --background --as t [[mock:shell cmd="touch {made.name}"]]')
    k.run("asked()")
    assert not made.exists()
    assert "turn is finished" in k.run("%hm approve\nprint(t.wait(30).text)")
    assert made.exists()
