"""``%hm TEXT`` and ``%%hm``: gather what goes along with the text, find the session, and run the turn in the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .options import Args
from .registry import registry

if TYPE_CHECKING:
    from ..session.turn import Turn
    from .magics import HmMagics


def prompt(magics: HmMagics, args: Args, scope: dict[str, Any]) -> Turn:
    """Send ``args.text`` and, unless in the background, wait for the end of the turn."""
    from .attach import attached, pictures
    from .cell import run
    from .sub_sessions import alone_policy, policy_of

    keep_as = args.get("as", "")
    if keep_as and not keep_as.isidentifier():
        raise UsageError(f"--as {keep_as}: that is no name for a variable.")
    values = attached(args.get("attach", []), scope)
    images = pictures(args.get("image", []), scope)
    alone = args.get("when-alone")
    policy = alone_policy(policy_of(alone, scope, option="--when-alone")) if alone else None
    session = magics.session(args.get("session", ""), agent=args.get("agent", ""))
    approve = args.get("approve")
    if approve is None and registry.follows(session):
        approve = magics.approve

    def started(turn: Turn) -> None:
        # Before the wait: the names are there too when the turn is stopped, fails, or runs in the background.
        registry.last = turn
        if keep_as and magics.shell is not None:
            magics.shell.user_ns[keep_as] = turn

    return run(
        session,
        args.text,
        attach=values,
        images=images,
        approve=approve,
        when_alone=policy,
        timeout=args.get("timeout") or magics.timeout or None,
        background=bool(args.get("background", magics.background)),
        started=started,
        shell=magics.shell,
    )
