from hypothesis import given
from hypothesis import strategies as st

from fathom.planner.workflows import (
    DEFAULT,
    EXECUTORS,
    FIRST_TURN,
    SUB_TURN,
    is_legal_workflow,
    list_legal_workflows,
)

PLANS = st.lists(st.sampled_from([*EXECUTORS, "AS", "XY", ""]), max_size=6)


def follows_grammar(plan: list[str], *, first: bool) -> bool:
    """Return whether a plan follows the rules of the paper, word for word."""
    if first and plan in (["QDS"], ["QDP"]):
        return True
    allowed = {"QR", "R", "DS"} if first else {"R", "DS"}
    return plan[-1:] == ["AG"] and set(plan[:-1]) <= allowed and len(set(plan)) == len(plan)


def test_there_are_eighteen_workflows_and_five_for_sub_questions() -> None:
    assert (len(FIRST_TURN), len(set(FIRST_TURN))) == (18, 18)
    assert (len(SUB_TURN), len(set(SUB_TURN))) == (5, 5)
    assert set(SUB_TURN) < set(FIRST_TURN)


@given(plan=PLANS, first=st.booleans())
def test_legality_follows_the_rules(plan: list[str], first: bool) -> None:
    assert is_legal_workflow(plan, first=first) == follows_grammar(plan, first=first)


def test_every_listed_workflow_obeys_the_rules_and_the_default_is_always_legal() -> None:
    for first in (True, False):
        assert all(
            follows_grammar(list(workflow), first=first)
            for workflow in list_legal_workflows(first=first)
        )
        assert is_legal_workflow(DEFAULT, first=first)
