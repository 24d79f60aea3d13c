"""Hits that tests rank."""

from fathom.types import Chunk, Hit, Span


def hit(
    text: str, *, document: str = "d", score: float = 0.5, rank: int = 1, title: str = ""
) -> Hit:
    """A hit of a chunk with this text; `document` may end with `#` and the chunk's ordinal."""
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


def words(text: str) -> frozenset[str]:
    """The words of a text, in small letters."""
    return frozenset(text.lower().split())
