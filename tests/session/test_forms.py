"""What a person typed, as a value of a form's field."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.events import Choice, FormField
from hm_jupyter.session.forms import checked, value_of, wants

COLOURS = [Choice("r", "red"), Choice("g", "green"), Choice("3", "three")]


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        (FormField("a"), " as it is ", " as it is "),
        (FormField("a", format="email"), "me@example.org", "me@example.org"),
        (FormField("a", format="uri"), "https://example.org/x", "https://example.org/x"),
        (FormField("a", format="date"), "2026-02-28", "2026-02-28"),
        (FormField("a", format="date-time"), "2026-02-28T10:00:00Z", "2026-02-28T10:00:00Z"),
        (FormField("a", "integer", minimum=1), "7", 7),
        (FormField("a", "integer"), 7.0, 7),
        (FormField("a", "number"), "2.5", 2.5),
        (FormField("a", "boolean"), "Yes", True),
        (FormField("a", "boolean"), "off", False),
        (FormField("a", "boolean"), True, True),
        (FormField("a", "select", choices=COLOURS), "g", "g"),
        (FormField("a", "select", choices=COLOURS), "red", "r"),
        (FormField("a", "select", choices=COLOURS), "2", "g"),
        (FormField("a", "select", choices=COLOURS), "3", "3"),  # a value goes before a number
        (FormField("a", "multi", choices=COLOURS), "1, green, r", ["r", "g"]),
        (FormField("a", "multi", choices=COLOURS, max_length=2), ["r", "3"], ["r", "3"]),
    ],
)
def test_what_was_typed_becomes_a_value(field: FormField, typed: Any, value: Any):
    found = value_of(field, typed)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        (FormField("a", format="email"), "me at home"),
        (FormField("a", format="uri"), "no address"),
        (FormField("a", format="date"), "31.12.2026"),
        (FormField("a", max_length=3), "four"),
        (FormField("a", min_length=3), "ab"),
        (FormField("a", "integer"), "1.5"),
        (FormField("a", "integer"), "seven"),
        (FormField("a", "number"), "nan"),
        (FormField("a", "number"), "inf"),
        (FormField("a", "number"), True),
        (FormField("a", "integer", maximum=5), "6"),
        (FormField("a", "boolean"), "perhaps"),
        (FormField("a", "select", choices=COLOURS), "4"),
        (FormField("a", "select", choices=COLOURS), ""),
        (FormField("a", "multi", choices=COLOURS), "red, blue"),
        (FormField("a", "multi", choices=COLOURS, min_length=2), "red"),
        (FormField("a", "multi", choices=COLOURS), 5),
    ],
)
def test_what_the_field_does_not_take_is_refused_with_what_it_does(field: FormField, typed: Any):
    with pytest.raises(UsageError) as error:
        value_of(field, typed)
    assert wants(field) in str(error.value)


def test_defaults_fill_what_was_left_out_and_what_is_needed_is_asked_for():
    form = [FormField("city", required=True), FormField("days", "integer", default=3), FormField("note")]
    assert checked(form, {"city": "Oslo"}) == {"city": "Oslo", "days": 3}
    assert checked(form, {"city": "", "days": "4"}) == {"city": "", "days": 4}
    with pytest.raises(UsageError, match="city is needed"):
        checked(form, {"days": 1})
    with pytest.raises(UsageError, match="no field 'citty'"):
        checked(form, {"citty": "Oslo"})


def test_a_pattern_of_the_agents_is_never_run():
    hostile = FormField("a", pattern="(a+)+$")
    assert value_of(hostile, "a" * 5000 + "!")
