"""Scenes in which the parts of the ACP adapter meet a transcript."""

from __future__ import annotations

import pytest
from acp_scene import Scene


@pytest.fixture
def v1() -> Scene:
    """A session of ACP v1 in which a turn runs."""
    return Scene(1).turn()


@pytest.fixture
def v2() -> Scene:
    """A session of ACP v2 in which a turn runs."""
    return Scene(2).turn()
