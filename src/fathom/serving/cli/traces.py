"""The commands that look at what was asked: trace, replay."""

from typing import Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import IndexOption, JsonOption, SetOption, build_engine


def trace(
    trace_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Its id or the beginning; none lists all.")
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    delete: Annotated[bool, typer.Option("--delete", help="Remove it for good.")] = False,
    otel: Annotated[
        str | None,
        typer.Option(metavar="TARGET", help="Export it: a file, or a collector's http address."),
    ] = None,
    content: Annotated[
        bool, typer.Option("--content", help="With --otel: export the texts too.")
    ] = False,
    assignments: SetOption = None,
) -> None:
    """Show how an answer came about, step by step."""
    from fathom.runs.export import export_trace
    from fathom.runs.outline import format_tree, to_json
    from fathom.serving.cli.output import show, show_json, traces_text

    _check_named(trace_id, needed=delete or otel is not None)
    with build_engine(index, assignments) as engine:
        if trace_id is None:
            listed = engine.traces.list()
            if as_json:
                show_json({"traces": listed})
            else:
                show(traces_text(listed))
        elif delete:
            gone = engine.traces.delete(trace_id)
            if as_json:
                show_json({"deleted": gone})
            else:
                show(f"{gone} deleted")
        elif otel is not None:
            found = engine.traces.get(trace_id)
            show(export_trace(found, otel, content=content, offline=engine.settings.offline))
        else:
            found = engine.traces.get(trace_id)
            show(to_json(found) if as_json else format_tree(found))


def _check_named(trace_id: str | None, *, needed: bool) -> None:
    if needed and trace_id is None:
        raise UsageError("name the trace to delete or to export; `fathom trace` lists them")


def replay(
    trace_id: Annotated[str, typer.Argument(metavar="ID", help="Its id or the beginning.")],
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
) -> int:
    """Answer again from the record alone; with --set, as other settings would have."""
    from fathom.serving.cli.output import replay_text, show, show_json
    from fathom.serving.shapes import replay_json

    with build_engine(index, None) as engine:
        done = engine.replay(trace_id, assignments=assignments or [])
    if as_json:
        show_json(replay_json(done))
    else:
        show(replay_text(done))
    if done.missing or not (done.same or assignments):
        return 5
    return 0
