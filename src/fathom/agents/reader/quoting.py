"""Where what a language model quotes stands in the hits that it was shown.

Whatever it copied, the evidence is the document's own text: the sentences, list items or rows that
hold the quote, whole, so that nothing cut off can turn what they say.
"""

from collections.abc import Sequence

from fathom.text.quotable import units
from fathom.text.quote_match import find
from fathom.types import Evidence, Hit, Span

_FEWEST = 4
"""Words of a quote that is looked for in other chunks than the one named."""


def located(quote: str, hits: Sequence[Hit], *, chunk: int) -> Evidence | None:
    """What of the hits holds a quote; `None` where it stands nowhere.

    Its support is 0 until a judge has seen it.

    Args:
        quote: As the model copied it.
        hits: As they were numbered for it, from 1.
        chunk: The one it named. A quote of at least four words that stands word for word in
            another one is found there: numbers are easily confused.
    """
    if 1 <= chunk <= len(hits):
        named = _within(quote, hits[chunk - 1]) or above(quote, hits[chunk - 1])
        if named is not None:
            return named
    if len(quote.split()) < _FEWEST:
        return None
    found = (_within(quote, hit, exact=True) for hit in hits)
    return next((each for each in found if each is not None), None)


def _within(quote: str, hit: Hit, *, exact: bool = False) -> Evidence | None:
    found = find(quote, hit.chunk.text)
    if found is None or (exact and not found.exact):
        return None
    return Evidence(hit=hit, span=whole(hit, found.span), support=0.0)


def above(quote: str, hit: Hit) -> Evidence | None:
    """The nearest heading above a hit, or its title, that holds a quote."""
    chunk = hit.chunk
    if chunk.source != "corpus":
        return None  # of the web nothing is known but its text
    titles = dict.fromkeys([*reversed(chunk.headings), chunk.title])
    held = (each for each in titles if (found := find(quote, each)) and found.exact)
    heading = next(held, None)
    if heading is None:
        return None
    return Evidence(hit=hit, span=Span(0, 0), support=0.0, heading=heading)


def whole(hit: Hit, span: Span) -> Span:
    """From the beginning of the first unit that the span touches to the end of the last one.

    Of a heading, which is none, as much as the span holds.
    """
    held = [
        each.span
        for each in units(hit.chunk)
        if each.span.start < span.end and span.start < each.span.end
    ]
    starts, ends = [each.start for each in held], [each.end for each in held]
    return Span(min([span.start, *starts]), max([span.end, *ends]))
