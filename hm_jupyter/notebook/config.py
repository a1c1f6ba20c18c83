"""``%hm config``: the settings of the magics, shown and changed. Traits of ``HmMagics``, and no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Enum, Float, TraitError

from ..errors import UsageError
from .options import Args, closest
from .show import Table, say

if TYPE_CHECKING:
    from .magics import HmMagics

_SECRET = ("key", "token", "password", "secret", "credential")
_TRUE = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def settings(magics: HmMagics) -> dict[str, Any]:
    """The traits that are settings, by name."""
    return dict(sorted(type(magics).class_traits(config=True).items()))


def run(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table | None:
    """``%hm config [NAME[=VALUE]]``"""
    traits = settings(magics)
    if not args.words:
        rows = [(name, shown(getattr(magics, name)), trait.help) for name, trait in traits.items()]
        note = "Change one with %hm config NAME=VALUE; keep it with c.HmMagics.NAME = VALUE in ipython_config.py."
        return Table(("setting", "value", "what it does"), rows, note=note, code=("setting", "value"))
    name, equals, text = args.words[0].partition("=")
    if name not in traits:
        if any(word in name.lower() for word in _SECRET):
            raise UsageError(
                "Keys and tokens are not settings: a notebook is saved and shared. Set them in the environment the "
                "kernel starts in; agents read them there."
            )
        near = closest(name, traits)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(traits)}."
        raise UsageError(f"There is no setting {name!r}; {hint}")
    if equals:
        try:
            setattr(magics, name, parsed(name, traits[name], text, scope))
        except TraitError:
            raise UsageError(f"{name} cannot be {text!r}; {_what(traits[name])}.") from None
    say(f"{name} = {shown(getattr(magics, name))}")
    return None


def shown(value: Any) -> str:
    """A setting's value for people."""
    if callable(value):
        return getattr(value, "__name__", repr(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


def parsed(name: str, trait: Any, text: str, scope: Mapping[str, Any]) -> Any:
    """``text`` as a value for ``trait``. Raises :class:`UsageError` or ``TraitError``."""
    from .sub_sessions import policy_of, value_of

    if name == "when_alone":
        return policy_of(text, scope, option="when_alone =") if text else None
    if isinstance(trait, Bool):
        if text.lower() not in _TRUE:
            raise TraitError
        return _TRUE[text.lower()]
    if isinstance(trait, Float):
        try:
            return float(text or 0)
        except ValueError:
            raise TraitError from None
    return text if isinstance(trait, Enum) else str(value_of(text, scope))


def _what(trait: Any) -> str:
    if isinstance(trait, Enum):
        return f"it is one of {', '.join(trait.values or ())}"
    if isinstance(trait, Bool):
        return "it is true or false"
    return "it is a number, 0 or more"
