"""Units of amounts, and their sizes where they can be compared."""

import pytest

from fathom.tables.units import find_factors, parse_measure


@pytest.mark.parametrize(
    ("unit", "measure"),
    [
        ("kg", ("mass", 1.0)), ("g", ("mass", 0.001)), ("million", ("", 1e6)), ("", ("", 1.0)),
        ("million tonnes", ("mass", 1e9)), ("km2", ("area", 1e6)),
        ("M", ("", 1e6)), ("m", ("length", 1.0)),
    ],
)  # fmt: skip
def test_a_unit_tells_its_kind_and_size(unit: str, measure: tuple[str, float]) -> None:
    assert parse_measure(unit) == measure


@pytest.mark.parametrize("unit", ["km/h", "cranes", "m per second", "USD"])
def test_a_rate_or_an_unknown_unit_has_no_measure(unit: str) -> None:
    assert parse_measure(unit) is None


@pytest.mark.parametrize("units", [["kg"], ["kg", "m"], ["kg", "crates"], ["km", "kilometres"], []])
def test_units_that_are_one_or_of_several_kinds_have_no_factors(units: list[str]) -> None:
    assert find_factors(units) == {}


def test_units_of_one_kind_have_factors() -> None:
    assert find_factors(["kg", "g"]) == {"kg": 1.0, "g": 0.001}
