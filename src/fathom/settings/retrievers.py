"""The names of retrievers, as settings and flags know them."""

from typing import Annotated

from pydantic import AfterValidator

from fathom.errors import UsageError
from fathom.extensions import RETRIEVERS, find, names

BY_EMBEDDER = ("vector", "hybrid")
"""May be followed by `:` and one of `retrieval.embedders` (or `models.embedder`): `vector:NAME` is
that space alone, `hybrid:NAME` that space and the words. Without it `vector` is the space of
`models.embedder`, and `hybrid` all spaces and the words."""


def split(name: str) -> tuple[str, str]:
    """The retriever, and which embedder it is told to use; empty if none.

    Raises:
        UsageError: If there is no such retriever.
    """
    kind, _, embedder = name.partition(":")
    if embedder and kind in BY_EMBEDDER:
        return kind, embedder
    if name not in RETRIEVERS and find("retriever", name) is None:
        known = [*names("retriever"), *(f"{kind}:EMBEDDER" for kind in BY_EMBEDDER)]
        raise UsageError(f"retriever {name!r}: choose one of {', '.join(known)}")
    return name, ""


def _named(name: str) -> str:
    try:
        split(name)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return name


Name = Annotated[str, AfterValidator(_named)]
"""Fathom's own, or what a package adds; see `extensions`."""
