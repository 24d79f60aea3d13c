"""The live lines of an ingestion: what is done, how fast, and how long it will take."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from fathom.index.ingest_progress import Advance
from fathom.index.ingest_report import IngestReport
from fathom.serving.cli.terminal import plain

WINDOW_S = 20.0
"""A rate is that of so many seconds: files differ, and what was passed over at first was quick."""
_BAR = 20


class Pace:
    """How fast something grows: over the last seconds, those without news included."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing has been seen yet."""
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque([(clock(), 0.0)])

    def add(self, value: float) -> None:
        """It has grown to this."""
        now = self._clock()
        self._seen.append((now, value))
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW_S:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """A second; 0 as long as nothing is known."""
        (since, before), (_, value) = self._seen[0], self._seen[-1]
        seconds = self._clock() - since
        return (value - before) / seconds if seconds > 0 else 0.0

    def left(self, total: float) -> float | None:
        """Seconds until it has grown to `total`; `None` where that cannot be told."""
        missing = total - self._seen[-1][1]
        if missing <= 0:
            return 0.0
        return missing / self.rate if self.rate > 0 else None


class Board:
    """What stands in the two live lines, at the time of looking."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing has been told yet."""
        self._size, self._chunks, self._vectors = Pace(clock), Pace(clock), Pace(clock)
        self._report, self._advance = IngestReport(), Advance()

    def update(self, report: IngestReport, advance: Advance) -> None:
        """Take the news."""
        self._size.add(advance.done)
        self._chunks.add(advance.chunks)
        self._vectors.add(advance.vectors)
        self._report, self._advance = report, advance

    def __str__(self) -> str:
        advance, report = self._advance, self._report
        if not advance.files:
            return "looking for files\n"
        if advance.lacking or advance.vectors:
            return self._filling(report.failed)
        share = min(1.0, advance.done / advance.bytes) if advance.bytes else 1.0
        seen = min(len(report.files), advance.files)
        failed = f", {report.failed} failed" if report.failed else ""
        return (
            f"{_drawn(share)}  "
            f"{advance.done / 1e6:.1f} of {advance.bytes / 1e6:.1f} MB, "
            f"{seen} of {advance.files} files, {advance.chunks} chunks{failed}\n"
            f"{self._left()}{self._size.rate / 1e6:.2f} MB/s, {self._chunks.rate:.0f} chunks/s, "
            f"{doing(advance)}"
        )

    def _filling(self, failed: int) -> str:
        """While stored chunks get their vectors."""
        made, total = self._advance.vectors, self._advance.vectors + self._advance.lacking
        seconds = self._vectors.left(total)
        left = f"{duration(seconds)} left, " if seconds is not None else ""
        return (
            f"{_drawn(made / total)}  all {self._advance.chunks} chunks are found by words, "
            f"{made} of {total} have vectors{f', {failed} failed' if failed else ''}\n"
            f"{left}{self._vectors.rate:.0f} vectors/s, {doing(self._advance)}"
        )

    def _left(self) -> str:
        seconds = self._size.left(self._advance.bytes)
        told = seconds is not None and self._advance.stage != "finishing"
        return f"{duration(seconds or 0.0)} left, " if told else ""


def _drawn(share: float) -> str:
    """A share as a bar and in percent."""
    full = round(share * _BAR)
    return f"{'#' * full}{'.' * (_BAR - full)} {share:4.0%}"


@contextmanager
def ingest_bar(
    console: Console | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[IngestReport, Advance], None]]:
    """The live lines, for the length of a `with` block; gives what has to be told the news."""
    board = Board(clock)

    def drawn() -> Text:
        return Text(str(board), no_wrap=True, overflow="ellipsis")

    with Live(
        get_renderable=drawn,
        console=console or Console(stderr=True),
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield board.update


def doing(advance: Advance) -> str:
    """What is being done, in a few words."""
    name = plain(advance.place.rpartition("/")[2])
    page = f", page {advance.page} of {advance.pages} recognised" if advance.pages else ""
    return f"{advance.stage} {name}{page}".rstrip()


def duration(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
