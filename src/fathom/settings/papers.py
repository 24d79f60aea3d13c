"""The presets of papers: the settings and constants with which a strategy is exactly a paper's.

The preset of a paper is the file NAME.toml next to the strategy NAME. Its values replace defaults,
and what a user sets replaces its values.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator

from fathom.registry import PAPERS


def _check_name(name: str) -> str:
    """Return the name of a paper, or raise `ValueError` if there is none of this name."""
    if name and name not in PAPERS:
        raise ValueError(f"there is no such paper; there are {', '.join(PAPERS)}")
    return name


PaperName = Annotated[str, AfterValidator(_check_name)]
"""The name of a paper, or empty for none."""


class PaperValue(NamedTuple):
    """A value that a paper fixes.

    Attributes:
        value: The value of the setting or constant.
        section: The section of the paper that gives it.
    """

    value: Any
    section: str


@cache
def load_preset(paper: str) -> Mapping[str, PaperValue]:
    """Return the values of a paper's preset by dotted key; empty if there is no such paper."""
    if paper not in PAPERS:
        return {}
    file = resources.files("fathom").joinpath("strategies", f"{paper}.toml")
    values = tomllib.loads(file.read_text(encoding="utf-8"))["settings"]
    return {key: PaperValue(**entry) for key, entry in values.items()}
