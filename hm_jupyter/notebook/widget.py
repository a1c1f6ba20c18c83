"""The live view as a Jupyter widget: a view of a session on the far end of a comm.

It is made, used and closed on the session thread alone, and everything it sends leaves there with an empty parent
(:func:`off_the_cell`): ipykernel 7.4 answers a comm on the shell that last published on it, and a comm pinned to the
main shell is deaf while a cell runs. What arrives is handed to the session thread before anything looks at it. Knows no
session logic (``views.py``) and no pace (``feed.py``).
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anywidget
import traitlets

from ..errors import HmError
from ..session.runtime import runtime
from . import control, views
from .outbox import Message

if TYPE_CHECKING:
    from ..session.session import Session

T = TypeVar("T")

STATIC = Path(__file__).parent.parent / "static"
PLAIN = "An hm_jupyter session, live. Its transcript takes this place when the turn is over."
"""What stands in for the widget where widgets are not shown: always the same, so that saved notebooks do not change."""


def off_the_cell(fn: Callable[..., T], *args: Any) -> T:
    """Call ``fn`` as if no cell were running: what it publishes has no parent message.

    ``Kernel._shell_parent`` is private to ipykernel (a context variable since 7.0; kernels without it do not route
    comms by parent). A context of its own is needed, since callbacks inherit the context of whoever scheduled them.
    """
    return contextvars.Context().run(_without_parent, fn, *args)


def _without_parent(fn: Callable[..., T], *args: Any) -> T:
    for name, empty in (("_shell_parent", {}), ("_shell_parent_ident", b"")):
        variable = getattr(_kernel(), name, None)
        if isinstance(variable, contextvars.ContextVar):
            variable.set(empty)
    return fn(*args)


def _kernel() -> Any:
    try:
        from ipykernel.kernelbase import Kernel
    except ImportError:
        return None
    return Kernel.instance() if Kernel.initialized() else None


@lru_cache(maxsize=1)
def bundle() -> tuple[str, str]:
    """The built script and stylesheet. Raises :class:`HmError` when they were not built."""
    try:
        script = (STATIC / "widget.js").read_text(encoding="utf-8")
    except OSError:
        raise HmError(
            f"The widget was not built ({STATIC / 'widget.js'} is missing): run 'npm ci && npm run build' in js/, or "
            "install a released hm_jupyter, whose wheel carries it."
        ) from None
    style = STATIC / "widget.css"
    return script, style.read_text(encoding="utf-8") if style.exists() else ""


class HmWidget(anywidget.AnyWidget):
    """One live view. Use :func:`live_view`; the constructor is for the session thread."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    view_id = traitlets.Unicode().tag(sync=True)
    control_id = traitlets.Unicode().tag(sync=True)
    boot = traitlets.Dict().tag(sync=True)
    turn = traitlets.Int().tag(sync=True)

    def __init__(self, session: Session, *, turn: int = 0, control_id: str = "") -> None:
        script, style = bundle()
        self._view: views.View | None = views.View(session, self._tell, turn=turn)
        try:
            super().__init__(
                _esm=script,
                _css=style,
                view_id=self._view.id,
                control_id=control_id,
                turn=turn,
                boot=self._view.snapshot(),
            )
        except BaseException:
            self._view.close()
            raise

    # ---- kernel to browser -------------------------------------------------------------------------------------------

    def _tell(self, message: Message) -> None:
        if self.comm is not None:
            off_the_cell(self.send, message)

    def close(self) -> None:
        """Take the view away: comm, state and layout, so that a saved notebook holds none of it. Any thread."""
        view = getattr(self, "_view", None)
        if view is None:
            return  # closed before, or never opened (also called by __del__)
        self._view = None
        if runtime().here:
            self._close(view)
        else:
            runtime().call(self._close, view)

    def _close(self, view: views.View) -> None:
        view.close()
        layout = self.layout
        off_the_cell(super().close)
        if layout is not None:
            off_the_cell(layout.close)

    def freeze(self, bundle: dict[str, Any]) -> None:
        """Take the view away and leave ``bundle`` (static, a mime bundle) in its place. Session thread.

        The page puts it into the document itself if need be: after a reload JupyterLab no longer knows the display id
        that the kernel's own update names (which has to be sent before).
        """
        if self.comm is not None:
            self._tell({"t": "frozen", "model_id": self.model_id, "data": bundle})
        self.close()

    def refresh(self) -> None:
        """Send everything anew. Any thread."""
        view = self._view
        if view is not None:
            runtime().call_soon(view.refresh)

    # ---- browser to kernel -------------------------------------------------------------------------------------------

    def _handle_msg(self, msg: dict[str, Any]) -> None:
        """From ipywidgets, on whichever thread the kernel handles this comm: only hand it over."""
        runtime().call_soon(self._handle_here, msg)

    def _handle_here(self, msg: dict[str, Any]) -> None:
        view, data = self._view, msg.get("content", {}).get("data")
        if view is None or not isinstance(data, dict):
            return
        method = data.get("method")
        if method == "request_state":
            off_the_cell(self.send_state)
        elif method == "custom":
            view.heard = time.monotonic()
            content = data.get("content")
            runtime().spawn(self._receive, content, view)
        # "update" is not for us: no trait of this widget is the browser's to set.

    async def _receive(self, content: Any, view: views.View) -> None:
        await views.receive(content, self._tell, view)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Nothing here is the browser's to set."""

    # ---- display -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return PLAIN

    def bundle(self) -> dict[str, Any]:
        """The mime bundle to display: the widget, and :data:`PLAIN` beside it."""
        shown = self._repr_mimebundle_()
        data: dict[str, Any] = dict(shown[0] if isinstance(shown, tuple) else shown or {})
        data["text/plain"] = PLAIN
        return data


def live_view(session: Session, *, turn: int = 0) -> HmWidget:
    """A widget that shows ``session`` from ``turn`` on (0: all of it). Any thread but the session's own.

    Raises :class:`HmError` when the widget's script was not built.
    """
    return runtime().run(_make, session, turn)


async def _make(session: Session, turn: int) -> HmWidget:
    return off_the_cell(_construct, session, turn, await control.ensure())


def _construct(session: Session, turn: int, control_id: str) -> HmWidget:
    return HmWidget(session, turn=turn, control_id=control_id)
