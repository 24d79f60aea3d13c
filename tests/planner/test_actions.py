from itertools import pairwise

from fathom.planner.actions import (
    ACTIONS,
    END_ACTIONS,
    is_legal_sequence,
    iterate_sequences,
    list_legal_actions,
)


def test_an_end_may_always_be_chosen_and_nothing_after_it() -> None:
    for tried in iterate_sequences(has_model=True):
        assert set(list_legal_actions(tried, has_model=True)) >= END_ACTIONS
    assert list_legal_actions(("deeper", "stop"), has_model=True) == ()
    assert list_legal_actions(("abstain",), has_model=True) == ()


def test_each_executor_works_once_and_three_at_most() -> None:
    assert "deeper" not in list_legal_actions(("deeper",), has_model=False)
    assert list_legal_actions(("deeper", "bridge", "split"), has_model=True) == ("stop", "abstain")
    assert list_legal_actions(("deeper",), has_model=True, most=1) == ("stop", "abstain")


def test_the_model_is_asked_only_where_there_is_one() -> None:
    assert "model" in list_legal_actions((), has_model=True)
    assert "model" not in list_legal_actions((), has_model=False)


def test_the_order_is_that_of_all_actions() -> None:
    places = [ACTIONS.index(action) for action in list_legal_actions(("bridge",), has_model=True)]
    assert all(one < other for one, other in pairwise(places))


def test_every_sequence_of_executors_is_legal_comes_once_and_after_its_beginning() -> None:
    found = list(iterate_sequences(has_model=False, most=2))
    assert len(found) == len(set(found)) == 1 + 5 + 5 * 4
    assert found[0] == ()
    assert all(found.index(each[:-1]) < found.index(each) for each in found[1:])
    assert all(is_legal_sequence((*each, "stop"), has_model=False) for each in found)


def test_an_illegal_sequence_is_told() -> None:
    assert is_legal_sequence(("bridge", "abstain"), has_model=False)
    assert not is_legal_sequence(("bridge", "bridge"), has_model=False)
    assert not is_legal_sequence(("stop", "bridge"), has_model=False)
    assert not is_legal_sequence(("model", "stop"), has_model=False)
    assert not is_legal_sequence(("dance",), has_model=False)
