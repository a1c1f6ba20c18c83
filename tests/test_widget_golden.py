"""The golden scenes the TypeScript tests read are what the Python classes say today."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent / "golden" / "widget"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("widget_scenes", FOLDER / "scenes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCENES: dict[str, str] = _load().scenes()


@pytest.mark.parametrize("name", sorted(SCENES))
def test_a_golden_scene_is_what_to_json_makes_now(name: str) -> None:
    assert json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) == json.loads(SCENES[name]), (
        "The JSON shapes changed. If that is meant, run `python tests/golden/widget/scenes.py` and see that js/src/model.ts agrees."
    )


def test_no_golden_scene_is_left_over() -> None:
    assert {p.stem for p in FOLDER.glob("*.json")} == set(SCENES)
