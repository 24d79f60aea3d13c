"""Admission: how many questions are worked at at once, and who is told to come again later."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fathom.serving.http.problems import Problem

FIRST_GUESS_S = 0.5
"""How long a question takes, before one was asked."""
LEARNED = 0.1
"""How much of what is known the latest question is."""


class Admission:
    """Lets so many in, lets some more wait in order, and turns away at once who comes in vain.

    Overload is told early, while there is still time to ask elsewhere; who is let in has the time
    that is left to work with.
    """

    def __init__(
        self,
        *,
        running: int,
        waiting: int,
        patience_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nobody is in.

        Args:
            running: So many at once.
            waiting: So many more may wait.
            patience_s: Nobody waits longer.
            clock: Seconds that never run backwards.
        """
        self.most_running, self.most_waiting, self.patience_s = running, waiting, patience_s
        self.running = 0
        self.turned_away = 0
        self._clock = clock
        self._queue: deque[asyncio.Future[None]] = deque()
        self._usual_s = FIRST_GUESS_S
        self._closed = False

    @property
    def waiting(self) -> int:
        """So many wait."""
        return len(self._queue)

    @asynccontextmanager
    async def turn(self, seconds: float | None = None) -> AsyncIterator[float]:
        """Wait for a turn, and have it for the length of a `with` block.

        Args:
            seconds: That may pass until all is done; `None` for any.

        Yields:
            How long it took.

        Raises:
            Problem: 503 if it would take, or took, too long.
        """
        came = self._clock()
        await self._enter(seconds)
        begun = self._clock()
        try:
            yield begun - came
        finally:
            self._usual_s += LEARNED * (self._clock() - begun - self._usual_s)
            self.running -= 1
            self._next()

    def close(self) -> None:
        """Let nobody in any more; who waits is turned away."""
        self._closed = True
        for each in self._queue:
            if not each.done():
                each.set_exception(_stopping())
        self._queue.clear()

    def expected_s(self) -> float:
        """How long the next one has to wait, about."""
        if self.running < self.most_running and not self._queue:
            return 0.0
        return (len(self._queue) + 1) * self._usual_s / self.most_running

    def refusal(self, patience: float | None = None) -> Problem | None:
        """Why nobody can be let in now, nor wait; `None` where somebody can."""
        if self._closed:
            return _stopping()
        expected = self.expected_s()
        is_long = expected > (self.patience_s if patience is None else patience)
        if expected > 0 and (is_long or len(self._queue) >= self.most_waiting):
            return self._overloaded(expected)
        return None

    async def _enter(self, seconds: float | None) -> None:
        if self._closed:
            raise _stopping()
        expected = self.expected_s()
        if expected == 0.0:
            self.running += 1
            return
        patience = self.patience_s if seconds is None else min(self.patience_s, seconds / 2)
        refusal = self.refusal(patience)
        if refusal is not None:
            raise refusal
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await asyncio.wait_for(asyncio.shield(turn), patience)
        except TimeoutError:
            if not turn.done():
                self._queue.remove(turn)
                raise self._overloaded(self.expected_s()) from None
        except asyncio.CancelledError:
            self._left(turn)
            raise

    def _left(self, turn: "asyncio.Future[None]") -> None:
        """Who waited has gone; a turn that was given to them already goes to the next."""
        if turn in self._queue:
            self._queue.remove(turn)
        elif turn.done() and turn.exception() is None:
            self.running -= 1
            self._next()

    def _next(self) -> None:
        while self._queue and self.running < self.most_running:
            turn = self._queue.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)

    def _overloaded(self, expected: float) -> Problem:
        self.turned_away += 1
        return Problem(
            503,
            "overloaded",
            f"{self.running} questions are at work and {self.waiting} wait",
            next="ask again after the time of Retry-After",
            retry_after=max(1.0, expected),
        )


def _stopping() -> Problem:
    return Problem(
        503, "stopping", "the server is stopping", next="ask again in a moment", retry_after=5
    )
