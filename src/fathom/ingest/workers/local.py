"""Workers that are processes on this machine."""

import math
import os
import pickle
import subprocess
import sys
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from fathom.errors import FathomError, RunError
from fathom.ingest.workers.base import EndedTask, LostTask, Task
from fathom.ingest.workers.cutting import TOO_LONG
from fathom.ingest.workers.work import TaskRunner
from fathom.system import is_end_by

_BOOT = "from fathom.ingest.workers.local import main; main()"
_UNABLE_TICKET = -1
"""The ticket with which a worker sends the error because of which it cannot work at all."""


class LocalWorkers:
    """Worker processes, which end by themselves if this process dies.

    Pickles come only from these processes and never from a document: documents are parsed in the
    sandboxes that the workers start.
    """

    def __init__(self, number: int, tools: bytes) -> None:
        """Start the processes.

        Args:
            number: The number of processes.
            tools: A pickled function without arguments that returns `WorkerTools`.
        """
        self._tools = tools
        self._workers = [_Worker(tools) for _ in range(number)]

    @property
    def size(self) -> int:
        """The number of processes."""
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [worker.process.pid for worker in self._workers]

    def start(self, ticket: int, task: Task) -> None:
        """Give a task to an idle process; there must be one."""
        idle = next(worker for worker in self._workers if worker.ticket is None)
        idle.give(ticket, task)

    def wait_for_results(self) -> list[EndedTask]:
        """Wait until at least one task has ended, and return the ended ones.

        Processes that have ended or exceed the time limit of their task are replaced.

        Raises:
            FathomError: If a worker cannot work at all.
        """
        busy = [worker for worker in self._workers if worker.ticket is not None]
        until = min(worker.deadline for worker in busy)
        timeout = None if until == math.inf else max(0.0, until - time.monotonic())
        ready = wait([worker.connection for worker in busy], timeout)
        ended_tasks: list[EndedTask] = []
        for number, worker in enumerate(self._workers):
            if worker.ticket is None:
                continue
            if worker.connection not in ready:
                if worker.deadline <= time.monotonic():
                    worker.close()
                    ended_tasks.append(
                        (worker.ticket, LostTask(f"its worker took {worker.seconds:.0f} s"))
                    )
                    self._workers[number] = _Worker(self._tools)
                continue
            try:
                ticket, result = worker.connection.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                ended_tasks.append((worker.ticket, worker.kill_and_explain()))
                self._workers[number] = _Worker(self._tools)
                continue
            if ticket == _UNABLE_TICKET:
                raise result
            worker.ticket = None
            ended_tasks.append((ticket, result))
        return ended_tasks

    def close(self) -> None:
        """Kill all processes; their tasks have no result."""
        for worker in self._workers:
            worker.close()


class _Worker:
    """One process and its present task.

    Attributes:
        connection: The pipe to the process.
        ticket: The ticket of its task; `None` if it is idle.
        seconds: The time limit of its task.
        deadline: The end of this time on the monotonic clock.
        process: The process.
    """

    def __init__(self, tools: bytes) -> None:
        """Start the process and send it the pickled function that returns its tools."""
        self.connection, other = Pipe()
        self.ticket: int | None = None
        self.seconds = self.deadline = math.inf
        # The process gets its own session, so that Ctrl-C reaches only the present process, which
        # then ends the worker.
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
        """Give the worker a task; if it has died, `wait_for_results` finds out."""
        self.ticket = ticket
        self.seconds = task.seconds
        self.deadline = time.monotonic() + task.seconds
        self._send(pickle.dumps((ticket, task)))

    def _send(self, message: bytes) -> None:
        """Send a pickle; do nothing if the worker has died."""
        try:
            self.connection.send_bytes(message)
        except OSError:
            return

    def kill_and_explain(self) -> LostTask:
        """Kill the worker if it has not ended, and return a `LostTask` with the way it ended."""
        self.close()
        code = self.process.wait()
        if is_end_by(code, "SIGALRM"):
            return LostTask(TOO_LONG, is_final=True)
        return LostTask(f"its worker ended ({f'signal {-code}' if code < 0 else code})")

    def close(self) -> None:
        """Kill the worker."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


def main() -> None:
    """Run as a worker process until the process that started it ends.

    The only argument of the command is the file descriptor of the pipe.
    """
    connection: Connection[object, object] = Connection(int(sys.argv[1]))
    try:
        _serve(connection)
    except (EOFError, OSError):
        return  # the process that started this one has ended


def _serve(connection: "Connection[object, object]") -> None:
    """Load the tools, then do one task after the other.

    If the tools cannot be loaded, the error is sent and the function returns.

    Raises:
        EOFError: If the process that started this one has ended.
        OSError: If the connection to it breaks.
    """
    # Unpickling is safe: only the process that started this one holds the other end.
    try:
        tools = pickle.loads(connection.recv_bytes())()  # noqa: S301
    except (EOFError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - the starting process reports it
        fault = error if isinstance(error, FathomError) else RunError(f"a worker: {error!r}")
        connection.send((_UNABLE_TICKET, fault))
        return
    with TaskRunner(tools) as work:
        while True:
            ticket, task = pickle.loads(connection.recv_bytes())  # noqa: S301
            connection.send((ticket, work.run(task)))
