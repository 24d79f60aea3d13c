"""The actions of `adaptive`'s planner, and their legal order.

The first look, a search with a reading, comes before the first choice. Each executor then searches
or reads further and ends in a draft, and the planner chooses again. The table gives the action for
each executor of MAO-ARAG (arXiv 2508.01005, section 3.1):

| paper | action |
|---|---|
| QR (rewrite), then R | `expand`: a search with the question widened by the hits so far |
| R | the first look; `deeper` reads more of its hits, `bridge` follows its anchors |
| QDS, QDP (split) | `split`: serially or in parallel, as the question's clauses tell |
| DS (select) | none: the cross-reader ranks the hits before every reading |
| AG (answer) | none: every executor ends in a draft |
| - | `debate`: one agent for each document, if answers conflict |
| - | `model`: a language model reads the hits |
| - | `stop` shows the draft, `abstain` shows none |
"""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

Action = Literal["stop", "abstain", "deeper", "expand", "bridge", "split", "debate", "model"]

ACTIONS: tuple[Action, ...] = get_args(Action)
"""All actions, in the order in which they are listed everywhere."""
END_ACTIONS: frozenset[Action] = frozenset({"stop", "abstain"})
"""The actions that end the work on a question."""
MAX_EXECUTORS = 3
"""The largest number of executors that work on a question."""


def parse_action(name: str) -> Action:
    """Return the action of this name, which must be one of `ACTIONS`."""
    return next(action for action in ACTIONS if action == name)


def list_legal_actions(
    tried: Sequence[Action], *, has_model: bool, most: int = MAX_EXECUTORS
) -> tuple[Action, ...]:
    """Return the actions that may come next, in the order of `ACTIONS`.

    Each executor works at most once, and `stop` and `abstain` are always legal.

    Args:
        tried: The actions so far, in order.
        has_model: Whether a language model can read.
        most: The largest number of executors.

    Returns:
        The actions; none after `stop` or `abstain`.
    """
    if END_ACTIONS.intersection(tried):
        return ()
    is_full = len(tried) >= most
    return tuple(
        action
        for action in ACTIONS
        # An end stays legal when no executor is, so that work on a question can always end.
        if action in END_ACTIONS
        or not (is_full or action in tried or (action == "model" and not has_model))
    )


def is_legal_sequence(
    sequence: Sequence[str], *, has_model: bool, most: int = MAX_EXECUTORS
) -> bool:
    """Return whether each of these actions may follow those before it."""
    chosen: list[Action] = []
    for name in sequence:
        matches = [
            action
            for action in list_legal_actions(chosen, has_model=has_model, most=most)
            if action == name
        ]
        if not matches:
            return False
        chosen += matches
    return True


def iterate_sequences(
    *, has_model: bool, most: int = MAX_EXECUTORS
) -> Iterator[tuple[Action, ...]]:
    """Yield every legal sequence of executors, short ones first, from the empty one on.

    Args:
        has_model: Whether a language model can read.
        most: The largest number of executors in a sequence.
    """
    waiting: list[tuple[Action, ...]] = [()]
    while waiting:
        tried = waiting.pop(0)
        yield tried
        following = list_legal_actions(tried, has_model=has_model, most=most)
        waiting += [(*tried, action) for action in following if action not in END_ACTIONS]
