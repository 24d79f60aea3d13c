"""Factories of hits that tests rank."""

from fathom.types import Chunk, Hit, Span


def make_hit(
    text: str, *, document: str = "d", score: float = 0.5, rank: int = 1, title: str = ""
) -> Hit:
    """Return a hit of a chunk with this text; `document` may end with `#` and the chunk's
    ordinal.
    """
    name, _, ordinal = document.partition("#")
    chunk = Chunk(
        id=f"{name}#{ordinal or 0}",
        document_id=name,
        text=text,
        span=Span(0, len(text)),
        ordinal=int(ordinal or 0),
        title=title,
    )
    return Hit(chunk=chunk, score=score, rank=rank, retriever="vector")


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case."""
    return frozenset(text.lower().split())
