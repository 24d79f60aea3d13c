"""Workers that are actors of Ray: of this machine, or of a cluster whose machines see the files."""

import logging
import math
import pickle
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fathom.errors import FathomError, ModelError
from fathom.index.workers.base import Done, Ended, Lost, Task
from fathom.index.workers.work import Work

INSTALL = "ray is not installed: pip install 'fathom-qa[ray]'"
NEXT = "see `ray status`; a cluster that wants a token is told it by RAY_AUTH_MODE=token"


class _Actor:
    """One worker, where Ray puts it."""

    def __init__(self, tools: bytes) -> None:
        self._work: Work | None = None
        self._fault: FathomError | None = None
        try:
            self._work = Work(pickle.loads(tools)())  # noqa: S301 - from who started the actor
            self._work.__enter__()
        except FathomError as error:
            self._fault = error

    def do(self, task: Task) -> tuple[bool, Done]:
        """Whether it can work at all, and what came of the task."""
        if self._work is None or self._fault is not None:
            return False, self._fault or ModelError("the worker has nothing to work with")
        return True, self._work.do(task)


@dataclass(frozen=True, slots=True)
class _Flight:
    """A task on its way: its ticket, who does it, how long that may take, and since when."""

    ticket: int
    actor: int
    seconds: float
    begun: float

    @property
    def deadline(self) -> float:
        return self.begun + self.seconds


class RayWorkers:
    """Actors, each on a core of its own; who dies is replaced."""

    def __init__(self, address: str, number: int, tools: bytes) -> None:
        """Connect, and start them.

        Args:
            address: `ray://HOST:PORT` of a cluster; empty for this machine, or what the variable
                `RAY_ADDRESS` names.
            number: How many; 0 for as many as there are cores.
            tools: Pickled: a function without arguments that gives `Tools`.

        Raises:
            ModelError: If Ray is not installed, or nobody answers.
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
            told = " ".join(str(error).split())[:200]
            raise ModelError(f"{address or 'ray'}: {told}; {NEXT}") from error
        self._tools = tools
        number = number or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._actors = [self._made() for _ in range(number)]
        self._flying: dict[Any, _Flight] = {}

    def _made(self) -> Any:  # noqa: ANN401 - of Ray
        return self._ray.remote(num_cpus=1, max_restarts=0)(_Actor).remote(self._tools)

    @property
    def size(self) -> int:
        """See `Workers.size`."""
        return len(self._actors)

    def start(self, ticket: int, task: Task) -> None:
        """See `Workers.start`."""
        busy = {flight.actor for flight in self._flying.values()}
        idle = next(number for number in range(self.size) if number not in busy)
        reference = self._actors[idle].do.remote(task)
        self._flying[reference] = _Flight(ticket, idle, task.seconds, time.monotonic())

    def ended(self) -> list[Ended]:
        """See `Workers.ended`."""
        until = min(flight.deadline for flight in self._flying.values())
        left = None if until == math.inf else max(0.0, until - time.monotonic())
        done, waiting = self._ray.wait(list(self._flying), num_returns=1, timeout=left)
        found = [self._taken(reference) for reference in done]
        for reference in waiting:
            flight = self._flying[reference]
            if flight.deadline <= time.monotonic():
                self._ray.kill(self._actors[flight.actor])
                found.append(self._lost(reference, f"its worker took {flight.seconds:.0f} s"))
        return found

    def _taken(self, reference: Any) -> Ended:  # noqa: ANN401 - of Ray
        try:
            able, result = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return self._lost(reference, f"its worker ended ({type(error).__name__})")
        if not able:
            raise result
        return self._flying.pop(reference).ticket, result

    def _lost(self, reference: Any, reason: str) -> Ended:  # noqa: ANN401 - of Ray
        flight = self._flying.pop(reference)
        self._actors[flight.actor] = self._made()
        return flight.ticket, Lost(reason)

    def close(self) -> None:
        """See `Workers.close`."""
        self._ray.shutdown()
