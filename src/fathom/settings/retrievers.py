"""The names of retrievers in settings and flags."""

from typing import Annotated

from pydantic import AfterValidator

from fathom.errors import UsageError
from fathom.extensions import find_extension, list_names
from fathom.registry import RETRIEVERS

BY_EMBEDDER = tuple(name for name, entry in RETRIEVERS.items() if entry.by_embedder)
"""The retrievers whose name may end in `:` and one of `retrieval.embedders` (or `models.embedder`).
`vector:NAME` searches only that vector space, `hybrid:NAME` that space and the words. Without a
name `vector` searches the space of `models.embedder`, and `hybrid` all spaces and the words."""


def split_retriever(name: str) -> tuple[str, str]:
    """Split the name of a retriever into the retriever and its embedder, which may be empty.

    Args:
        name: A name such as `keyword` or `vector:multilingual-e5-small`.

    Raises:
        UsageError: If there is no such retriever.
    """
    kind, _, embedder = name.partition(":")
    if embedder and kind in BY_EMBEDDER:
        return kind, embedder
    # Our own names come first, because looking for an extension reads the entry points.
    if name not in RETRIEVERS and find_extension("retriever", name) is None:
        choices = [*list_names("retriever"), *(f"{kind}:EMBEDDER" for kind in BY_EMBEDDER)]
        raise UsageError(f"retriever {name!r}: choose one of {', '.join(choices)}")
    return name, ""


def _check_name(name: str) -> str:
    """Return the name of a retriever, or raise `ValueError` if there is no such retriever."""
    try:
        split_retriever(name)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return name


RetrieverName = Annotated[str, AfterValidator(_check_name)]
"""The name of one of Fathom's own retrievers, or of an extension's."""
