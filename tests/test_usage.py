import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.usage import FREE, Budget, Price, Usage


def test_usages_add_field_by_field() -> None:
    first = Usage(llm_calls=1, prompt_tokens=10, completion_tokens=2, seconds=0.5, cost_usd=0.25)
    second = Usage(llm_calls=2, prompt_tokens=5, retrievals=3, seconds=1.0, cost_usd=0.5)

    assert first + second == Usage(
        llm_calls=3,
        prompt_tokens=15,
        completion_tokens=2,
        retrievals=3,
        seconds=1.5,
        cost_usd=0.75,
    )
    assert (first + second).tokens == 17


def test_an_unknown_cost_stays_unknown() -> None:
    assert (Usage(cost_usd=1.0) + Usage(cost_usd=None)).cost_usd is None
    assert (Usage(cost_usd=None) + Usage(cost_usd=1.0)).cost_usd is None


@pytest.mark.parametrize("limit", ["tokens", "calls", "seconds", "cost_usd", "retrievals"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, 10**400])
def test_an_infinite_limit_is_refused(limit: str, value: float) -> None:
    with pytest.raises(ValueError, match=limit):
        Budget(**{limit: value})  # type: ignore[arg-type]


def test_a_budget_of_zero_is_valid() -> None:
    assert Budget(tokens=0, calls=0, seconds=0, cost_usd=0, retrievals=0).tokens == 0


def test_a_price_is_computed_as_by_hand() -> None:
    # 2,000 prompt tokens at 2.50 and 100 completion tokens at 10.00 a million.
    assert Price(prompt=2.5, completion=10).cost(2_000, 100) == pytest.approx(0.006)
    assert FREE.cost(10**12, 10**12) == 0


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_an_invalid_price_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="completion"):
        Price(prompt=1, completion=bad)


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.integers(0, 10**6),
)
def test_the_cost_never_falls_when_a_count_grows(
    prompt: float, completion: float, first: int, second: int, more: int
) -> None:
    price = Price(prompt=prompt, completion=completion)

    assert price.cost(first + more, second) >= price.cost(first, second)
    assert price.cost(first, second + more) >= price.cost(first, second)
