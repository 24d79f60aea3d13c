"""Reading hits best first, as far as it takes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fathom.models.reading import Reading, ReadingSession
from fathom.types import Hit

_AT_LEAST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHit:
    """A hit that was read.

    Attributes:
        trust: What the first stage's order says of it, in (0, 1]; scores are multiplied by it.
    """

    hit: Hit
    reading: Reading
    trust: float


Best = Callable[[ReadHit], float]
"""The highest score that anything in a hit has, at most its trust."""


def trust(place: int, fall: float) -> float:
    """How far the hit at `place`, from 1, is trusted: 1 / place ** `fall`."""
    return float(place**-fall)


def look(
    session: ReadingSession, hits: Sequence[Hit], best: Best, *, fall: float
) -> tuple[ReadHit, ...]:
    """Read the hits in order until the rest cannot change what is best; two at least.

    The rule: no score of a hit exceeds its trust, and trust falls with the place. So when the
    best score so far is at least the trust of the next hit, none of the others can hold anything
    better. The second hit is read in any case: it may say otherwise.
    """
    readings = _in_turn(session, hits)
    seen: list[ReadHit] = []
    highest = 0.0
    for place, hit in enumerate(hits, start=1):
        trusted = trust(place, fall)
        if place > _AT_LEAST and highest >= trusted:
            break
        seen.append(ReadHit(hit=hit, reading=next(readings), trust=trusted))
        highest = max(highest, best(seen[-1]))
    return tuple(seen)


def _in_turn(session: ReadingSession, hits: Sequence[Hit]) -> Iterator[Reading]:
    """What each hit says; those that are read in any case are read at once, which is faster."""
    yield from session.read([hit.chunk for hit in hits[:_AT_LEAST]])
    for hit in hits[_AT_LEAST:]:
        yield from session.read([hit.chunk])
