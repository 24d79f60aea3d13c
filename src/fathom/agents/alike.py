"""Whether two short answers to a question say the same, and groups of those that do."""

from collections.abc import Sequence

from fathom.agents.amount import amount_of
from fathom.agents.kinds import kind_of
from fathom.agents.wording import folded, same

_OVERLAP = 0.6


def alike(question: str, one: str, other: str) -> bool:
    """Whether both say the same.

    They do if one holds the other; if a date or number was asked for and theirs are equal; or if
    most of their words are the same, with the same digits.
    """
    if not one or not other:
        return False
    if same(one, other):
        return True
    if kind_of(question) in {"time", "number"}:
        first, second = amount_of(one), amount_of(other)
        return first is not None and first == second
    return _overlap(folded(one).split(), folded(other).split())


def groups(question: str, answers: Sequence[str]) -> list[list[int]]:
    """Places of answers that say the same; in the order of the first of each, empty ones left out.

    An answer joins the first group that holds one alike.
    """
    found: list[list[int]] = []
    for place, answer in enumerate(answers):
        home = (each for each in found if any(alike(question, answer, answers[at]) for at in each))
        if answer:
            own = next(home, None)
            own.append(place) if own is not None else found.append([place])
    return found


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    first, second = set(one), set(other)
    if {w for w in first if not w.isalpha()} != {w for w in second if not w.isalpha()}:
        return False
    return len(first & second) >= _OVERLAP * max(len(first), len(second))
