"""The number of texts that are embedded at once."""

from fathom.models.base import BULK_MINIMUM


def adapt_size(
    size: int, *, texts: int, took: float, seconds: float, bulk_seconds: float, most: int
) -> int:
    """Return the number of texts for the next step, so that it takes a given time.

    Args:
        size: The number of texts for the last step.
        texts: The number of its texts that had to be embedded, at least 1.
        took: The seconds that it took.
        seconds: The seconds that a step should take.
        bulk_seconds: The most seconds that a step of `BULK_MINIMUM` texts may take.
        most: The largest number of texts.
    """
    rate = texts / max(took, 1e-3)
    # Below `BULK_MINIMUM` texts only one core may work, which makes each step seem too long.
    wanted = max(rate * seconds, min(BULK_MINIMUM, rate * bulk_seconds))
    # The size at most doubles, so that one very fast step does not lead to a very long one.
    return max(1, min(most, 2 * size, int(wanted)))
