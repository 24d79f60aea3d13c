"""Bridges: names that lead from what a question names to what it does not.

Multi-hop questions ask about something that only another document names. A name that stands in a
good first hit, near the words of the question, but not in the question itself, may be that
something (bridge entity, as in HotpotQA; Yang et al. 2018).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fathom.documents.sentences import split
from fathom.retrieval.names import texts
from fathom.types import Chunk, Hit

Terms = Callable[[str], frozenset[str]]
"""The distinct content words of a text, stemmed."""

_ASIDE = re.compile(r"\s*\([^()]*\)\s*$")
_PLACE = re.compile(r",\s.*$")
_WORD = re.compile(r"\w[\w'\u2019-]*")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A name that may lead on.

    Attributes:
        name: As it stands in the chunk.
        chunk: The best hit that names it.
        strength: The hit's share of the best score, times the share of the question's words that
            stand around the name; in [0, 1].
    """

    name: str
    chunk: Chunk
    strength: float


def bridges(
    question: str, hits: Sequence[Hit], terms: Terms, *, known: Sequence[Bridge] = ()
) -> tuple[Bridge, ...]:
    """The bridges of the hits, the strongest first, ties by alphabet.

    Args:
        question: What is asked.
        hits: First hits, in rank order; scores above 0.
        terms: Content words of a text.
        known: Bridges whose names do not count again.
    """
    asked, wanted = plain(question), terms(_bare(question))
    old = {plain(each.name) for each in known}
    found: dict[str, Bridge] = {}
    top = max((hit.score for hit in hits), default=0.0)
    for hit in hits if wanted and top > 0 else ():
        for name, around in _names_of(hit.chunk):
            key = plain(name)
            if key in old or len(key) < _SHORTEST or key in asked or terms(_bare(name)) <= wanted:
                continue
            share = len(terms(_bare(around)) & wanted) / len(wanted)
            strength = round(hit.score / top * share, 6)
            if key not in found or strength > found[key].strength:
                found[key] = Bridge(name=name, chunk=hit.chunk, strength=strength)
    ordered = sorted(found.values(), key=lambda each: (-each.strength, each.name))
    return tuple(each for each in ordered if each.strength > 0)


def _names_of(chunk: Chunk) -> Iterator[tuple[str, str]]:
    """Every name of a chunk, with the text that stands around it."""
    if chunk.title:
        yield without_aside(chunk.title), chunk.text
    for span in split(chunk.text):
        sentence = span.cut(chunk.text)
        for name in texts(sentence):
            yield name, f"{chunk.title} {sentence}"


def remaining(question: str, chunk: Chunk, terms: Terms) -> str:
    """The content words of the question that the chunk, its title included, does not hold."""
    held = terms(_bare(chunk.context))
    words = (match.group() for match in _WORD.finditer(_bare(question)))
    return " ".join(word for word in words if terms(word) - held)


def titled(chunk: Chunk, name: str) -> bool:
    """Whether the document is called so, with or without what follows in brackets or a comma."""
    title = plain(without_aside(chunk.title))
    return plain(name) in {title, _PLACE.sub("", title)}


def without_aside(title: str) -> str:
    """A title without what stands in brackets at its end."""
    return _ASIDE.sub("", title)


def _bare(text: str) -> str:
    """A text without possessive endings."""
    return _POSSESSIVE.sub("", text)


def plain(text: str) -> str:
    """In small letters, white space made plain."""
    return " ".join(text.casefold().split())
