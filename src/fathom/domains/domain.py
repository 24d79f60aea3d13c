"""A domain: the terms, synonyms and classes of questions of a subject, read from a TOML file."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from fathom.errors import SettingsError
from fathom.settings.maf import Phase
from fathom.settings.section import first_fault

SHIPPED = ("generic", "licensing-id")
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClass:
    """A class of questions.

    Attributes:
        cues: Words and phrases, lower case, that speak for the class.
        thresholds: Overrides of the ladder's thresholds by phase, in [0, 1].
    """

    name: str
    cues: tuple[str, ...]
    thresholds: Mapping[Phase, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What is known of a subject.

    Attributes:
        classes: In order of precedence; the last is what a question without any cue falls into.
        synonyms: Lower-case term to what else it is called, for example its long form; and from
            each of these back to the others.
        terms: Words of the subject, lower case, that filters and weights may favour.
    """

    name: str
    classes: tuple[QuestionClass, ...] = (QuestionClass(name="General", cues=()),)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    terms: tuple[str, ...] = ()


def load_domain(name: str) -> Domain:
    """The shipped domain `name`, or the one in the TOML file of this path.

    Raises:
        SettingsError: If there is no such domain, or its file is not as docs/domains.md has it.
    """
    if name in SHIPPED:
        return _parse(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"), name)
    try:
        text = Path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        shipped = ", ".join(SHIPPED)
        raise SettingsError(
            f"domain.file = {name!r}: no such file; choose {shipped} or the path of a TOML file"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or no path at all
        raise SettingsError(f"domain.file = {name!r} cannot be read: {error}") from None
    return _parse(text, name)


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Threshold = Annotated[float, Field(ge=0, le=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _ClassTable(_Table):
    name: _Text
    cues: list[_Text] = []
    thresholds: dict[Phase, _Threshold] = {}


class _DomainTable(_Table):
    name: _Text
    classes: Annotated[list[_ClassTable], Field(min_length=1)]
    synonyms: dict[_Text, Annotated[list[_Text], Field(min_length=1)]] = {}
    terms: list[_Text] = []


def _parse(text: str, origin: str) -> Domain:
    try:
        tree = tomllib.loads(text)
        if not tree:
            raise SettingsError(f"{origin}: the domain file is empty; give name and [[classes]]")
        table = _DomainTable.model_validate(tree)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{origin}: the domain file is not TOML: {error}") from None
    except ValidationError as error:
        raise SettingsError(f"{origin}: {_first(error)}") from None
    _check_once([each.name for each in table.classes], f"{origin}: classes.name")
    cues = [_plain(cue) for each in table.classes for cue in each.cues]
    _check_once(cues, f"{origin}: classes.cues")
    _check_once([_plain(term) for term in table.synonyms], f"{origin}: synonyms")
    return _domain(table)


def _first(error: ValidationError) -> str:
    """The first mistake, with the key where it is."""
    first = error.errors()[0]
    key, value, expected = first_fault(error)
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}; see docs/domains.md"
    if first["type"] == "missing":
        return f"the key {key!r} is missing; see docs/domains.md"
    given = repr(value)
    shown = given if len(given) <= _LONGEST else f"{given[:_LONGEST]}…"
    return f"{key} = {shown}: {expected}"


def _check_once(values: Sequence[str], key: str) -> None:
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise SettingsError(f"{key}: {twice!r} stands there twice")


def _domain(table: _DomainTable) -> Domain:
    return Domain(
        name=table.name,
        classes=tuple(
            QuestionClass(
                name=each.name,
                cues=tuple(_plain(cue) for cue in each.cues),
                thresholds=each.thresholds,
            )
            for each in table.classes
        ),
        synonyms=_both_ways(table.synonyms),
        terms=tuple(dict.fromkeys(_plain(term) for term in table.terms)),
    )


def _both_ways(given: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Every name of a thing leads to its other names, as they are written."""
    found: dict[str, dict[str, Any]] = {}
    for term, others in given.items():
        group = [" ".join(name.split()) for name in (term, *others)]
        for name in group:
            rest = [other for other in group if _plain(other) != _plain(name)]
            found.setdefault(_plain(name), {}).update(dict.fromkeys(rest))
    return {term: tuple(others) for term, others in found.items()}


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
