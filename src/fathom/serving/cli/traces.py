"""The commands `fathom trace` and `fathom replay`."""

from pathlib import Path
from typing import Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    OfflineOption,
    SetOption,
    build_engine,
)


def trace(
    trace_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="The trace's id, or its beginning; by default list the latest."
        ),
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the trace for good.")] = False,
    otel: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET", help="Export it to a file, or to a collector's http address."
        ),
    ] = None,
    content: Annotated[
        bool, typer.Option("--content", help="With --otel: also export the texts.")
    ] = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Show the steps that led to an answer, or list the latest traces."""
    from fathom.runs.export import export_trace
    from fathom.runs.outline import format_tree, to_json
    from fathom.serving.cli.files import check_documents
    from fathom.serving.cli.output import format_traces, show, show_outcome

    _check_options(trace_id, delete=delete, otel=otel, content=content)
    with build_engine(index, assignments, offline=offline) as engine:
        if trace_id is None:
            summaries = engine.traces.list()
            show_outcome({"traces": summaries}, format_traces(summaries), as_json=as_json)
        elif delete:
            deleted_id = engine.traces.delete(trace_id)
            show_outcome({"deleted": deleted_id}, f"{deleted_id} deleted", as_json=as_json)
        elif otel is not None:
            if "://" not in otel:
                check_documents(Path(otel), engine)
            record = engine.traces.get(trace_id)
            outcome = export_trace(record, otel, content=content, offline=engine.settings.offline)
            show_outcome({"exported": record.id, "target": otel}, outcome, as_json=as_json)
        else:
            record = engine.traces.get(trace_id)
            show(to_json(record) if as_json else format_tree(record))


def _check_options(trace_id: str | None, *, delete: bool, otel: str | None, content: bool) -> None:
    """Check that the options fit together.

    Raises:
        UsageError: If an option needs another one, or two exclude each other.
    """
    if delete and otel is not None:
        raise UsageError("--delete and --otel: export the trace first, then delete it")
    if content and otel is None:
        raise UsageError("--content belongs to an export; add --otel TARGET")
    if trace_id is None and (delete or otel is not None):
        raise UsageError("name the trace to delete or to export; `fathom trace` lists them")


def replay(
    trace_id: Annotated[
        str, typer.Argument(metavar="ID", help="The trace's id, or its beginning.")
    ],
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Answer again from the trace alone; with --set, as with these settings."""
    from fathom.serving.cli.output import format_replay, show_outcome
    from fathom.serving.shapes import serialize_replay

    with build_engine(index, None, offline=offline) as engine:
        replayed = engine.replay(trace_id, assignments=assignments or [])
    show_outcome(serialize_replay(replayed), format_replay(replayed), as_json=as_json)
    # With --set another answer is expected; without it any difference is a failure.
    if replayed.missing or not (replayed.same or assignments):
        return 5
    return 0
