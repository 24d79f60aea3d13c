"""Which workers somebody means."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fathom.errors import UsageError
from fathom.index.workers.base import Workers

_NAMED = re.compile(r"(?P<where>ray(://[^?\s]+)?)?((?(where)\?workers=)(?P<number>[1-9]\d{0,3}))?")


@contextmanager
def opened_workers(
    name: str, tools: Callable[[int], bytes], *, offline: bool = False
) -> Iterator[Workers | None]:
    """The workers of this name, for the length of a `with` block; nobody for `1`.

    Args:
        name: A number of processes; `ray` for actors on this machine, `ray://HOST:PORT` for those
            of a cluster, both with `?workers=N` where not all cores are meant.
        tools: For a number of workers of this machine (0 where they are elsewhere), pickled what
            gives each its `Tools`.
        offline: Open no socket.

    Raises:
        UsageError: If it names none, or `offline` forbids them.
    """
    found = _NAMED.fullmatch(name) if name else None
    if found is None:
        raise UsageError(f"workers = {name!r}: give a number, ray, or ray://HOST:PORT?workers=N")
    number = int(found["number"] or 0)
    if not found["where"] and number == 1:
        yield None
        return
    workers = _made(found["where"] or "", number, tools, offline=offline)
    try:
        yield workers
    finally:
        workers.close()


def _made(where: str, number: int, tools: Callable[[int], bytes], *, offline: bool) -> Workers:
    if not where:
        from fathom.index.workers.local import Processes

        return Processes(number, tools(number))
    if offline:
        raise UsageError("ray talks over sockets, which --offline forbids; give a number")
    from fathom.index.workers.on_ray import RayWorkers

    return RayWorkers("" if where == "ray" else where, number, tools(0))
