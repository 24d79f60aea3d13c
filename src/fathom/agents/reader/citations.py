"""Citations of a model's answer: the evidence that its numbers or quotes refer to.

A model names numbered sentences, which are verbatim by construction and cost no tokens, or copies
quotes, which are located in the chunks. Either way the evidence is text of the document: whole
sentences, list items or rows, because a part cut out can change the meaning.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathom.retrieval.pruning import PrunedHit, get_head
from fathom.text.quotable import list_units
from fathom.text.quote_match import find_quote
from fathom.types import Evidence, Hit, Span

_LONGEST_CHUNK = 6_000
"""The number of characters of a chunk that the model is shown at most."""
_FEWEST_WORDS = 4
"""The fewest words of a quote that is looked for in other chunks than the one named."""


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of a model with the evidence that was located.

    Attributes:
        text: The text in the model's words, without marks of its own.
        named: The number of quotes or sentence numbers that the model gave.
        evidence: The evidence found for them, each place once; its support is 0 until it is judged.
    """

    text: str
    named: int
    evidence: tuple[Evidence, ...]


def number_sentences(shown: Sequence[PrunedHit]) -> tuple[list[str], list[Evidence]]:
    """Return the texts of the hits with their sentences numbered from 1, and these sentences."""
    texts: list[str] = []
    places: list[Evidence] = []
    for item in shown:
        head = get_head(item.hit)
        # The title of a web page is shown without a number: it can be read, but not cited.
        lines = [head] if head and item.hit.chunk.source == "web" else []
        for part in list_citable(item):
            places.append(part)
            text = head if part.heading else " ".join(part.quote.split())
            lines.append(f"[{len(places)}] {text}")
        texts.append("\n".join(lines))
    return texts, places


def list_citable(item: PrunedHit) -> tuple[Evidence, ...]:
    """Return the parts of a hit that get a number, in order, with a support of 0.

    The nearest heading above the chunk, or else its title, comes first, then the pruned sentences.
    """
    hit, chunk = item.hit, item.hit.chunk
    heading = next(filter(None, [*reversed(chunk.headings), chunk.title]), "")
    first = [Evidence(hit=hit, span=Span(0, 0), support=0.0, heading=heading)] if heading else []
    kept = [
        Evidence(hit=hit, span=span, support=0.0)
        for span in item.spans
        if span.end <= _LONGEST_CHUNK and span.cut(chunk.text).strip()
    ]
    # A page's title is not part of the recorded text, so no quote of it could be verified.
    return tuple(kept if chunk.source == "web" else [*first, *kept])


_MARK = re.compile(r"(?<!\s)\s*\[\d+\]")


def make_cited_sentence(
    text: str, named: int, evidence: Iterator[Evidence | None]
) -> CitedSentence:
    """Return a sentence without the model's own `[1]` marks, with each place of evidence once."""
    places = {
        (item.hit.chunk.id, item.span, item.heading): item for item in evidence if item is not None
    }
    return CitedSentence(_MARK.sub("", text).strip(), named, tuple(places.values()))


def find_places(text: str, shown: Sequence[PrunedHit]) -> tuple[Evidence, ...]:
    """Return the shown sentences that contain a text word for word, with a support of 0."""
    _, places = number_sentences(shown)
    matches = (find_quote(text, place.quote) for place in places)
    return tuple(
        place for place, match in zip(places, matches, strict=True) if match and match.exact
    )


def locate_quote(quote: str, hits: Sequence[Hit], *, chunk: int) -> Evidence | None:
    """Return the part of the hits that contains a quote; `None` if no hit does.

    The support of the evidence is 0 until a judge has scored it.

    Args:
        quote: The quote as the model copied it.
        hits: The hits as they were numbered for the model, from 1.
        chunk: The number that the model named. If that chunk lacks the quote, a quote of at least
            four words is looked for word for word in all chunks, because models confuse numbers.
    """
    if 1 <= chunk <= len(hits):
        evidence = _locate_in_text(quote, hits[chunk - 1]) or locate_in_heading(
            quote, hits[chunk - 1]
        )
        if evidence is not None:
            return evidence
    # So few words occur in many chunks.
    if len(quote.split()) < _FEWEST_WORDS:
        return None
    others = (_locate_in_text(quote, hit, exact=True) for hit in hits)
    return next((other for other in others if other is not None), None)


def _locate_in_text(quote: str, hit: Hit, *, exact: bool = False) -> Evidence | None:
    """Return the units of a hit that contain a quote; `None` if the hit does not."""
    match = find_quote(quote, hit.chunk.text)
    if match is None or (exact and not match.exact):
        return None
    return Evidence(hit=hit, span=widen_to_units(hit, match.span), support=0.0)


def locate_in_heading(quote: str, hit: Hit) -> Evidence | None:
    """Return the nearest heading above a hit, or its title, that contains a quote."""
    chunk = hit.chunk
    if chunk.source != "corpus":
        return None  # a quote from the web is verified against the recorded text alone
    titles = dict.fromkeys([*reversed(chunk.headings), chunk.title])
    holding = (title for title in titles if (match := find_quote(quote, title)) and match.exact)
    heading = next(holding, None)
    if heading is None:
        return None
    return Evidence(hit=hit, span=Span(0, 0), support=0.0, heading=heading)


def widen_to_units(hit: Hit, span: Span) -> Span:
    """Return a span widened to whole units: sentences, list items or rows.

    A heading is not a unit: the part of the span in a heading is not widened.
    """
    touched = [
        unit.span
        for unit in list_units(hit.chunk)
        if unit.span.start < span.end and span.start < unit.span.end
    ]
    starts, ends = [unit.start for unit in touched], [unit.end for unit in touched]
    return Span(min([span.start, *starts]), max([span.end, *ends]))
