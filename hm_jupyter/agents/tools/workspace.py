"""The workspace folder: what a path an agent writes really means, and whether it stays inside. Links are resolved."""

from __future__ import annotations

from pathlib import Path


class Workspace:
    """The folder the agent works in."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()

    def locate(self, path: str) -> Path:
        """``path`` as an absolute path with every link resolved. Raises ``ValueError`` for what cannot be a path."""
        if not path or "\0" in path:
            raise ValueError("a path is empty or holds a NUL character")
        try:
            return (self.root / Path(path).expanduser()).resolve()
        except (OSError, RuntimeError) as error:  # a loop of links, no such user
            raise ValueError(f"{path}: {error}") from None

    def inside(self, path: Path) -> bool:
        """Whether the resolved ``path`` is in the workspace."""
        return path == self.root or self.root in path.parents

    def name(self, path: Path) -> str:
        """``path`` for people and models: relative to the workspace when inside."""
        return path.relative_to(self.root).as_posix() if self.inside(path) else str(path)
