"""Workers that are processes of this machine."""

import math
import os
import pickle
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from fathom.errors import FathomError, RunError
from fathom.index.workers.base import Ended, Lost, Task
from fathom.index.workers.cutting import TOO_LONG
from fathom.index.workers.work import Work

_BOOT = "from fathom.index.workers.local import main; main()"
_CANNOT = -1
"""The ticket under which a worker says that it cannot work at all."""


class Processes:
    """So many processes; each ends by itself when this one dies.

    Only what workers say is unpickled, and documents are parsed in the sandbox below them.
    """

    def __init__(self, number: int, tools: bytes) -> None:
        """Start them.

        Args:
            number: How many.
            tools: Pickled: a function without arguments that gives `Tools`.
        """
        self._tools = tools
        self._workers = [_Worker(tools) for _ in range(number)]

    @property
    def size(self) -> int:
        """See `Workers.size`."""
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        """Of the processes."""
        return [worker.process.pid for worker in self._workers]

    def start(self, ticket: int, task: Task) -> None:
        """See `Workers.start`."""
        idle = next(worker for worker in self._workers if worker.ticket is None)
        idle.give(ticket, task)

    def ended(self) -> list[Ended]:
        """See `Workers.ended`."""
        busy = [worker for worker in self._workers if worker.ticket is not None]
        until = min(worker.deadline for worker in busy)
        left = None if until == math.inf else max(0.0, until - time.monotonic())
        ready = wait([worker.connection for worker in busy], left)
        found: list[Ended] = []
        for number, worker in enumerate(self._workers):
            if worker.ticket is None:
                continue
            if worker.connection not in ready:
                if worker.deadline <= time.monotonic():
                    worker.close()
                    found.append((worker.ticket, Lost(f"its worker took {worker.seconds:.0f} s")))
                    self._workers[number] = _Worker(self._tools)
                continue
            try:
                said, result = worker.connection.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                found.append((worker.ticket, worker.lost()))
                self._workers[number] = _Worker(self._tools)
                continue
            if said == _CANNOT:
                raise result
            worker.ticket = None
            found.append((said, result))
        return found

    def close(self) -> None:
        """See `Workers.close`."""
        for worker in self._workers:
            worker.close()


class _Worker:
    """One process and what it is doing."""

    def __init__(self, tools: bytes) -> None:
        self.connection, other = Pipe()
        self.ticket: int | None = None
        self.seconds = self.deadline = math.inf
        # In a session of its own: Ctrl-C is for this process, which then ends it.
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter with our own code
            [sys.executable, "-c", _BOOT, str(other.fileno())],
            pass_fds=[other.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        other.close()
        self._send(tools)

    def give(self, ticket: int, task: Task) -> None:
        """Give it a task; one that is dead is noticed when its result is awaited."""
        self.ticket = ticket
        self.seconds = task.seconds
        self.deadline = time.monotonic() + task.seconds
        self._send(pickle.dumps((ticket, task)))

    def _send(self, message: bytes) -> None:
        try:
            self.connection.send_bytes(message)
        except OSError:
            return

    def lost(self) -> Lost:
        """Kill it, if it has not ended; say how it did."""
        self.close()
        code = self.process.wait()
        if code == -signal.SIGALRM:
            return Lost(TOO_LONG, is_final=True)
        return Lost(f"its worker ended ({f'signal {-code}' if code < 0 else code})")

    def close(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


def main() -> None:
    """The process: takes the tools, then one task after the other, until nobody gives any."""
    connection: Connection[object, object] = Connection(int(sys.argv[1]))
    try:
        _serve(connection)
    except (EOFError, OSError):
        return  # who gave the tasks is gone


def _serve(connection: "Connection[object, object]") -> None:
    # What was sent is ours: only the process that started this one holds the other end.
    try:
        tools = pickle.loads(connection.recv_bytes())()  # noqa: S301
    except (EOFError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - told where somebody hears it
        known = error if isinstance(error, FathomError) else RunError(f"a worker: {error!r}")
        connection.send((_CANNOT, known))
        return
    with Work(tools) as work:
        while True:
            ticket, task = pickle.loads(connection.recv_bytes())  # noqa: S301
            connection.send((ticket, work.do(task)))
