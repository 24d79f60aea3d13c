"""One record of a corpus file that gives no text, while the others go on."""

from dataclasses import dataclass

from fathom.documents.base import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why one line of a corpus gave no document.

    Attributes:
        line: Line number in the (unpacked) file, from 1.
        outcome: Any but `ok`.
        reason: One line that names what was found.
        record: The line's `_id` where it could be read.
    """

    line: int
    outcome: Outcome
    reason: str
    record: str | None = None
