"""Cutting of documents into chunks, in a process that ends if one takes too long."""

from collections.abc import Iterator
from contextlib import contextmanager

from fathom.documents.base import ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.system import set_alarm
from fathom.types import Chunk, Document

CUT_SECONDS, CHARS_A_SECOND = 30.0, 50_000
"""The time in seconds in which a document must be cut, and the characters that add a second to it.

The slowest document needs a tenth of the limit."""
TOO_LONG = (
    f"took longer to cut than its length allows: {CUT_SECONDS:.0f} s, and 1 s for each "
    f"{CHARS_A_SECOND:,} characters"
)


def cut_document(chunker: Chunker, document: Document) -> tuple[Chunk, ...]:
    """Return the chunks of a document.

    Raises:
        ParseRefusal: If the chunker raises any other error, which then is the document's fault.
        FathomError: If the chunker cannot work at all.
    """
    try:
        return chunker.split(document)
    except FathomError:
        raise
    except Exception as error:  # the other documents must still be ingested
        reason = f"cannot be cut: {type(error).__name__}: {' '.join(str(error).split())}"[:300]
        raise ParseRefusal("failed", reason) from error


@contextmanager
def end_if_late(characters: int) -> Iterator[None]:
    """End this process by the signal ALRM if a `with` block takes too long for a text.

    A signal, because no Python code runs during an endless regular expression.

    Args:
        characters: The length of the text.
    """
    set_alarm(CUT_SECONDS + characters / CHARS_A_SECOND)
    try:
        yield
    finally:
        set_alarm(0)
