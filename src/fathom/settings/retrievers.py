"""The names of retrievers, as settings and flags know them."""

from typing import Annotated

from pydantic import AfterValidator

NAMES = (
    "vector",
    "keyword",
    "hybrid",
    "lead",
    "sentence",
    "vector_feedback",
    "keyword_feedback",
)
LEGS = ("vector", "keyword", "hybrid")
BY_EMBEDDER = ("vector", "hybrid")
"""May be followed by `:` and one of `retrieval.embedders` (or `models.embedder`): `vector:NAME` is
that space alone, `hybrid:NAME` that space and the words. Without it `vector` is the space of
`models.embedder`, and `hybrid` all spaces and the words."""


def split(name: str) -> tuple[str, str]:
    """The retriever, and which embedder it is told to use; empty if none.

    Raises:
        ValueError: If there is no such retriever.
    """
    kind, colon, embedder = name.partition(":")
    if kind not in NAMES or (colon and (kind not in BY_EMBEDDER or not embedder)):
        more = ", ".join(f"{kind}:EMBEDDER" for kind in BY_EMBEDDER)
        raise ValueError(f"retriever {name!r}: choose one of {', '.join(NAMES)}, {more}")
    return kind, embedder


def _named(name: str) -> str:
    split(name)
    return name


def _leg(name: str) -> str:
    if split(name)[0] not in LEGS:
        raise ValueError(f"retriever {name!r}: choose one of {', '.join(LEGS)}")
    return name


Name = Annotated[str, AfterValidator(_named)]
Leg = Annotated[str, AfterValidator(_leg)]
