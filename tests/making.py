"""What tests of several rooms share."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import inf

from fathom.ledger import Ledger
from fathom.recorder import Recorder
from fathom.run import Run
from fathom.trace import Events, Origin
from fathom.usage import Budget


@contextmanager
def run_of(
    budget: Budget | None = None, *, events: Events | None = None, seconds: float = inf
) -> Iterator[Run]:
    """A run outside of any strategy; its recorder is `run.scope`."""
    with ThreadPoolExecutor(2) as executor:
        yield Run(
            ledger=Ledger(budget or Budget()),
            scope=Recorder(Origin(question="q", strategy="s"), events=events),
            executor=executor,
            deadline=time.monotonic() + seconds,
            end=time.monotonic() + seconds,
        )
