import asyncio
from dataclasses import replace

from tests.making import context_of, hit_of

from fathom.agents.content import ContentTerms
from fathom.retrieval.narrow import Narrow
from fathom.retrieval.select import Selection
from fathom.settings.anchor import AnchorSettings
from fathom.types import Hit

QUESTION = "What does a mooring permit cost?"


def hit(document: str, text: str, rank: int, score: float) -> Hit:
    return replace(hit_of(text, document=document, rank=rank), score=score)


TWINS = [hit(name, "A mooring permit costs 40 crowns.", 1 + n, 3.0) for n, name in enumerate("ab")]
OTHER = hit("c", "Dogs need a leash on the pier.", 3, 2.9)


def documents(*hits: Hit, keep: int = 1, diversity: float = 0.0, tokens: int = 100) -> list[str]:
    narrow = Narrow(
        selection=Selection(
            terms=ContentTerms(), settings=AnchorSettings(fine=keep, title_bonus=0.0)
        ),
        count=lambda text: len(text.split()),
    )
    with context_of() as context:
        found = asyncio.run(
            narrow(
                QUESTION, hits, listing=False, diversity=diversity, tokens=tokens, context=context
            )
        )
    return [each.chunk.document_id for each in found]


def test_the_best_are_kept_in_their_order() -> None:
    assert documents(*TWINS, OTHER, keep=3) == ["a", "b", "c"]
    assert documents() == []


def test_what_repeats_gives_way() -> None:
    # Twice as many as are kept pass MMR: the twin of the first would be the second.
    four = [*TWINS, OTHER, hit("d", "Boats must be insured.", 4, 2.8)]
    assert documents(*four, keep=2, diversity=0.0) == ["a", "b"]
    five = [*TWINS, *(hit(n, f"Rule {n} of pier {n}.", 3, 2.9) for n in "cde")]
    assert "b" not in documents(*five, keep=2, diversity=0.6)


def test_the_context_has_a_size() -> None:
    # Title and text: 1 + 6 and 1 + 7 words.
    assert documents(*TWINS, OTHER, keep=3, tokens=14) == ["a", "b"]
    assert documents(*TWINS, OTHER, keep=3, tokens=3) == []
