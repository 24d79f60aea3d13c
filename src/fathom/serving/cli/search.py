"""`fathom search`: the sentences of the documents that bear on a query, or whole chunks."""

import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.serving.cli.cached_index import choose_index, fill_from
from fathom.serving.cli.many import STDIN, answer_lines
from fathom.serving.cli.options import (
    DocsOption,
    FilterOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    RetrieverOption,
    SetOption,
    build_engine,
    note_lacking_vectors,
    note_unmet_filters,
    note_writer,
)

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.types import Hit


def search(
    query: Annotated[
        str, typer.Argument(help="The words to search for; - reads one query a line from stdin.")
    ],
    k: Annotated[
        int | None, typer.Option("-k", "--k", help="Number of hits to choose from.")
    ] = None,
    chars: Annotated[
        int | None,
        typer.Option(min=1, help="Characters of all excerpts together; by default 1200."),
    ] = None,
    context: Annotated[
        int, typer.Option(min=0, max=1_000, help="Lines to show around each excerpt.")
    ] = 0,
    full: Annotated[bool, typer.Option("--full", help="Show whole chunks.")] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="With --json: excerpts in place of whole chunks.")
    ] = False,
    retriever: RetrieverOption = None,
    docs: DocsOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    filters: FilterOption = None,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Show the sentences that bear on a query, with their places, the best first."""
    from fathom.retrieval.excerpts import EXCERPT_HITS
    from fathom.serving.cli.output import format_excerpts, format_hits, link_places, show, show_json
    from fathom.serving.shapes import serialize_excerpts, serialize_hits

    is_whole = full or (not brief and (as_json or query == STDIN))
    note_lacking_once = cache(note_lacking_vectors)

    def find_hits(engine: "Engine", text: str) -> "list[Hit]":
        count = k if k is not None or is_whole else EXCERPT_HITS
        hits = engine.search(text, k=count, retriever=retriever, filters=filters or ())
        note_lacking_once(engine)
        if not hits:
            note_unmet_filters(engine, filters or ())
        return hits

    def serialize(engine: "Engine", text: str, hits: "Sequence[Hit]") -> dict[str, Any]:
        if is_whole:
            return serialize_hits(text, hits, engine.documents.locate(hits))
        return serialize_excerpts(engine.excerpt(text, hits, chars=chars, context=context))

    with (
        build_engine(choose_index(docs, index), assignments, offline=offline) as engine,
        fill_from(engine, docs),
    ):
        if not docs:
            note_writer(engine)
        if query == STDIN:
            return answer_lines(lambda text: serialize(engine, text, find_hits(engine, text)))
        hits = find_hits(engine, query)
        if as_json:
            show_json(serialize(engine, query, hits))
        else:
            places = engine.documents.locate(hits)
            excerpts = (
                None if is_whole else engine.excerpt(query, hits, chars=chars, context=context)
            )
            text = format_hits(hits, places) if excerpts is None else format_excerpts(excerpts)
            show(text, link_places(places, hits))
        sys.stdout.flush()
    return 0
