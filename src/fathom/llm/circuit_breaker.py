"""A circuit breaker: it spares an endpoint that keeps failing and probes it after a while."""

import time
from collections.abc import Callable


class CircuitBreaker:
    """The state of one endpoint, shared by all that call it.

    The breaker is closed until `failures` calls in a row have failed. Then it is open for `rest_s`
    seconds and admits nothing. Then it is half-open: it admits one call, and the outcome of that
    call decides.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        rest_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_failures = failures
        self._rest_s = rest_s
        self._clock = clock
        self._failure_count = 0
        self._opened_at: float | None = None
        self._probing = False

    def admit(self) -> float:
        """Ask to make a call. An admitted call must end in one of the other methods.

        Returns:
            0 if the call is admitted; else the seconds to wait before asking again.
        """
        if self._opened_at is None:
            return 0.0
        rest_s = self._opened_at + self._rest_s - self._clock()
        if rest_s > 0:
            return rest_s
        # One probe is enough: more calls would only wait for the same broken endpoint.
        if self._probing:
            return self._rest_s
        self._probing = True
        return 0.0

    def record_success(self) -> None:
        """Note that the endpoint answered, even if it declined."""
        self._failure_count = 0
        self._opened_at = None
        self._probing = False

    def record_failure(self) -> None:
        """Note that the endpoint did not answer."""
        self._failure_count += 1
        if self._probing or self._failure_count >= self._max_failures:
            self._opened_at = self._clock()
        self._probing = False

    def record_cancellation(self) -> None:
        """Note that the call was cancelled, which says nothing about the endpoint."""
        self._probing = False
