"""The units of amounts, so that "500 g" and "2 kg" can be compared."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fathom.text.numbers import parse_quantities

_PLAIN = re.compile(r"[^\W\d_]*[2\u00b2]?(?: [^\W\d_]+)?")
"""A unit that is no rate, such as "km" but not "km/h"."""


_LETTERS = {"M": 1e6, "B": 1e9, "bn": 1e9, "Bn": 1e9}
"""Short scales, which tables write in capitals: "3.5M" is a number, "3.5 m" a length."""


class UnitSize(NamedTuple):
    """The kind and the size of a unit.

    Attributes:
        kind: The kind of measure as `Quantity` names it; empty for a scale such as "million".
        factor: The size of the unit in the base unit of its kind, or the number of the scale.
    """

    kind: str
    factor: float


def parse_measure(unit: str) -> UnitSize | None:
    """Return the kind and size of a unit or of a scale such as "million"; `None` if unknown.

    An empty unit is the scale 1.
    """
    if unit in _LETTERS:
        return UnitSize("", _LETTERS[unit])
    quantities = parse_quantities(f"1 {unit}") if _PLAIN.fullmatch(unit) else []
    if not quantities:
        return None
    value, kind = quantities[0]
    is_known = not unit or bool(kind) or value != 1
    return UnitSize(kind, value) if is_known else None


def find_factors(units: Iterable[str]) -> Mapping[str, float]:
    """Return the size of each unit in the base unit of their kind.

    The result is empty if the units are all of one size, of several kinds, or not all known.
    """
    measures = {unit: parse_measure(unit) for unit in dict.fromkeys(units)}
    sizes = {unit: measure for unit, measure in measures.items() if measure is not None}
    kinds = {size.kind for size in sizes.values()}
    factors = {unit: size.factor for unit, size in sizes.items()}
    is_alike = len(sizes) == len(measures) and len(kinds) == 1
    return factors if is_alike and len(set(factors.values())) > 1 else {}
