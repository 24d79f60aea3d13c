"""The choice between two drafts, from their numbers alone."""

from fathom.types import Draft


def has_conflict(draft: Draft) -> bool:
    """Return whether the evidence gives another answer that is not refuted."""
    return any(not alternative.refuted for alternative in draft.alternatives)


def is_better_draft(new: Draft, old: Draft, *, settles: bool = False) -> bool:
    """Return whether a later draft replaces the draft so far.

    Args:
        new: The later draft.
        old: The draft so far. Its confidence takes no account of what it left open, such as the
            other side of a conflict.
        settles: Whether `new` results from hearing all sides of a conflict, from looking up each
            side of a comparison, or from a language model that was asked because the local reader
            was not certain. Then it replaces `old` whatever its confidence, even if it says that
            there is no answer. Otherwise it needs evidence and a higher confidence.
    """
    return settles or (bool(new.evidence) and new.confidence > old.confidence)
