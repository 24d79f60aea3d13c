"""The papers' systems to the letter: a preset of settings and constants for each paper.

A preset is the file NAME.toml beside the strategy NAME. It lies between the defaults and what a
user sets.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator

from fathom.registry import PAPERS


def _check_name(name: str) -> str:
    if name and name not in PAPERS:
        raise ValueError(f"there is no such paper; there are {', '.join(PAPERS)}")
    return name


PaperName = Annotated[str, AfterValidator(_check_name)]
"""The name of a paper, or empty for none."""


class PaperValue(NamedTuple):
    """A value that a paper fixes, and the section of the paper that does."""

    value: Any
    section: str


@cache
def load_preset(paper: str) -> Mapping[str, PaperValue]:
    """Return the values of a paper's preset by dotted key; empty for no paper."""
    if paper not in PAPERS:
        return {}
    file = resources.files("fathom").joinpath("strategies", f"{paper}.toml")
    values = tomllib.loads(file.read_text(encoding="utf-8"))["settings"]
    return {key: PaperValue(**entry) for key, entry in values.items()}
