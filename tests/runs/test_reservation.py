import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.runs.ledger import Ledger
from fathom.runs.reservation import Booking, CostBound, ReportedUsage, compute_charge
from fathom.usage import Budget, Price, Usage

WORST = CostBound(calls=1, prompt_tokens=100, completion_tokens=50)
OWN_USAGE = Usage(llm_calls=1, prompt_tokens=80, completion_tokens=20)

SettleFunction = Callable[[Usage, ReportedUsage | None], Booking]


@pytest.fixture
def settle_usage() -> SettleFunction:
    return lambda counted, reported: Ledger(Budget()).reserve(WORST).settle(counted, reported)


LIES = {"zero": 0, "below": -5, "much": 10**12, "endless": 10**5000, "abyss": -(10**5000)}
FLOATS = {"float": 1e12, "nan": math.nan, "inf": math.inf}


@pytest.mark.parametrize("lie", [*LIES.values(), *FLOATS.values()], ids=[*LIES, *FLOATS])
def test_the_clients_count_precedes_that_of_a_lying_server(
    settle_usage: SettleFunction, lie: object
) -> None:
    booked = settle_usage(OWN_USAGE, ReportedUsage(prompt=lie, completion=lie))

    assert (booked.usage.prompt_tokens, booked.usage.completion_tokens) == (80, 20)
    assert len(booked.notes) == 2
    assert not booked.overrun


@pytest.mark.parametrize("nonsense", [True, "90", [90], {"n": 90}, 90.0])
def test_a_report_that_is_no_whole_number_is_ignored(
    settle_usage: SettleFunction, nonsense: object
) -> None:
    booked = settle_usage(OWN_USAGE, ReportedUsage(prompt=nonsense))

    assert booked.usage.prompt_tokens == 80
    assert len(booked.notes) == 1


def test_a_report_between_the_counted_and_the_reserved_usage_is_accepted(
    settle_usage: SettleFunction,
) -> None:
    booked = settle_usage(OWN_USAGE, ReportedUsage(prompt=97, completion=50))

    assert (booked.usage.prompt_tokens, booked.usage.completion_tokens) == (97, 50)
    assert booked.notes == ()


def test_a_report_above_the_reserved_usage_is_ignored(settle_usage: SettleFunction) -> None:
    assert settle_usage(OWN_USAGE, ReportedUsage(prompt=101)).usage.prompt_tokens == 80


def test_usage_beyond_the_reservation_is_charged_as_reserved_and_reported(
    settle_usage: SettleFunction,
) -> None:
    booked = settle_usage(Usage(llm_calls=3, prompt_tokens=80, completion_tokens=51), None)

    assert booked.overrun
    assert booked.usage.completion_tokens == 50
    assert booked.usage.llm_calls == 1
    assert "counted 51, above the reserved 50" in booked.notes[0]


def test_a_negative_count_is_a_fault_and_frees_nothing() -> None:
    ledger = Ledger(Budget(tokens=200))
    reservation = ledger.reserve(WORST)

    with pytest.raises(ValueError, match="negative"):
        reservation.settle(Usage(prompt_tokens=-1))

    assert ledger.get_remaining_budget().tokens == 50


@pytest.mark.parametrize("field", ["calls", "prompt_tokens", "completion_tokens", "retrievals"])
def test_a_negative_worst_case_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        CostBound(**{field: -1})  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["seconds", "least_seconds", "fee_usd"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_worst_case_that_is_no_number_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        CostBound(**{field: value})  # type: ignore[arg-type]


def test_money_is_computed_as_by_hand() -> None:
    worst = CostBound(
        calls=1,
        prompt_tokens=1_000,
        completion_tokens=100,
        price=Price(prompt=2.5, completion=10.0),
        fee_usd=0.005,
    )

    assert compute_charge(worst).nano == 8_500_000  # 0.0025 + 0.0010 + 0.0050
    assert compute_charge(worst, Usage(llm_calls=1, prompt_tokens=1_000)).nano == 7_500_000
    assert compute_charge(worst, Usage()).nano == 0  # nothing was sent


@pytest.mark.parametrize(
    ("worst", "unknown"),
    [
        (CostBound(calls=1, prompt_tokens=1), True),
        (CostBound(retrievals=1), False),
        (CostBound(retrievals=1, fee_usd=None), True),
        (CostBound(prompt_tokens=1, price=Price(prompt=1, completion=1)), False),
    ],
)
def test_usage_without_a_known_price_has_no_known_cost(worst: CostBound, unknown: bool) -> None:
    assert (compute_charge(worst).to_usage(0).cost_usd is None) is unknown


COUNTS = st.integers(0, 2_000)
WORSTS = st.builds(
    CostBound,
    calls=st.just(1),
    prompt_tokens=COUNTS,
    completion_tokens=COUNTS,
    price=st.builds(Price, prompt=st.floats(0, 1_000), completion=st.floats(0, 1_000)),
    fee_usd=st.floats(0, 1),
)
OWNS = st.builds(Usage, llm_calls=st.just(1), prompt_tokens=COUNTS, completion_tokens=COUNTS)


@given(WORSTS, OWNS, COUNTS)
def test_the_charge_is_never_above_the_worst_case(
    worst: CostBound, counted: Usage, reported: int
) -> None:
    booked = Ledger(Budget()).reserve(worst).settle(counted, ReportedUsage(prompt=reported)).usage
    reserved = compute_charge(worst).to_usage(0)

    assert booked.prompt_tokens <= worst.prompt_tokens
    assert booked.completion_tokens <= worst.completion_tokens
    assert booked.cost_usd is not None
    assert reserved.cost_usd is not None
    assert booked.cost_usd <= reserved.cost_usd


def test_a_reservation_cannot_be_entered_again() -> None:
    reservation = Ledger(Budget()).reserve(WORST)
    with reservation:
        pass

    with pytest.raises(ValueError, match="over"), reservation:
        pass


def test_a_reservation_is_settled_once() -> None:
    ledger = Ledger(Budget(tokens=150))
    with ledger.reserve(WORST) as reservation:
        reservation.settle(OWN_USAGE)
        with pytest.raises(ValueError, match="once"):
            reservation.settle(OWN_USAGE)
        assert reservation.release() is None

    assert ledger.usage.tokens == 100
    assert ledger.get_remaining_budget().tokens == 50
