"""A real Jupyter server for the tests of this folder (pytest-jupyter's fixtures and hooks, here only)."""

from pytest_jupyter.jupyter_server import *  # noqa: F403
