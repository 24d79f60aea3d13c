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


def test_the_model_is_asked_only_if_there_is_one() -> None:
    assert "model" in list_legal_actions((), has_model=True)
    assert "model" not in list_legal_actions((), has_model=False)


def test_the_order_is_that_of_all_actions() -> None:
    places = [ACTIONS.index(action) for action in list_legal_actions(("bridge",), has_model=True)]
    assert all(place < other for place, other in pairwise(places))


def test_each_legal_sequence_comes_once_and_after_its_prefix() -> None:
    sequences = list(iterate_sequences(has_model=False, most=2))
    assert len(sequences) == len(set(sequences)) == 1 + 5 + 5 * 4
    assert sequences[0] == ()
    assert all(
        sequences.index(sequence[:-1]) < sequences.index(sequence) for sequence in sequences[1:]
    )
    assert all(is_legal_sequence((*sequence, "stop"), has_model=False) for sequence in sequences)


def test_an_illegal_sequence_is_recognised() -> None:
    assert is_legal_sequence(("bridge", "abstain"), has_model=False)
    assert not is_legal_sequence(("bridge", "bridge"), has_model=False)
    assert not is_legal_sequence(("stop", "bridge"), has_model=False)
    assert not is_legal_sequence(("model", "stop"), has_model=False)
    assert not is_legal_sequence(("dance",), has_model=False)
