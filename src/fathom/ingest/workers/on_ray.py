"""Workers that are actors of Ray, here or on a cluster that has the files at the same paths."""

import logging
import math
import pickle
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fathom.errors import FathomError, ModelError
from fathom.ingest.workers.base import EndedTask, LostTask, Task, TaskResult
from fathom.ingest.workers.work import TaskRunner

INSTALL = "ray is not installed: pip install 'fathom-qa[ray]'"
NEXT_STEP = "see `ray status`; a cluster that wants a token is told it by RAY_AUTH_MODE=token"


class _Actor:
    """One worker in a process that Ray starts."""

    def __init__(self, tools: bytes) -> None:
        """Make the tools by a pickled function; an error is kept until a task comes."""
        self._runner: TaskRunner | None = None
        self._fault: FathomError | None = None
        try:
            self._runner = TaskRunner(pickle.loads(tools)())  # noqa: S301 - from the process that started the actor
            self._runner.__enter__()
        except FathomError as error:
            self._fault = error

    def do(self, task: Task) -> tuple[bool, TaskResult]:
        """Return True and the result of a task; or False and the error if the actor cannot work."""
        if self._runner is None or self._fault is not None:
            return False, self._fault or ModelError("the worker has nothing to work with")
        return True, self._runner.run(task)


@dataclass(frozen=True, slots=True)
class _RunningTask:
    """A task that an actor is doing.

    Attributes:
        ticket: The ticket of the task.
        actor: The number of the actor.
        seconds: The time limit in seconds.
        started_at: When the task was started, in seconds on the monotonic clock.
    """

    ticket: int
    actor: int
    seconds: float
    started_at: float

    @property
    def deadline(self) -> float:
        """The end of the time limit, in seconds on the monotonic clock."""
        return self.started_at + self.seconds


class RayWorkers:
    """Actors of Ray, each of which reserves a core; one that dies is replaced."""

    def __init__(self, address: str, number: int, tools: bytes) -> None:
        """Connect to Ray and start the actors.

        Args:
            address: `ray://HOST:PORT` of a cluster. If it is empty, Ray uses the address in the
                variable `RAY_ADDRESS`, or else this machine.
            number: The number of actors; 0 for as many as Ray has cores.
            tools: A pickled function without arguments that returns `WorkerTools`.

        Raises:
            ModelError: If Ray is not installed, or the address does not answer.
        """
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise ModelError(INSTALL) from error
        self._ray = ray
        try:
            if address:
                ray.init(address, log_to_driver=False)
            else:
                ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ModelError(f"{address or 'ray'}: {reason}; {NEXT_STEP}") from error
        self._tools = tools
        number = number or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._actors = [self._start_actor() for _ in range(number)]
        self._running: dict[Any, _RunningTask] = {}

    def _start_actor(self) -> Any:  # noqa: ANN401 - of Ray
        """Start an actor and return its handle."""
        return self._ray.remote(num_cpus=1, max_restarts=0)(_Actor).remote(self._tools)

    @property
    def size(self) -> int:
        """The number of actors."""
        return len(self._actors)

    def start(self, ticket: int, task: Task) -> None:
        """Give a task to an idle actor; there must be one."""
        busy = {flight.actor for flight in self._running.values()}
        idle = next(number for number in range(self.size) if number not in busy)
        reference = self._actors[idle].do.remote(task)
        self._running[reference] = _RunningTask(ticket, idle, task.seconds, time.monotonic())

    def wait_for_results(self) -> list[EndedTask]:
        """Wait until at least one task has ended, and return the ended ones.

        Actors that have died or exceed the time limit of their task are replaced.

        Raises:
            FathomError: If an actor cannot work at all.
        """
        until = min(flight.deadline for flight in self._running.values())
        timeout = None if until == math.inf else max(0.0, until - time.monotonic())
        done, waiting = self._ray.wait(list(self._running), num_returns=1, timeout=timeout)
        ended_tasks = [self._take_result(reference) for reference in done]
        for reference in waiting:
            flight = self._running[reference]
            if flight.deadline <= time.monotonic():
                # A timeout of `ray.wait` leaves the actor running, so a hanging one is killed.
                self._ray.kill(self._actors[flight.actor])
                ended_tasks.append(
                    self._replace_actor(reference, f"its worker took {flight.seconds:.0f} s")
                )
        return ended_tasks

    def _take_result(self, reference: Any) -> EndedTask:  # noqa: ANN401 - of Ray
        """Return the ticket and the result of a task that has ended.

        Raises:
            FathomError: If the actor cannot work at all.
        """
        try:
            is_able, result = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return self._replace_actor(reference, f"its worker ended ({type(error).__name__})")
        if not is_able:
            raise result
        return self._running.pop(reference).ticket, result

    def _replace_actor(self, reference: Any, reason: str) -> EndedTask:  # noqa: ANN401 - of Ray
        """Replace the actor of a task, and return the ticket with a `LostTask`."""
        flight = self._running.pop(reference)
        self._actors[flight.actor] = self._start_actor()
        return flight.ticket, LostTask(reason)

    def close(self) -> None:
        """Disconnect from Ray, which ends the actors."""
        self._ray.shutdown()
