"""A circuit breaker, which stops calls to an endpoint that keeps failing and probes it later."""

import time
from collections.abc import Callable


class CircuitBreaker:
    """A circuit breaker of one endpoint, shared by all its callers.

    The breaker is closed until `failures` calls in a row have failed. Then it is open for `rest_s`
    seconds and admits no call. Then it is half-open: it admits one call, whose success closes it
    and whose failure opens it again.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        rest_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a closed breaker.

        Args:
            failures: The number of failures in a row that open it.
            rest_s: The seconds for which it stays open.
            clock: The clock, in seconds.
        """
        self._max_failures = failures
        self._rest_s = rest_s
        self._clock = clock
        self._failure_count = 0
        self._opened_at: float | None = None
        self._probing = False

    def admit(self) -> float:
        """Ask whether a call may be made.

        After an admitted call, the caller must call one of the `record_` methods.

        Returns:
            0 if the call is admitted; else the seconds to wait before asking again.
        """
        if self._opened_at is None:
            return 0.0
        rest_s = self._opened_at + self._rest_s - self._clock()
        if rest_s > 0:
            return rest_s
        # One probe is enough, because more calls would wait for the same broken endpoint.
        if self._probing:
            return self._rest_s
        self._probing = True
        return 0.0

    def record_success(self) -> None:
        """Close the breaker, because the endpoint answered; a refusal is an answer too."""
        self._failure_count = 0
        self._opened_at = None
        self._probing = False

    def record_failure(self) -> None:
        """Count a call without an answer, and open the breaker if there were too many."""
        self._failure_count += 1
        if self._probing or self._failure_count >= self._max_failures:
            self._opened_at = self._clock()
        self._probing = False

    def record_cancellation(self) -> None:
        """End a cancelled call, which says nothing about the endpoint."""
        self._probing = False
