"""The command `fathom search`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
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
    from fathom.retrieval.excerpts import Excerpts
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
    """Show the sentences that bear on a query, best first, with their places."""
    from fathom.serving.cli.output import show_json

    with (
        build_engine(choose_index(docs, index), assignments, offline=offline) as engine,
        fill_from(engine, docs),
    ):
        if not docs:
            note_writer(engine)
        searcher = _Searcher(
            engine=engine,
            retriever=retriever,
            filters=filters or (),
            k=k,
            chars=chars,
            context=context,
            shows_chunks=full or (not brief and (as_json or query == STDIN)),
        )
        if query == STDIN:
            return answer_lines("query", searcher.serialize)
        if as_json:
            show_json(searcher.serialize(query))
        else:
            searcher.show(query)
        sys.stdout.flush()
    return 0


@dataclass(frozen=True, kw_only=True)
class _Searcher:
    """A search with the options of the command.

    Attributes:
        shows_chunks: Whether to show whole chunks instead of excerpts.
    """

    engine: "Engine"
    retriever: str | None
    filters: Sequence[str]
    k: int | None
    chars: int | None
    context: int
    shows_chunks: bool

    def serialize(self, query: str) -> dict[str, Any]:
        """Return the hits or excerpts of a query as an object."""
        from fathom.serving.shapes import serialize_excerpts, serialize_hits

        with self._load_reader_meanwhile():
            hits = self._find_hits(query)
        if self.shows_chunks:
            return serialize_hits(query, hits, self.engine.documents.locate(hits))
        return serialize_excerpts(self._make_excerpts(query, hits, self.chars))

    def show(self, query: str) -> None:
        """Print the hits or excerpts of a query for people."""
        with self._load_reader_meanwhile():
            from fathom.retrieval.excerpts import EXCERPT_CHARS
            from fathom.serving.cli.output import (
                format_excerpts,
                format_hits,
                leave_room,
                link_excerpts,
                link_places,
                show,
            )

            hits = self._find_hits(query)
        if self.shows_chunks:
            places = self.engine.documents.locate(hits)
            show(format_hits(hits, places), link_places(places, hits))
            return
        room = leave_room(self.chars or EXCERPT_CHARS, hits)
        excerpts = self._make_excerpts(query, hits, room)
        show(format_excerpts(excerpts), link_excerpts(excerpts))

    @contextmanager
    def _load_reader_meanwhile(self) -> Iterator[None]:
        """Load the cross-reader, which excerpts need, in another thread during the block."""
        if self.shows_chunks:
            yield
            return
        from concurrent.futures import wait

        loading = self.engine.executor.submit(lambda: self.engine.models.cross_reader)
        try:
            yield
        finally:
            # Whoever uses the reader next must not load it a second time.
            wait([loading])

    def _find_hits(self, query: str) -> "list[Hit]":
        hits = self.engine.search(
            query, k=self._choose_count(), retriever=self.retriever, filters=self.filters
        )
        _ = self._has_noted_lack
        if not hits:
            note_unmet_filters(self.engine, self.filters)
        return hits

    def _choose_count(self) -> int | None:
        """Return the number of hits to search for; `None` for the number in the settings."""
        from fathom.retrieval.excerpts import choose_hit_count

        is_chosen = self.k is not None or self.shows_chunks
        return self.k if is_chosen else choose_hit_count(self.chars)

    @cached_property
    def _has_noted_lack(self) -> bool:
        """True; the first use writes the note about missing vectors, once for all queries."""
        note_lacking_vectors(self.engine)
        return True

    def _make_excerpts(self, query: str, hits: "Sequence[Hit]", chars: int | None) -> "Excerpts":
        return self.engine.excerpt(query, hits, chars=chars, context=self.context)
