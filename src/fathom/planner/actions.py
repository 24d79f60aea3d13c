"""What a planner may choose on the way to an answer, and in which order.

A first look has been taken and read when the first choice is made. An executor looks or reads
further, and a draft comes of it; then the planner chooses again. The executors of MAO-ARAG
(arXiv 2508.01005, section 3.1) and ours:

| paper | action |
|---|---|
| QR (rewrite), then R | `expand`: a search with the question widened by what was found |
| R | the first look; `deeper` reads more of what it found, `bridge` follows its anchors |
| QDS, QDP (split) | `split`: serially or in parallel, as the question's clauses tell |
| DS (select) | not a choice: the cross-reader ranks whatever is read |
| AG (answer) | not a choice: every executor ends in a draft |
| - | `debate`: one agent a document, where answers conflict |
| - | `model`: a language model reads what was found |
| - | `stop` shows the draft, `abstain` shows none |
"""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

Action = Literal["stop", "abstain", "deeper", "expand", "bridge", "split", "debate", "model"]

ACTIONS: tuple[Action, ...] = get_args(Action)
"""In the order in which `legal` gives them; a learned policy's outputs are places in it."""
ENDING: frozenset[Action] = frozenset({"stop", "abstain"})
MOST = 3
"""So many executors work on a question at most."""


def legal(tried: Sequence[Action], *, has_model: bool, most: int = MOST) -> tuple[Action, ...]:
    """What may come next, in the order of `ACTIONS`: each executor once, and an end at any time.

    Args:
        tried: The executors that have worked, in their order.
        has_model: Whether there is a language model to read.
        most: So many executors at most.

    Returns:
        Nothing where an end has been chosen already.
    """
    if ENDING.intersection(tried):
        return ()
    full = len(tried) >= most
    return tuple(
        action
        for action in ACTIONS
        if action in ENDING
        or not (full or action in tried or (action == "model" and not has_model))
    )


def is_legal(sequence: Sequence[str], *, has_model: bool, most: int = MOST) -> bool:
    """Whether each of these actions may follow those before it."""
    chosen: list[Action] = []
    for name in sequence:
        found = [each for each in legal(chosen, has_model=has_model, most=most) if each == name]
        if not found:
            return False
        chosen += found
    return True


def executions(*, has_model: bool, most: int = MOST) -> Iterator[tuple[Action, ...]]:
    """Every legal sequence of executors, the empty one first, each after its own beginning."""
    waiting: list[tuple[Action, ...]] = [()]
    while waiting:
        tried = waiting.pop(0)
        yield tried
        following = legal(tried, has_model=has_model, most=most)
        waiting += [(*tried, action) for action in following if action not in ENDING]
