from itertools import pairwise

from fathom.planner.actions import ACTIONS, ENDING, executions, is_legal, legal


def test_an_end_may_always_be_chosen_and_nothing_after_it() -> None:
    for tried in executions(has_model=True):
        assert set(legal(tried, has_model=True)) >= ENDING
    assert legal(("deeper", "stop"), has_model=True) == ()
    assert legal(("abstain",), has_model=True) == ()


def test_each_executor_works_once_and_three_at_most() -> None:
    assert "deeper" not in legal(("deeper",), has_model=False)
    assert legal(("deeper", "bridge", "split"), has_model=True) == ("stop", "abstain")
    assert legal(("deeper",), has_model=True, most=1) == ("stop", "abstain")


def test_the_model_is_asked_only_where_there_is_one() -> None:
    assert "model" in legal((), has_model=True)
    assert "model" not in legal((), has_model=False)


def test_the_order_is_that_of_all_actions() -> None:
    places = [ACTIONS.index(action) for action in legal(("bridge",), has_model=True)]
    assert all(one < other for one, other in pairwise(places))


def test_every_sequence_of_executors_is_legal_comes_once_and_after_its_beginning() -> None:
    found = list(executions(has_model=False, most=2))
    assert len(found) == len(set(found)) == 1 + 5 + 5 * 4
    assert found[0] == ()
    assert all(found.index(each[:-1]) < found.index(each) for each in found[1:])
    assert all(is_legal((*each, "stop"), has_model=False) for each in found)


def test_an_illegal_sequence_is_told() -> None:
    assert is_legal(("bridge", "abstain"), has_model=False)
    assert not is_legal(("bridge", "bridge"), has_model=False)
    assert not is_legal(("stop", "bridge"), has_model=False)
    assert not is_legal(("model", "stop"), has_model=False)
    assert not is_legal(("dance",), has_model=False)
