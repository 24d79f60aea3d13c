"""What every judge keeps, whichever mind it has."""

import asyncio

import pytest
from tests.llm.making import Scripted, said
from tests.making import FEES, context_of
from tests.scripted_pairs import OVERLAP

from fathom.agents.judge import Judge, LLMJudge, LocalJudge
from fathom.llm.call import RoleModel

PAIRS = [(FEES, FEES), ("It costs 41 crowns.", FEES), ("🙂", "\x00"), ("x" * 5_000, "y")]


@pytest.fixture(params=["local", "model", "broken model"])
def judge(request: pytest.FixtureRequest) -> Judge:
    local = LocalJudge(pairs=OVERLAP)
    if request.param == "local":
        return local
    words = '{"support": [1, 1, 1, 1]}' if request.param == "model" else "?"
    return LLMJudge(model=RoleModel(chat=Scripted(said(words), said(words))), local=local)


def test_one_number_a_pair_from_0_to_1_and_false_numbers_have_none(judge: Judge) -> None:
    with context_of() as context:
        scores = asyncio.run(judge.support(PAIRS, context))
    assert len(scores) == len(PAIRS)
    assert all(0 <= score <= 1 for score in scores)
    assert scores[0] > 0.9
    assert scores[1] == 0.0


def test_nothing_to_judge_is_nothing(judge: Judge) -> None:
    with context_of() as context:
        assert asyncio.run(judge.support([], context)) == ()
