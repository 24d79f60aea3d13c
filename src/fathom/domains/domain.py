"""Domains: the terms, synonyms and classes of questions of a subject, read from a TOML file."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from fathom.errors import SettingsError
from fathom.settings.maf import Phase
from fathom.settings.retrievers import RetrieverName
from fathom.settings.section import find_first_fault
from fathom.types import Filter

SHIPPED = ("generic", "licensing-id", "finance")
FINANCE = "finance"
"""The domain whose labels hold for the statements of every collection."""
MeasureKind = Literal["share", "ratio", "less"]
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRetrieval:
    """The retrieval for a class of questions; what is `None` or empty is as for any question.

    Attributes:
        retriever: The name of the retriever.
        vor_k: The number of hits of the phase `vor`; likewise `evr_k`.
        vor_read: The number of these hits that are read; likewise `evr_read`.
        lists: The number of read hits that are chunks with a list, if there are so many.
        filters: The conditions on the documents of the hits, if any document meets them.
    """

    retriever: str = ""
    vor_k: int | None = None
    vor_read: int | None = None
    evr_k: int | None = None
    evr_read: int | None = None
    lists: int = 0
    filters: tuple[Filter, ...] = ()

    def describe(self) -> dict[str, object]:
        """Return what is given, for a trace."""
        return {key: value for key, value in asdict(self).items() if value}

    def get_numbers(self) -> dict[str, int]:
        """Return the given numbers of hits by the name of the setting in `[maf]`."""
        names = ("vor_k", "vor_read", "evr_k", "evr_read")
        return {name: number for name in names if (number := getattr(self, name))}


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
    retrieval: ClassRetrieval = field(default_factory=ClassRetrieval)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that is reckoned from two rows of a statement.

    Attributes:
        name: Its name.
        kind: `share` in percent, `ratio`, or `less`: the first without the size of the second.
        rows: The names of the two rows.
    """

    name: str
    kind: MeasureKind
    rows: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The knowledge about one subject.

    Attributes:
        classes: In order of precedence; a question without any cue belongs to the last one.
        synonyms: Lower-case term to its other names, for example its long form; and from each of
            these back to the others.
        terms: Words of the subject, lower case, that filters and weights may favour.
        labels: Groups of names for one row of a statement, the most usual one first.
        measures: The measures that are reckoned from two rows.
    """

    name: str
    classes: tuple[QuestionClass, ...] = (QuestionClass(name="General", cues=()),)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    terms: tuple[str, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()
    measures: tuple[Measure, ...] = ()


def load_domain(name: str) -> Domain:
    """Load the shipped domain `name`, or the one in the TOML file of this path.

    Raises:
        SettingsError: If there is no such domain, or its file is not as docs/domains.md has it.
    """
    if name in SHIPPED:
        return _parse_domain(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"), name)
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        shipped = ", ".join(SHIPPED)
        raise SettingsError(
            f"domain.file = {name!r}: no such file; choose {shipped} or the path of a TOML file"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or no path at all
        raise SettingsError(f"domain.file = {name!r} cannot be read: {error}") from None
    return _parse_domain(text, name)


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Threshold = Annotated[float, Field(ge=0, le=1)]
_Number = Annotated[int, Field(ge=1, le=1000)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _RetrievalTable(_Table):
    retriever: RetrieverName | None = None
    vor_k: _Number | None = None
    vor_read: _Number | None = None
    evr_k: _Number | None = None
    evr_read: _Number | None = None
    lists: _Number | None = None
    filters: dict[_Text, _Text | Annotated[list[_Text], Field(min_length=1)]] = {}


class _ClassTable(_Table):
    name: _Text
    cues: list[_Text] = []
    thresholds: dict[Phase, _Threshold] = {}
    retrieval: _RetrievalTable = _RetrievalTable()


_Pair = Annotated[list[_Text], Field(min_length=2, max_length=2)]


class _DomainTable(_Table):
    name: _Text
    classes: Annotated[list[_ClassTable], Field(min_length=1)]
    synonyms: dict[_Text, Annotated[list[_Text], Field(min_length=1)]] = {}
    terms: list[_Text] = []
    labels: dict[_Text, Annotated[list[_Text], Field(min_length=1)]] = {}
    measures: dict[
        _Text, Annotated[dict[MeasureKind, _Pair], Field(min_length=1, max_length=1)]
    ] = {}


def _parse_domain(text: str, origin: str) -> Domain:
    try:
        tree = tomllib.loads(text)
        # An empty file is valid TOML, and pydantic would only say that keys are missing.
        if not tree:
            raise SettingsError(f"{origin}: the domain file is empty; give name and [[classes]]")
        table = _DomainTable.model_validate(tree)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{origin}: the domain file is not TOML: {error}") from None
    except ValidationError as error:
        raise SettingsError(f"{origin}: {_describe_first_fault(error)}") from None
    _check_unique([entry.name for entry in table.classes], f"{origin}: classes.name")
    # A cue in two classes could not decide between them, so cues are unique over all.
    cues = [_normalize(cue) for entry in table.classes for cue in entry.cues]
    _check_unique(cues, f"{origin}: classes.cues")
    _check_unique([_normalize(term) for term in table.synonyms], f"{origin}: synonyms")
    labels = [_normalize(name) for pair in table.labels.items() for name in (pair[0], *pair[1])]
    _check_unique(labels, f"{origin}: labels")
    return _build_domain(table)


def _describe_first_fault(error: ValidationError) -> str:
    """Describe the first mistake, with the key where it is."""
    first = error.errors()[0]
    key, value, expected = find_first_fault(error)
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}; see docs/domains.md"
    if first["type"] == "missing":
        return f"the key {key!r} is missing; see docs/domains.md"
    text = repr(value)
    excerpt = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
    return f"{key} = {excerpt}: {expected}"


def _check_unique(values: Sequence[str], key: str) -> None:
    repeated = next((value for value in values if values.count(value) > 1), None)
    if repeated is not None:
        raise SettingsError(f"{key}: {repeated!r} is listed twice; remove one")


def _build_domain(table: _DomainTable) -> Domain:
    return Domain(
        name=table.name,
        classes=tuple(
            QuestionClass(
                name=entry.name,
                cues=tuple(_normalize(cue) for cue in entry.cues),
                thresholds=entry.thresholds,
                retrieval=_build_retrieval(entry.retrieval),
            )
            for entry in table.classes
        ),
        synonyms=_link_synonyms(table.synonyms),
        terms=tuple(dict.fromkeys(_normalize(term) for term in table.terms)),
        labels=tuple((name, *others) for name, others in table.labels.items()),
        measures=tuple(
            Measure(name, kind, (rows[0], rows[1]))
            for name, kinds in table.measures.items()
            for kind, rows in kinds.items()
        ),
    )


def _build_retrieval(table: _RetrievalTable) -> ClassRetrieval:
    return ClassRetrieval(
        **table.model_dump(exclude={"filters"}, exclude_none=True),
        filters=tuple(
            Filter(key, "=", value) if isinstance(value, str) else Filter(key, "in", tuple(value))
            for key, value in table.filters.items()
        ),
    )


def _link_synonyms(synonyms: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Map every name of a thing to its other names, as they are written."""
    links: dict[str, dict[str, Any]] = {}
    for term, others in synonyms.items():
        group = [" ".join(name.split()) for name in (term, *others)]
        for name in group:
            rest = [other for other in group if _normalize(other) != _normalize(name)]
            # A name may belong to several groups, whose names are joined; a dict keeps their order.
            links.setdefault(_normalize(name), {}).update(dict.fromkeys(rest))
    return {term: tuple(others) for term, others in links.items()}


def _normalize(text: str) -> str:
    return " ".join(text.lower().split())
