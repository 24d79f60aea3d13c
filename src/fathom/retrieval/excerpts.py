"""Excerpts: the sentences of hits that bear on a query, for people and programs that read little.

A program that calls a language model pays for every character that it reads. Therefore the best
sentences come first, each with its place, and the characters that are left out are counted.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.models.reading import CrossReader
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner, PrunedHit, keep_parts
from fathom.text.lines import widen_to_lines
from fathom.text.quotable import list_blocks
from fathom.types import SECTION_SEPARATOR, Document, Hit, Place, Span

EXCERPT_CHARS = 1_200
"""The largest number of characters of all excerpts of a search together, by default."""
EXCERPT_HITS = 10
"""The number of hits from which excerpts of at most `EXCERPT_CHARS` characters are chosen."""
MORE_HITS = 20
"""The number of hits from which longer excerpts are chosen."""
_FEWEST_READ = 12
"""The number of sentences that are read by themselves, at least; few more change what is shown."""
_CHARS_PER_READ = 100
"""The characters of excerpts for each sentence that is read by itself, if that gives more."""
LEAST_SHARE = 0.4
"""The least score of a sentence that is shown, as a share of the best score.

It applies if at most `EXCERPT_CHARS` characters are allowed."""
NAME_CHARS = 60
"""The largest number of characters of the name of a place."""
MARGIN = 3
"""The number of characters around each printed line: two spaces, and the end of the line."""
CUT = " …"
"""The mark that a text is cut here."""
_LEADERS = re.compile(r"(?:(?<![ \t])[ \t]+)?(?:[.·_|] ?){4,}[ \t]*")
"""Dots and rules that fill a line, as between a heading and its page in a table of contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The parts of a hit that bear on a query.

    Attributes:
        hit: The hit.
        place: The place of the first part.
        path: A short name of its file.
        start: The offset of the first part in the document's text.
        end: The offset of the end of the last part there, half-open.
        text: The parts; those that stand in one line of the chunk share a line. Leaders are cut
            short, and lines without a letter or digit are left out. With lines of context around
            it, the text is that of the document.
    """

    hit: Hit
    place: Place
    path: str
    start: int
    end: int
    text: str

    @property
    def at(self) -> str:
        """The short path with the line, or with the page if there are no lines."""
        return replace(self.place, path=self.path).address

    @property
    def name(self) -> str:
        """The innermost heading; without one, the title unless it is the name of the file."""
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
        hits: The number of hits of the search.
        chars: The number of characters of all hits.
    """

    query: str
    excerpts: tuple[Excerpt, ...]
    hits: int
    chars: int

    @property
    def hits_left(self) -> int:
        """The number of hits without an excerpt."""
        return self.hits - len(self.excerpts)

    @property
    def chars_left(self) -> int:
        """The number of characters of the hits that are not shown."""
        return self.chars - sum(len(excerpt.text) for excerpt in self.excerpts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpter:
    """A maker of excerpts.

    Attributes:
        pairs: The cross-reader, which scores the sentences.
        chars: The largest number of characters of all places and texts together, as they are
            printed. An excerpt that is longer by itself is cut. Sentences that score low are
            shown only if this is more than `EXCERPT_CHARS`.
        context: The number of lines of the document to show before and after each excerpt.
        shorten: A function that returns a short name of a path.
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
            query: The query: a question or some words.
            hits: The hits, best first.
            documents: The documents of the hits, by id. One that was removed meanwhile may be
                missing; its excerpts have no lines and no context.
        """

        def make_excerpt(item: PrunedHit) -> Excerpt:
            document = documents.get(item.hit.chunk.document_id)
            return self._make_excerpt(_drop_headings(item), document)

        def measure(hit: Hit, spans: Collection[Span]) -> int:
            return _measure(make_excerpt(keep_parts(hit, spans)))

        pruner = EvidencePruner(
            pairs=self.pairs,
            limit=self.chars,
            share=LEAST_SHARE if self.chars <= EXCERPT_CHARS else 0.0,
            measure=measure,
            most_read=max(_FEWEST_READ, self.chars // _CHARS_PER_READ),
        )
        pruned = pruner.excerpt(Question(query), hits)
        return Excerpts(
            query=query,
            excerpts=tuple(_cut(make_excerpt(item), self.chars) for item in pruned),
            hits=len(hits),
            chars=sum(len(hit.chunk.text) for hit in hits),
        )

    def _make_excerpt(self, item: PrunedHit, document: Document | None) -> Excerpt:
        """Return the excerpt of a pruned hit, with lines and context if the document is known."""
        chunk = item.hit.chunk
        start, end = chunk.span.start + item.spans[0].start, chunk.span.start + item.spans[-1].end
        excerpt = Excerpt(
            hit=item.hit,
            place=chunk.place,
            path=self.shorten(chunk.path),
            start=start,
            end=end,
            text=_cut_fillers(item.text),
        )
        if document is None:
            return excerpt
        if self.context:
            start, end = widen_to_lines(document.text, start, end, self.context)
            text = document.text[start:end].strip("\n")
            excerpt = replace(excerpt, start=start, end=end, text=text)
        return replace(excerpt, place=document.place_at(start), path=self.shorten(document.path))


def choose_hit_count(chars: int | None) -> int:
    """Return the number of hits from which excerpts are chosen, unless a caller names one.

    Args:
        chars: The largest number of characters of all excerpts; `None` for `EXCERPT_CHARS`.
    """
    return EXCERPT_HITS if chars is None or chars <= EXCERPT_CHARS else MORE_HITS


def _drop_headings(item: PrunedHit) -> PrunedHit:
    """Return a pruned hit without headings, because its place names them."""
    headings = {
        (block.start, block.end) for block in list_blocks(item.hit.chunk) if block.kind == "heading"
    }
    spans = tuple(span for span in item.spans if (span.start, span.end) not in headings)
    return replace(item, spans=spans)


def _cut_fillers(text: str) -> str:
    """Return a text with short leaders, and without lines that hold no letter or digit.

    A text of such lines alone is returned unchanged.
    """
    lines = (_LEADERS.sub(f"{CUT} ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if any(map(str.isalnum, line))) or text


def _cut(excerpt: Excerpt, chars: int) -> Excerpt:
    """Return an excerpt, cut if it takes more than `chars` characters as it is printed."""
    over = _measure(excerpt) - chars
    if over <= 0:
        return excerpt
    return replace(excerpt, text=_cut_text(excerpt.text, len(excerpt.text) - over))


def _measure(excerpt: Excerpt) -> int:
    """Return the number of characters of an excerpt as it is printed."""
    return _measure_line(excerpt.at) + len(excerpt.name) + _measure_text(excerpt.text)


def _measure_text(text: str) -> int:
    """Return the number of characters of the lines of a text as they are printed."""
    return sum(map(_measure_line, text.split("\n")))


def _measure_line(text: str) -> int:
    """Return the number of characters of a line as it is printed."""
    return len(text) + MARGIN


def _cut_text(text: str, chars: int) -> str:
    """Return at most `chars` characters of a text, cut at a space, with the mark of a cut."""
    beginning = text[: max(chars - len(CUT), 0)]
    return (beginning.rpartition(" ")[0] or beginning) + CUT
