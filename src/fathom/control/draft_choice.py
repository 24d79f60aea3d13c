"""Which of two drafts is kept: numbers in, verdict out."""

from fathom.types import Draft


def is_better(new: Draft, old: Draft) -> bool:
    """Whether a later draft takes the place of the one so far: it has evidence, and is surer."""
    return bool(new.evidence) and new.confidence > old.confidence
