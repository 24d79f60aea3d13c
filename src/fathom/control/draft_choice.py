"""The choice between two drafts, from numbers alone."""

from fathom.types import Draft


def has_conflict(draft: Draft) -> bool:
    """Return whether other documents support another answer, which nothing refutes."""
    return any(not alternative.refuted for alternative in draft.alternatives)


def is_better_draft(new: Draft, old: Draft, *, settles: bool = False) -> bool:
    """Return whether a later draft replaces the draft so far.

    Args:
        new: The later draft.
        old: The draft so far, whose confidence does not take account of what it left open.
        settles: Whether `new` results from hearing all sides of a conflict, from looking up each
            side of a comparison, or from a language model that was asked because the local reader
            was not certain. It replaces the draft then, even if it says that there is no answer.
    """
    return settles or (bool(new.evidence) and new.confidence > old.confidence)
