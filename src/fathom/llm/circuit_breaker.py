"""Stops asking an endpoint that keeps failing, and tries it again with one call after a while."""

import time
from collections.abc import Callable


class CircuitBreaker:
    """One per endpoint, shared by all that call it.

    Closed until `failures` calls in a row have failed; then open for `rest_s` seconds, in which
    nothing is let through; then half-open: one call is let through, and its end decides.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        rest_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = failures
        self._rest_s = rest_s
        self._clock = clock
        self._failed = 0
        self._opened: float | None = None
        self._probing = False

    def admit(self) -> float:
        """Ask to make a call, which must end in one of the other methods.

        Returns:
            0, or the seconds to wait before it makes sense to ask again; then nothing follows.
        """
        if self._opened is None:
            return 0.0
        left = self._opened + self._rest_s - self._clock()
        if left > 0:
            return left
        if self._probing:
            return self._rest_s
        self._probing = True
        return 0.0

    def succeeded(self) -> None:
        """The endpoint answered, be it to decline."""
        self._failed = 0
        self._opened = None
        self._probing = False

    def failed(self) -> None:
        """The endpoint did not answer."""
        self._failed += 1
        if self._probing or self._failed >= self._most:
            self._opened = self._clock()
        self._probing = False

    def gave_up(self) -> None:
        """The call was cancelled, which says nothing about the endpoint."""
        self._probing = False
