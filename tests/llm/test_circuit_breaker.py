from fathom.llm.circuit_breaker import CircuitBreaker


class ManualClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def make_open_breaker(clock: ManualClock) -> CircuitBreaker:
    breaker = CircuitBreaker(failures=3, rest_s=30.0, clock=clock)
    for _ in range(3):
        assert breaker.admit() == 0
        breaker.record_failure()
    return breaker


def test_it_opens_after_consecutive_failures_and_reports_for_how_long() -> None:
    clock = ManualClock()
    breaker = make_open_breaker(clock)

    assert breaker.admit() == 30
    clock.now += 29
    assert breaker.admit() == 1


def test_a_success_restarts_the_count() -> None:
    breaker = CircuitBreaker(failures=3, rest_s=30.0, clock=ManualClock())
    for end in (
        breaker.record_failure,
        breaker.record_failure,
        breaker.record_success,
        breaker.record_failure,
        breaker.record_failure,
    ):
        assert breaker.admit() == 0
        end()

    assert breaker.admit() == 0


def test_half_open_lets_one_call_through_and_its_success_closes_it() -> None:
    clock = ManualClock()
    breaker = make_open_breaker(clock)
    clock.now += 30

    assert breaker.admit() == 0
    assert breaker.admit() > 0  # a second one beside it
    breaker.record_success()
    assert breaker.admit() == 0
    assert breaker.admit() == 0


def test_one_failure_while_half_open_opens_it_again() -> None:
    clock = ManualClock()
    breaker = make_open_breaker(clock)
    clock.now += 30
    breaker.admit()
    breaker.record_failure()

    assert breaker.admit() == 30


def test_a_cancelled_probe_leaves_room_for_the_next() -> None:
    clock = ManualClock()
    breaker = make_open_breaker(clock)
    clock.now += 30
    breaker.admit()
    breaker.record_cancellation()

    assert breaker.admit() == 0
