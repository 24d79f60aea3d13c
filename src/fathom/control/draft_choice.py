"""Which of two drafts is kept: numbers in, verdict out."""

from fathom.types import Draft


def in_conflict(draft: Draft) -> bool:
    """Whether other documents support another answer than a draft gives, and nothing refutes it."""
    return any(not each.refuted for each in draft.alternatives)


def is_better(new: Draft, old: Draft, *, settles: bool = False) -> bool:
    """Whether a later draft takes the place of the one so far.

    Args:
        new: Counts only with evidence.
        old: Whose confidence says nothing of its rivals.
        settles: Whether `new` comes of hearing all sides of a conflict that `old` left open: then
            it counts whatever the confidence, as what one document says is no longer the surest.
    """
    if not new.evidence:
        return False
    return (settles and in_conflict(old)) or new.confidence > old.confidence
