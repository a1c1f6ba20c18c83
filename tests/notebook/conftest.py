"""An IPython shell with the magics loaded, and sessions that are forgotten after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A plain in-process shell: no kernel and no terminal, so nobody can be asked."""
    from hm_jupyter.notebook.registry import registry

    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance()
    ip.run_line_magic("load_ext", "hm_jupyter")
    yield ip
    for name, session in registry.items():
        session.close()
        registry.remove(name)
    registry.forget_failures()
    registry.last = None
    ip.run_line_magic("unload_ext", "hm_jupyter")
    InteractiveShell.clear_instance()
