"""The commands `fathom docs`, which list, show, search and remove the documents of an index."""

import os
import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    OfflineOption,
    SetOption,
    build_engine,
)

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.types import Document

docs = typer.Typer(help="List, show, search and remove documents.", no_args_is_help=True)

DocumentArgument = Annotated[str, typer.Argument(help="Id or path; a path may end in :LINE.")]


@docs.command("list")
def list_documents(
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """List all documents with id, language, chunks, path and title; as JSON also with readers."""
    from fathom.serving.cli.output import format_documents, show, show_json
    from fathom.serving.shapes import serialize_summaries

    with build_engine(index, assignments, offline=offline) as engine:
        documents = list(engine.documents.list())
        ids = [document.id for document in documents]
        limits = engine.documents.list_limits(ids) if as_json else None
    if as_json:
        show_json({"documents": serialize_summaries(documents, limits or {})})
    else:
        show(format_documents(documents))


@docs.command("show")
def show_document(
    document: DocumentArgument,
    at: Annotated[
        str | None,
        typer.Option(help="Show this place: a citation's line, or its START-END characters."),
    ] = None,
    lines: Annotated[
        int, typer.Option(min=1, max=10_000, help="Lines to show before and after the place.")
    ] = 10,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Show the text of a document as it was read, or the lines around one place in it."""
    from fathom.serving.cli.document_view import format_place_view, parse_place, serialize_place
    from fathom.serving.cli.output import show, show_json
    from fathom.serving.cli.terminal import is_terminal
    from fathom.serving.shapes import serialize_document

    with build_engine(index, assignments, offline=offline) as engine:
        stored_document, line = _get_document(engine, document)
    place = at if at is not None else line
    span = parse_place(stored_document, place) if place is not None else None
    if as_json:
        whole = serialize_document(stored_document)
        show_json(
            whole if span is None else {**whole, "at": serialize_place(stored_document, span)}
        )
    elif span is None:
        show(stored_document.text)
    else:
        # Written directly, because `show` would remove the colours that mark the place.
        styled = is_terminal() and not os.environ.get("NO_COLOR")
        view = format_place_view(stored_document, span, context=lines, styled=styled)
        sys.stdout.write(view + "\n")


@docs.command("outline")
def outline_document(
    document: DocumentArgument,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Show the headings of a document with their lines or pages."""
    from fathom.documents.lines import list_headings
    from fathom.serving.cli.output import format_outline, show_outcome
    from fathom.serving.shapes import serialize_outline

    with build_engine(index, assignments, offline=offline) as engine:
        stored_document, _ = _get_document(engine, document)
        shorten = engine.documents.make_place_names().shorten
        headings = list_headings(stored_document)
        text = format_outline(stored_document, headings, shorten)
    show_outcome(
        serialize_outline(stored_document, headings),
        text,
        as_json=as_json,
    )


@docs.command("grep")
def grep_documents(
    pattern: Annotated[str, typer.Argument(help="A regular expression.")],
    documents: Annotated[
        list[str] | None,
        typer.Argument(help="Only these: ids, paths, folders, or patterns such as '*.md'."),
    ] = None,
    ignore_case: Annotated[
        bool, typer.Option("-i", "--ignore-case", help="Ignore the case of letters.")
    ] = False,
    fixed: Annotated[bool, typer.Option("-F", "--fixed", help="PATTERN is plain text.")] = False,
    most: Annotated[int, typer.Option("--most", min=1, help="Lines to show.")] = 100,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Show the lines that match a pattern, in the text of all documents as it was read."""
    from fathom.serving.cli.output import format_matching_lines, show_outcome
    from fathom.serving.shapes import serialize_matching_lines

    with build_engine(index, assignments, offline=offline) as engine:
        matches = engine.documents.grep(
            pattern, documents or (), ignore_case=ignore_case, fixed=fixed
        )
        shown = list(islice(matches, most))
        has_more = next(matches, None) is not None
        shorten = engine.documents.make_place_names().shorten
        shape = serialize_matching_lines(shown, shorten, has_more=has_more)
        text = format_matching_lines(shown, shorten, has_more=has_more)
    show_outcome(shape, text, as_json=as_json)
    return 0 if shown else 3


@docs.command("rm")
def remove_documents(
    documents: Annotated[
        list[str], typer.Argument(help="Ids, paths, folders, or patterns such as '*.md'.")
    ],
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Remove documents with all their chunks; the files themselves stay."""
    from fathom.serving.cli.output import show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        removed = engine.documents.remove(documents)
    show_outcome({"removed": removed}, f"{removed} removed", as_json=as_json)


def _get_document(engine: "Engine", name: str) -> "tuple[Document, str | None]":
    """Return a document, and the line number if its path ends in `:LINE`, as `search` prints it.

    Raises:
        UsageError: If there is no such document.
    """
    try:
        return engine.documents.get(name), None
    except UsageError:
        path, colon, line = name.rpartition(":")
        if not (colon and line.isdecimal()):
            raise
        return engine.documents.get(path), line
