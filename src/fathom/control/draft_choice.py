"""Which of two drafts is kept: numbers in, verdict out."""

from fathom.types import Draft


def in_conflict(draft: Draft) -> bool:
    """Whether other documents support another answer than a draft gives, and nothing refutes it."""
    return any(not each.refuted for each in draft.alternatives)


def is_better(new: Draft, old: Draft, *, settles: bool = False) -> bool:
    """Whether a later draft takes the place of the one so far.

    Args:
        new: The later one.
        old: Whose confidence knows nothing of what it left open.
        settles: Whether `new` comes of hearing all sides of a conflict, of looking up each side of
            a comparison, or of a language model that was asked as the local reader was not certain:
            then it counts, also where it says that there is no answer.
    """
    return settles or (bool(new.evidence) and new.confidence > old.confidence)
