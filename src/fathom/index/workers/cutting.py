"""Cut a document in a process that may be spared: it is ended where that takes too long."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from fathom.documents.base import ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.types import Chunk, Document

CUT_SECONDS, CHARS_A_SECOND = 30.0, 50_000
"""So long a document may take to be cut, and a second more for so many characters: ten times what
the slowest one takes."""
TOO_LONG = (
    f"took longer to cut than its length allows: {CUT_SECONDS:.0f} s, and 1 s for each "
    f"{CHARS_A_SECOND:,} characters"
)


def cut_document(chunker: Chunker, document: Document) -> tuple[Chunk, ...]:
    """Cut a document; whatever goes wrong is its own fault.

    Raises:
        ParseRefusal: If it cannot be cut.
        FathomError: If the chunker cannot work.
    """
    try:
        return chunker.split(document)
    except FathomError:
        raise
    except Exception as error:  # whatever a document causes is its outcome
        reason = f"cannot be cut: {type(error).__name__}: {' '.join(str(error).split())}"[:300]
        raise ParseRefusal("failed", reason) from error


@contextmanager
def end_if_late(characters: int) -> Iterator[None]:
    """End this process by the signal ALRM when a `with` block about a text takes too long.

    A regular expression that never ends runs no Python that could look at a clock.
    """
    signal.setitimer(signal.ITIMER_REAL, CUT_SECONDS + characters / CHARS_A_SECOND)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
