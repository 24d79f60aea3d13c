"""Flags: keys whose value says yes or no."""

import pytest
from tests.linear_growth import assert_linear

from fathom.text.flags import Flag, list_flags


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Has kids: FALSE", [Flag("Has kids", yes=False)]),
        ("Takes cars | yes", [Flag("Takes cars", yes=True)]),
        ("**Cabins**: 0", [Flag("Cabins", yes=False)]),
        ("Kendaraan: tidak ada", [Flag("Kendaraan", yes=False)]),
        ("Sudah menikah: ya", [Flag("Sudah menikah", yes=True)]),
        ("caching = off; gzip = on", [Flag("caching", yes=False), Flag("gzip", yes=True)]),
        # A paragraph is one line, whatever its line breaks were.
        (
            "Duplex: off Colour printing: enabled",
            [Flag("Duplex", yes=False), Flag("Colour printing", yes=True)],
        ),
    ],
)
def test_a_value_that_says_yes_or_no_is_a_flag(text: str, flags: list[Flag]) -> None:
    assert list(list_flags(text)) == flags


@pytest.mark.parametrize(
    "text", ["Age: 41", "Opening hours: no change on Sundays", "Rows: 10", "No dogs are allowed."]
)
def test_other_text_holds_no_flag(text: str) -> None:
    assert list(list_flags(text)) == []


@pytest.mark.parametrize("unit", ["a ", "key: ", "key: no ", "a" * 10, ": no "])
def test_a_text_of_any_length_takes_linear_time(unit: str) -> None:
    assert_linear(lambda text: list(list_flags(text)), unit)
