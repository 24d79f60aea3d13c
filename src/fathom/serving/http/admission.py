"""Admission of questions: some run, some wait in order, and the rest are refused."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fathom.serving.http.problems import Problem, build_stopping_problem

FIRST_GUESS_S = 0.5
"""The assumed duration of a question before the first one was measured, in seconds."""
LATEST_WEIGHT = 0.1
"""The weight of the latest question in the moving average of durations, from 0 to 1."""


class Admission:
    """A queue that lets some questions run and some wait in order, and refuses the rest.

    A question that would wait too long is refused at once, while the client still has time to ask
    elsewhere. So an admitted question keeps enough time for its answer.
    """

    def __init__(
        self,
        *,
        running: int,
        waiting: int,
        patience_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the queue; nothing runs or waits.

        Args:
            running: The largest number of questions at once.
            waiting: The largest number of questions that wait.
            patience_s: The longest wait, in seconds.
            clock: Monotonic seconds.
        """
        self.most_running, self.most_waiting, self.patience_s = running, waiting, patience_s
        self.running = 0
        self.refused_count = 0
        self._clock = clock
        self._queue: deque[asyncio.Future[None]] = deque()
        self._usual_s = FIRST_GUESS_S
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """The number of questions that wait."""
        return len(self._queue)

    @asynccontextmanager
    async def take_turn(self, seconds: float | None = None) -> AsyncIterator[float]:
        """Wait for a turn, and hold it for the length of a `with` block.

        Args:
            seconds: The time until the question must be answered; `None` without a deadline.

        Yields:
            The seconds of waiting.

        Raises:
            Problem: 503 if the wait would be, or was, too long.
        """
        arrival = self._clock()
        await self._wait_for_turn(seconds)
        start = self._clock()
        try:
            yield start - arrival
        finally:
            # An exponential moving average follows the load without a history.
            self._usual_s += LATEST_WEIGHT * (self._clock() - start - self._usual_s)
            self.running -= 1
            self._admit_next()

    def close(self) -> None:
        """Refuse all further questions, and those that wait."""
        self._is_closed = True
        for turn in self._queue:
            if not turn.done():
                turn.set_exception(build_stopping_problem())
        self._queue.clear()

    def estimate_wait_s(self) -> float:
        """Estimate the seconds that the next question has to wait."""
        if self.running < self.most_running and not self._queue:
            return 0.0
        return (len(self._queue) + 1) * self._usual_s / self.most_running

    def find_refusal(self, patience: float | None = None) -> Problem | None:
        """Return the problem of a question that must be refused now; `None` if it can run or wait.

        Args:
            patience: The longest wait in seconds; by default that of the queue.
        """
        if self._is_closed:
            return build_stopping_problem()
        expected = self.estimate_wait_s()
        is_long = expected > (self.patience_s if patience is None else patience)
        if expected > 0 and (is_long or len(self._queue) >= self.most_waiting):
            return self._refuse_overload(expected)
        return None

    async def _wait_for_turn(self, seconds: float | None) -> None:
        if self._is_closed:
            raise build_stopping_problem()
        expected = self.estimate_wait_s()
        if expected == 0.0:
            self.running += 1
            return
        # At most half of the time is spent on waiting, so that enough is left to answer in.
        patience = self.patience_s if seconds is None else min(self.patience_s, seconds / 2)
        refusal = self.find_refusal(patience)
        if refusal is not None:
            raise refusal
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            # Shielded: a turn that is given at the moment of the timeout must not be lost.
            await asyncio.wait_for(asyncio.shield(turn), patience)
        except TimeoutError:
            if not turn.done():
                self._queue.remove(turn)
                raise self._refuse_overload(self.estimate_wait_s()) from None
        except asyncio.CancelledError:
            self._leave_queue(turn)
            raise

    def _leave_queue(self, turn: "asyncio.Future[None]") -> None:
        """Remove a question whose client left, and pass on its turn if it has one."""
        if turn in self._queue:
            self._queue.remove(turn)
        elif turn.done() and turn.exception() is None:
            self.running -= 1
            self._admit_next()

    def _admit_next(self) -> None:
        while self._queue and self.running < self.most_running:
            turn = self._queue.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)

    def _refuse_overload(self, expected: float) -> Problem:
        self.refused_count += 1
        return Problem(
            503,
            "overloaded",
            f"{self.running} requests are at work and {self.waiting} wait",
            next="ask again after the time of Retry-After",
            retry_after=max(1.0, expected),
        )
