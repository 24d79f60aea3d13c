"""Filters compared with a plain reading of their meaning."""

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.index.conftest import get_vectors

from fathom.errors import UsageError
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.dialect import SqliteDialect
from fathom.index.embedded.opening import open_reader, open_writer
from fathom.index.embedded.reader import EmbeddedReader
from fathom.index.filters import compile_filters
from fathom.types import Filter, Scalar

EntryFactory = Callable[..., tuple[Entry, SourceRecord]]
StoredIndex = tuple[EmbeddedReader, dict[str, dict[str, Scalar]], NDArray[np.float32]]
SAME = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
scalars = st.one_of(
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.5, 2.0, -1.5, 1e300]),
    st.sampled_from(["", "a", "ab", "B", "é", "1", "%", "a'b"]),
)
metadata = st.dictionaries(st.sampled_from(["year", "kind"]), scalars, max_size=2)
filters = st.one_of(
    st.builds(Filter, st.sampled_from(["year", "kind"]), st.sampled_from(sorted(SAME)), scalars),
    st.builds(Filter, st.just("year"), st.just("in"), st.lists(scalars, max_size=3).map(tuple)),
    st.builds(Filter, st.just("kind"), st.just("prefix"), st.sampled_from(["", "a", "ab", "%"])),
)


def get_kind(value: Scalar) -> int:
    return 0 if isinstance(value, bool) else 2 if isinstance(value, str) else 1


def matches_filter(condition: Filter, stored: dict[str, Scalar]) -> bool:
    if condition.key not in stored:
        return False
    value = stored[condition.key]
    if condition.op == "in":
        assert isinstance(condition.value, tuple)
        return any(get_kind(value) == get_kind(item) and value == item for item in condition.value)
    assert not isinstance(condition.value, tuple)
    if get_kind(value) != get_kind(condition.value):
        return False
    if condition.op == "prefix":
        return isinstance(value, str) and value.startswith(str(condition.value))
    return bool(SAME[condition.op](value, condition.value))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, make: EntryFactory) -> Iterator[StoredIndex]:
    values: list[Scalar] = [True, False, -2, 0, 1, 2, 0.5, 2.0, "", "a", "ab", "B", "é", "1", "%"]
    rng = np.random.default_rng(5)
    all_metadata: dict[str, dict[str, Scalar]] = {}
    for number in range(60):
        chosen = {key: values[rng.integers(len(values))] for key in ("year", "kind")}
        all_metadata[f"d{number:02}"] = {k: v for k, v in chosen.items() if rng.random() < 0.8}
    place: Path = tmp_path_factory.mktemp("filters")
    with open_writer(place, {"a": "1"}) as writer:
        made_all = [
            make(name, "common words", "common others", metadata=fields)
            for name, fields in all_metadata.items()
        ]
        writer.put([entry for entry, _ in made_all], [source for _, source in made_all])
    with open_reader(place) as reader:
        yield reader, all_metadata, get_vectors(make("x", "any")[0])[0]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chosen=st.lists(filters, min_size=1, max_size=2))
def test_both_searches_agree_with_a_plain_reading(
    stored: StoredIndex, chosen: list[Filter]
) -> None:
    reader, all_metadata, vector = stored
    expected = {
        f"{name}#{part}"
        for name, fields in all_metadata.items()
        if all(matches_filter(condition, fields) for condition in chosen)
        for part in (0, 1)
    }
    near = reader.vector_search(vector, k=500, filters=chosen)
    assert {match.chunk_id for match in near} == expected
    worded = reader.keyword_search("common", k=500, filters=chosen)
    assert {match.chunk_id for match in worded} == expected


def test_the_best_of_the_allowed_come_first(stored: StoredIndex) -> None:
    reader, _, vector = stored
    chosen = [Filter("year", ">=", 1)]
    every = reader.vector_search(vector, k=500, filters=chosen)
    assert reader.vector_search(vector, k=3, filters=chosen) == every[:3]
    words = reader.keyword_search("common others", k=500, filters=chosen)
    assert reader.keyword_search("common others", k=3, filters=chosen) == words[:3]


@pytest.mark.parametrize("key", ["year", "title"])
def test_thousands_of_values_and_conditions_are_searched(stored: StoredIndex, key: str) -> None:
    reader, _, vector = stored
    chosen = [Filter(key, "in", tuple(f"no {number}" for number in range(3000)))]
    assert reader.vector_search(vector, k=5, filters=chosen) == []
    several = [Filter("year", ">=", 1)]
    many = reader.vector_search(vector, k=500, filters=several * 1500)
    assert many == reader.vector_search(vector, k=500, filters=several)


def test_values_are_bound_and_never_written_into_the_statement() -> None:
    condition, values = compile_filters(
        [Filter("title", "=", "'; DROP TABLE documents; --")], SqliteDialect()
    )
    assert "DROP" not in condition
    assert values == ["'; DROP TABLE documents; --"]


def test_operators_are_a_closed_set() -> None:
    with pytest.raises(UsageError, match="operator"):
        compile_filters([Filter("year", "LIKE", "x")], SqliteDialect())  # type: ignore[arg-type]


def test_numbers_beyond_64_bits_are_compared() -> None:
    _, values = compile_filters([Filter("year", "=", 10**30)], SqliteDialect())
    assert values[-1] == 1e30


DATED = {"day": "2021-05-01", "time": "2021-12-31T23:00Z", "number": 2021, "words": "2021 was mild"}


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        ("=", 2021, {"day", "time", "number"}),
        (">=", 2021, {"day", "time", "number"}),
        (">", 2021, set()),
        ("<", 2022, {"day", "time", "number"}),
        ("=", "2021-05", {"day"}),
        (">", "2021-05", {"time"}),
        ("<=", "2021-05", {"day", "words"}),  # other texts compare as texts
        ("=", "2021-12-31", {"time"}),
        ("=", 2021.5, set()),
        ("=", "2021", set()),
    ],
)
def test_a_date_is_compared_with_its_own_precision(
    tmp_path: Path, make: EntryFactory, op: Any, value: Scalar, expected: set[str]
) -> None:
    with open_writer(tmp_path, {"a": "1"}) as writer:
        entries = [make(name, "words", metadata={"at-last": date}) for name, date in DATED.items()]
        writer.put([entry for entry, _ in entries], [source for _, source in entries])
        hits = writer.keyword_search("words", k=9, filters=[Filter("at-last", op, value)])
    assert {match.chunk_id.partition("#")[0] for match in hits} == expected
