"""Opening of the workers that the setting `workers` names."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fathom.errors import UsageError
from fathom.ingest.workers.base import Workers

_NAME_PATTERN = re.compile(
    r"(?P<where>ray(://[^?\s]+)?)?((?(where)\?workers=)(?P<number>[1-9]\d{0,3}))?"
)


@contextmanager
def open_workers(
    name: str, pickle_tools: Callable[[int], bytes], *, offline: bool = False
) -> Iterator[Workers | None]:
    """Open the workers that a name stands for, for a `with` block; yield `None` for `1`.

    Args:
        name: A number of processes; or `ray` for actors of Ray on this machine, or
            `ray://HOST:PORT` for those of a cluster. To both, `?workers=N` may be added; by default
            each core has an actor.
        pickle_tools: A function that returns, pickled, a function without arguments that returns
            the `WorkerTools` of a worker. Its argument is the number of workers on this machine (0
            if they are elsewhere).
        offline: Whether no socket may be opened.

    Yields:
        The workers, which are ended with the block; `None` if this process is to do all work.

    Raises:
        UsageError: If the name stands for no workers, or `offline` forbids them.
    """
    match = _NAME_PATTERN.fullmatch(name) if name else None
    if match is None:
        raise UsageError(f"workers = {name!r}: give a number, ray, or ray://HOST:PORT?workers=N")
    number = int(match["number"] or 0)
    if not match["where"] and number == 1:
        yield None
        return
    workers = _start_workers(match["where"] or "", number, pickle_tools, offline=offline)
    try:
        yield workers
    finally:
        workers.close()


def _start_workers(
    where: str, number: int, pickle_tools: Callable[[int], bytes], *, offline: bool
) -> Workers:
    """Start processes on this machine, or actors of Ray."""
    # Imported late: most commands need no workers, and Ray is an optional package.
    if not where:
        from fathom.ingest.workers.local import LocalWorkers

        return LocalWorkers(number, pickle_tools(number))
    if offline:
        raise UsageError("ray talks over sockets, which --offline forbids; give a number")
    from fathom.ingest.workers.on_ray import RayWorkers

    return RayWorkers("" if where == "ray" else where, number, pickle_tools(0))
