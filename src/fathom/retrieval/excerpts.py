"""Excerpts: the sentences of hits that bear on a query, for people and programs that read little.

An agent pays for every character that it reads. So the best sentences come first, each with the
place where it stands, and what is left out is counted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.models.reading import CrossReader
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner, PrunedHit
from fathom.text.lines import widen_to_lines
from fathom.text.quotable import list_blocks
from fathom.types import SECTION_SEPARATOR, Chunk, Document, Hit, Place

EXCERPT_CHARS = 1_200
"""The characters of all excerpts of a search."""
EXCERPT_HITS = 20
"""The hits from which the excerpts of a search are chosen."""
NAME_CHARS = 60
"""The characters of the name of a place."""
MARGIN = 3
"""The characters around each printed line: two spaces, and the end of the line."""
_LINE = 99_999
CUT = " …"
"""The mark of a text that goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The parts of a hit that bear on a query.

    Attributes:
        hit: The hit.
        place: The place of the first part.
        path: A short name of its file.
        start: The offset of the first part in the document's text.
        end: The offset after the last part.
        text: The parts, one a line; parts that do not stand together are lines of their own.
    """

    hit: Hit
    place: Place
    path: str
    start: int
    end: int
    text: str

    @property
    def at(self) -> str:
        """The short path with the line, or the page where there are no lines."""
        return replace(self.place, path=self.path).address

    @property
    def name(self) -> str:
        """The innermost heading; without one, the title if it is not the name of the file."""
        place = self.place
        title = "" if place.path.endswith(place.title) else place.title
        name = place.section.rpartition(SECTION_SEPARATOR)[2] or title
        return name if len(name) <= NAME_CHARS else _cut_text(name, NAME_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpts:
    """The excerpts of a search, the one with the best sentence first.

    Attributes:
        query: The query.
        excerpts: The excerpts that fit.
        hits: The hits of the search.
        chars: The characters of all hits.
    """

    query: str
    excerpts: tuple[Excerpt, ...]
    hits: int
    chars: int

    @property
    def hits_left(self) -> int:
        """The hits without an excerpt."""
        return self.hits - len(self.excerpts)

    @property
    def chars_left(self) -> int:
        """The characters of the hits that are not shown."""
        return self.chars - sum(len(excerpt.text) for excerpt in self.excerpts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpter:
    """A maker of excerpts.

    Attributes:
        pairs: Scores the sentences.
        chars: The characters of places and texts together, as they are printed, at most; the first
            excerpt is cut to them.
        context: The lines of the document to show before and after each excerpt.
        shorten: Returns a short name of a path.
    """

    pairs: CrossReader
    chars: int = EXCERPT_CHARS
    context: int = 0
    shorten: Callable[[str], str] = str

    def make_excerpts(
        self, query: str, hits: Sequence[Hit], documents: Mapping[str, Document]
    ) -> Excerpts:
        """Return the sentences of hits that bear on a query.

        Args:
            query: The query; a question or some words.
            hits: The hits, best first.
            documents: The documents of the hits by id; one that was removed since may be missing.
        """
        pruner = EvidencePruner(
            pairs=self.pairs,
            limit=self.chars,
            measure=_measure_line,
            describe_place=self._describe_longest_place,
        )
        pruned = (_drop_headings(item) for item in pruner.excerpt(Question(query), hits))
        excerpts = (
            self._make_excerpt(item, documents.get(item.hit.chunk.document_id))
            for item in pruned
            if item.spans
        )
        return Excerpts(
            query=query,
            excerpts=tuple(_fit(excerpts, self.chars)),
            hits=len(hits),
            chars=sum(len(hit.chunk.text) for hit in hits),
        )

    def _describe_longest_place(self, chunk: Chunk) -> str:
        """Return what a place in the chunk takes at most; its line is not known yet."""
        return f"{self.shorten(chunk.path)}:{_LINE}{chunk.breadcrumb[-NAME_CHARS:]}"

    def _make_excerpt(self, item: PrunedHit, document: Document | None) -> Excerpt:
        chunk = item.hit.chunk
        start, end = chunk.span.start + item.spans[0].start, chunk.span.start + item.spans[-1].end
        excerpt = Excerpt(
            hit=item.hit,
            place=chunk.place,
            path=self.shorten(chunk.path),
            start=start,
            end=end,
            text=item.text,
        )
        if document is None:
            return excerpt
        if self.context:
            start, end = widen_to_lines(document.text, start, end, self.context)
            text = document.text[start:end].strip("\n")
            excerpt = replace(excerpt, start=start, end=end, text=text)
        return replace(excerpt, place=document.place_at(start), path=self.shorten(document.path))


def _measure_line(text: str) -> int:
    return len(text) + MARGIN


def _drop_headings(item: PrunedHit) -> PrunedHit:
    """Return a pruned hit without headings, as its place names them."""
    headings = {
        (block.start, block.end) for block in list_blocks(item.hit.chunk) if block.kind == "heading"
    }
    spans = tuple(span for span in item.spans if (span.start, span.end) not in headings)
    return replace(item, spans=spans)


def _fit(excerpts: Iterator[Excerpt], chars: int) -> Iterator[Excerpt]:
    """Yield the excerpts that fit into a number of characters; a longer first one is cut."""
    free = chars
    for excerpt in excerpts:
        size = _measure_head(excerpt) + _measure_text(excerpt.text)
        if size > free and free < chars:
            continue
        margins = _measure_text(excerpt.text) - len(excerpt.text)
        room = max(free - _measure_head(excerpt) - margins, 0)
        yield replace(excerpt, text=_cut_text(excerpt.text, room)) if size > free else excerpt
        free -= size


def _measure_head(excerpt: Excerpt) -> int:
    return _measure_line(excerpt.at) + len(excerpt.name)


def _measure_text(text: str) -> int:
    return sum(map(_measure_line, text.split("\n")))


def _cut_text(text: str, chars: int) -> str:
    """Return the beginning of a text, up to a space, with a mark that it goes on."""
    beginning = text[: max(chars - len(CUT), 0)]
    return (beginning.rpartition(" ")[0] or beginning) + CUT
