"""Progress on stderr while files go in."""

from collections.abc import Iterator
from contextlib import contextmanager

from fathom.index.ingest import Progress, Report


@contextmanager
def ingest_progress() -> Iterator[Progress]:
    """A live line of files, documents, chunks per second, time left and failures.

    Nothing is shown where stderr is not a terminal.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("ingest"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[documents]} documents"),
        TextColumn("{task.fields[rate]:.0f} chunks/s"),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("ingest", total=None, documents=0, rate=0.0, failed=0)

        def update(report: Report, files: int) -> None:
            elapsed = progress.tasks[0].elapsed or 0.0
            progress.update(
                task,
                total=files,
                completed=len(report.files),
                documents=report.documents,
                rate=report.chunks / elapsed if elapsed > 0 else 0.0,
                failed=report.failed,
            )

        yield update
