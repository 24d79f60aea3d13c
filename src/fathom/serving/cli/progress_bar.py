"""The live lines of an ingestion with the progress, the speed and the time left."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from fathom.ingest.progress import IngestState
from fathom.ingest.report import IngestReport
from fathom.serving.invisible import replace_controls

WINDOW_S = 20.0
"""The seconds over which the speed is measured.

The speed of the whole run would mislead: files differ, and unchanged files at the start are fast.
"""
_BAR_WIDTH = 20
"""The number of characters of a full bar."""


class Pace:
    """The speed of a growing value over the last `WINDOW_S`, including times without growth."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with the value 0."""
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque([(clock(), 0.0)])

    def add(self, value: float) -> None:
        """Record that the value is now `value`."""
        now = self._clock()
        self._seen.append((now, value))
        # One entry older than the window stays, from which the rate is measured.
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW_S:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """The growth per second; 0 at the start."""
        (since, before), (_, value) = self._seen[0], self._seen[-1]
        seconds = self._clock() - since
        return (value - before) / seconds if seconds > 0 else 0.0

    def estimate_seconds_left(self, total: float) -> float | None:
        """Estimate the seconds until the value reaches `total`; `None` while it does not grow."""
        missing = total - self._seen[-1][1]
        if missing <= 0:
            return 0.0
        return missing / self.rate if self.rate > 0 else None


class ProgressBoard:
    """The text of the two live lines."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create the text before the first counts."""
        self._size, self._chunks, self._vectors = Pace(clock), Pace(clock), Pace(clock)
        self._report, self._advance = IngestReport(), IngestState()

    def update(self, report: IngestReport, advance: IngestState) -> None:
        """Replace the counts."""
        self._size.add(advance.done)
        self._chunks.add(advance.chunks)
        self._vectors.add(advance.vectors)
        self._report, self._advance = report, advance

    def __str__(self) -> str:
        advance, report = self._advance, self._report
        if not advance.files:
            return "looking for files\n"
        if advance.lacking or advance.vectors:
            return self._format_filling(report.failed)
        share = min(1.0, advance.done / advance.bytes) if advance.bytes else 1.0
        files_read = min(len(report.files), advance.files)
        failed = f", {report.failed} failed" if report.failed else ""
        return (
            f"{_draw_bar(share)}  "
            f"{advance.done / 1e6:.1f} of {advance.bytes / 1e6:.1f} MB, "
            f"{files_read} of {advance.files} files, {advance.chunks} chunks{failed}\n"
            f"{self._format_time_left()}{self._size.rate / 1e6:.2f} MB/s, "
            f"{self._chunks.rate:.0f} chunks/s, "
            f"{describe_activity(advance)}"
        )

    def _format_filling(self, failed: int) -> str:
        """Return the lines that are shown while stored chunks get their vectors."""
        done, total = self._advance.vectors, self._advance.vectors + self._advance.lacking
        seconds = self._vectors.estimate_seconds_left(total)
        time_left = f"{format_duration(seconds)} left, " if seconds is not None else ""
        return (
            f"{_draw_bar(done / total)}  all {self._advance.chunks} chunks are found by words, "
            f"{done} of {total} have vectors{f', {failed} failed' if failed else ''}\n"
            f"{time_left}{self._vectors.rate:.0f} vectors/s, {describe_activity(self._advance)}"
        )

    def _format_time_left(self) -> str:
        seconds = self._size.estimate_seconds_left(self._advance.bytes)
        # The time that an ingestion needs to finish after the last byte is unknown.
        is_known = seconds is not None and self._advance.stage != "finishing"
        return f"{format_duration(seconds or 0.0)} left, " if is_known else ""


def _draw_bar(share: float) -> str:
    """Return a share as a bar and in percent."""
    full = round(share * _BAR_WIDTH)
    return f"{'#' * full}{'.' * (_BAR_WIDTH - full)} {share:4.0%}"


@contextmanager
def show_ingest_bar(
    console: Console | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[IngestReport, IngestState], None]]:
    """Show the live lines during a `with` block, and yield the function that updates them."""
    board = ProgressBoard(clock)

    def render_board() -> Text:
        return Text(str(board), no_wrap=True, overflow="ellipsis")

    with Live(
        get_renderable=render_board,
        console=console or Console(stderr=True),
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield board.update


def describe_activity(advance: IngestState) -> str:
    """Return the current activity in a few words."""
    name = replace_controls(advance.place.rpartition("/")[2])
    page = f", page {advance.page} of {advance.pages} recognised" if advance.pages else ""
    return f"{advance.stage} {name}{page}".rstrip()


def format_duration(seconds: float) -> str:
    """Format a duration as `M:SS`, or `H:MM:SS` from one hour on."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
