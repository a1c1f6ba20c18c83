"""What a person gave, as a value of a form's field: the one place where it is checked, wherever it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.events import Choice, FormField
from hm_jupyter.forms import checked, named, told, value_of, wants

COLOURS = [Choice("r", "red"), Choice("g", "green"), Choice("3", "three")]


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        (FormField("a"), " as it is ", " as it is "),
        (FormField("a", format="email"), "me@example.org", "me@example.org"),
        (FormField("a", format="uri"), "https://example.org/x", "https://example.org/x"),
        (FormField("a", format="date"), "2026-02-28", "2026-02-28"),
        (FormField("a", format="date-time"), "2026-02-28T10:00:00Z", "2026-02-28T10:00:00Z"),
        (FormField("a", format="date-time"), "2026-02-28T10:00:00.5Z", "2026-02-28T10:00:00.5Z"),
        (FormField("a", format="date-time"), "2026-02-28t10:00:00+01:00", "2026-02-28t10:00:00+01:00"),
        (FormField("a"), 1234, "1234"),
        (FormField("a", "integer", minimum=1), "7", 7),
        (FormField("a", "integer"), "9007199254740993", 9007199254740993),
        (FormField("a", "integer"), 7.0, 7),
        (FormField("a", "number"), "2.5", 2.5),
        (FormField("a", "number"), " 3 ", 3),
        (FormField("a", "number", minimum=0, maximum=0), 0, 0),
        (FormField("a", "boolean"), "Yes", True),
        (FormField("a", "boolean"), "off", False),
        (FormField("a", "boolean"), True, True),
        (FormField("a", "select", choices=COLOURS), "g", "g"),
        (FormField("a", "select", choices=COLOURS), "red", "r"),
        (FormField("a", "select", choices=COLOURS), "2", "g"),
        (FormField("a", "select", choices=COLOURS), "3", "3"),  # a value goes before a number
        (FormField("a", "select", choices=[Choice("b", "1"), Choice("c", "2")]), "1", "b"),
        (FormField("a", "multi", choices=COLOURS), "1, green, r", ["r", "g"]),
        (FormField("a", "multi", choices=[Choice("x, y", "both")]), "x, y", ["x, y"]),
        (FormField("a", "multi", choices=COLOURS), ("g", "g"), ["g"]),
        (FormField("a", "multi", choices=COLOURS), [], []),
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
        (FormField("a", format="uri"), "example.org/x"),
        (FormField("a", format="date"), "31.12.2026"),
        (FormField("a", format="date"), "20261231"),
        (FormField("a", format="date"), "2026-02-30"),
        (FormField("a", format="date-time"), "2026-12-31"),
        (FormField("a", format="date-time"), "2026-12-31T10:00:00"),
        (FormField("a"), ["x"]),
        (FormField("a"), True),
        (FormField("a", max_length=3), "four"),
        (FormField("a", min_length=3), "ab"),
        (FormField("a", "integer"), "1.5"),
        (FormField("a", "integer"), "seven"),
        (FormField("a", "number"), "nan"),
        (FormField("a", "number"), "inf"),
        (FormField("a", "number"), True),
        (FormField("a", "number"), 10**400),
        (FormField("a", "number"), []),
        (FormField("a", "number", minimum=1), 0.5),
        (FormField("a", "integer", maximum=5), "6"),
        (FormField("a", "boolean"), "perhaps"),
        (FormField("a", "select", choices=COLOURS), "4"),
        (FormField("a", "select", choices=COLOURS), ""),
        (FormField("a", "multi", choices=COLOURS), "red, blue"),
        (FormField("a", "multi", choices=COLOURS, min_length=2), "red"),
        (FormField("a", "multi", choices=COLOURS, max_length=1), "red, green"),
        (FormField("a", "multi", choices=COLOURS), 5),
    ],
)
def test_what_the_field_does_not_take_is_refused_with_what_it_does(field: FormField, typed: Any):
    with pytest.raises(UsageError) as error:
        value_of(field, typed)
    assert str(error.value) == f"a: give {wants(field)}."


FORM = [
    FormField("city", title="Your  city", required=True),
    FormField("days", "integer", default=3),
    FormField("note"),
]


def test_defaults_fill_what_was_left_out_only_where_that_is_meant():
    assert checked(FORM, {"city": "Oslo"}, defaults=True) == {"city": "Oslo", "days": 3}
    assert checked(FORM, {"city": "Oslo"}) == {"city": "Oslo"}, "the field was shown, and emptied"
    assert checked([FormField("city", required=True, default="Rome")], {}) == {"city": "Rome"}


@pytest.mark.parametrize("empty", [{}, {"city": None}, {"city": ""}])
def test_what_is_needed_is_asked_for_by_its_name_and_title(empty: dict[str, Any]):
    with pytest.raises(UsageError, match=r"^city \(Your city\) is needed: text\.$"):
        checked(FORM, {**empty, "days": 1})


def test_what_is_empty_is_left_out():
    assert checked(FORM, {"city": "Oslo", "days": "", "note": None}, defaults=True) == {"city": "Oslo"}


def test_of_several_nobody_needs_none_is_no_answer_however_many_it_wants():
    several = FormField("m", "multi", choices=COLOURS, min_length=2)
    for nothing in ([], (), "", " , ", None):
        assert checked([several], {"m": nothing}) == {}
    with pytest.raises(UsageError, match="2"):
        checked([several], {"m": ["r"]})
    several.required = True
    with pytest.raises(UsageError, match="2"):
        checked([several], {"m": []})
    assert checked([FormField("m", "multi", required=True, choices=COLOURS)], {"m": []}) == {"m": []}


def test_a_field_the_form_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(UsageError, match="no field 'citty'; it has 'city', 'days', 'note'"):
        checked(FORM, {"citty": "Oslo"})


def test_an_error_is_short_however_long_what_the_agent_wrote_is():
    long = FormField("a" * 500, "select", title="t\n" * 500, choices=[Choice(str(n)) for n in range(1000)])
    assert len(f"{named(long)} {wants(long)}") < 300


def test_an_answer_is_told_by_the_fields_titles():
    form = [*FORM, FormField("sure", "boolean"), FormField("m", "multi", choices=COLOURS)]
    answer = {"city": "Oslo", "days": 2, "sure": True, "m": ["r", "g"]}
    assert told(form, answer) == "Your city: Oslo\ndays: 2\nsure: yes\nm: r, g"


def test_a_pattern_of_the_agents_is_never_run():
    hostile = FormField("a", pattern="(a+)+$")
    assert value_of(hostile, "a" * 5000 + "!")
