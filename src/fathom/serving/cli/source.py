"""The commands `fathom source`, which manage the sources that the index follows."""

from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import IndexLocked, UsageError
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    OfflineOption,
    SetOption,
    build_engine,
)

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.ingest.sources.store import StoredSource
    from fathom.ingest.sources.sync import SyncReport

source = typer.Typer(
    help="Folders, repositories and other places whose documents the index follows.",
    no_args_is_help=True,
)

NameArgument = Annotated[str, typer.Argument(help="The name that `fathom source list` shows.")]


@source.command("add")
def add_source(
    url: Annotated[str, typer.Argument(metavar="URL", help="A folder, or the URL of a source.")],
    name: Annotated[str, typer.Option(help="Its name; by default the last part of the URL.")] = "",
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Only objects that match, such as '*.md'; may be repeated."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Leave out objects that match; may be repeated."),
    ] = None,
    allow_private: Annotated[
        bool,
        typer.Option("--allow-private", help="Allow a host of URL in a private network."),
    ] = False,
    every: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Interval, 1m to 30d, after which `serve` or `sync --due` syncs it again.",
        ),
    ] = "",
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Add a source; `fathom source sync` then reads it."""
    from fathom.serving.cli.output import show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        added = engine.sources.add(
            url,
            name=name,
            include=include or (),
            exclude=exclude or (),
            allow_private=allow_private,
            every=every,
        )
    text = f"{added.name} added; `fathom source sync {added.name}` reads it"
    show_outcome(added, text, as_json=as_json)


@source.command("list")
def list_sources(
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """List all sources with the time and the outcome of the last sync."""
    from fathom.serving.cli.output import show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        sources = engine.sources.list()
    text = "\n".join(map(_format_source, sources)) or "no sources; `fathom source add URL` adds one"
    show_outcome({"sources": sources}, text, as_json=as_json)


@source.command("sync")
def sync_sources(
    name: Annotated[
        str | None, typer.Argument(help="One source; by default all that are not paused.")
    ] = None,
    due: Annotated[
        bool, typer.Option("--due", help="Only those whose interval (--every) has passed.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print a line on stderr for each stored object.")
    ] = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Bring the index in line with one source or all; run it again to continue."""
    from fathom.serving.cli.output import show_outcome

    if name is not None and due:
        raise UsageError("--due chooses the sources itself; leave out the name")
    with build_engine(index, assignments, offline=offline) as engine:
        if name is None:
            listed = engine.sources.list_due() if due else engine.sources.list()
            waiting = [item.name for item in listed if not item.paused]
            reports = [_sync_or_explain(engine, other, verbose=verbose) for other in waiting]
        else:
            reports = [_sync_source(engine, name, verbose=verbose)]
    nothing = "no source is due" if due else "no sources; `fathom source add URL` adds one"
    text = "\n".join(map(_format_report, reports)) or nothing
    show_outcome({"sources": reports}, text, as_json=as_json)
    if any(report.fault for report in reports):
        return 5
    return 6 if any(report.ingested.failed for report in reports) else 0


@source.command("pause")
def pause_source(
    name: NameArgument,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a paused source.")] = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Pause a source, so that only `sync NAME` synchronizes it; its documents stay."""
    from fathom.serving.cli.output import show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        engine.sources.pause(name, paused=not resume)
    text = f"{name} resumed" if resume else f"{name} paused; --resume ends the pause"
    show_outcome({"name": name, "paused": not resume}, text, as_json=as_json)


@source.command("remove")
def remove_source(
    name: NameArgument,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Remove a source and its documents from the index; the source itself does not change."""
    from fathom.serving.cli.output import show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        removed = engine.sources.remove(name)
    text = f"{name} removed, with {removed} documents"
    show_outcome({"name": name, "removed": removed}, text, as_json=as_json)


def _sync_or_explain(engine: "Engine", name: str, *, verbose: bool) -> "SyncReport":
    """Bring the index in line with a source, or return a report that says why it is impossible.

    So a source that cannot be opened, or that another process synchronizes, stops no other source.
    """
    from fathom.ingest.sources.sync import SyncReport

    try:
        return _sync_source(engine, name, verbose=verbose)
    except (UsageError, IndexLocked) as error:
        return SyncReport(source=name, fault=str(error))


def _sync_source(engine: "Engine", name: str, *, verbose: bool) -> "SyncReport":
    from fathom.serving.cli.progress import InterruptibleProgress, show_ingest_progress

    with (
        show_ingest_progress(verbose=verbose) as on_progress,
        InterruptibleProgress(on_progress, anew=False) as progress,
    ):
        return engine.sources.sync(name, on_progress=progress)


def _format_source(item: "StoredSource") -> str:
    patterns = [*(f"+{glob}" for glob in item.include), *(f"-{glob}" for glob in item.exclude)]
    parts = [
        f"{item.name}  {item.url}",
        *patterns,
        f"{item.documents} documents",
        f"every {item.every}" if item.every else "",
        "synchronizing" if item.running else "",
        f"synchronized {item.synced}" if item.synced else "never synchronized",
        "paused" if item.paused else "",
        f"not complete: {item.fault}" if item.fault else "",
    ]
    return ", ".join(filter(None, parts))


def _format_report(report: "SyncReport") -> str:
    from fathom.serving.cli.output import format_ingest_report

    head = f"{report.source}: {report.listed} listed, {report.fetched} fetched"
    fault = [f"  not complete, nothing was removed: {report.fault}"] if report.fault else []
    return "\n".join([head, *fault, format_ingest_report(report.ingested)])
