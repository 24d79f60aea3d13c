"""Which systems are meant: retrievers, strategies, and two of either that are compared."""

import pytest

from fathom.errors import UsageError
from fathom.evaluation.harness import Systems


def test_nothing_named_is_the_default_retriever() -> None:
    assert Systems.of([], []) == Systems(retrievers=["hybrid"], strategies=[])


def test_each_is_measured_once() -> None:
    made = Systems.of(["a", "b", "a"], ["s", "s"])
    assert (made.retrievers, made.strategies) == (["a", "b"], ["s"])


def test_two_that_are_compared_are_strategies_unless_both_are_among_the_retrievers() -> None:
    ranking = Systems.of(["hybrid", "keyword"], [], ("hybrid", "keyword"))
    assert (ranking.retrievers, ranking.strategies) == (["hybrid", "keyword"], [])
    answering = Systems.of([], ["maf"], ("hybrid", "maf"))
    assert (answering.retrievers, answering.strategies) == ([], ["maf", "hybrid"])
    both = Systems.of(["hybrid"], [], ("hybrid", "maf"))
    assert (both.retrievers, both.strategies) == (["hybrid"], ["hybrid", "maf"])


def test_an_unknown_system_is_told_at_once() -> None:
    Systems.of(["hybrid"], ["naive"]).check()
    with pytest.raises(UsageError, match="retriever 'magic': choose one of vector"):
        Systems.of(["magic"], []).check()
    with pytest.raises(UsageError, match="magic"):
        Systems.of([], [], ("naive", "magic")).check()
