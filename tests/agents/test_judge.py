import asyncio

import pytest
from tests.llm.making import Scripted, said
from tests.making import run_of

from fathom.agents.content import ContentTerms
from fathom.agents.judge import Judge, LanguageJudge, LocalJudge
from fathom.errors import ModelUnavailable
from fathom.llm.base import Completion
from fathom.llm.faults import ModelFault
from fathom.llm.role import RoleModel
from fathom.models.hashing import HashingEmbedder
from fathom.usage import Budget, Usage

QUOTE = "A mooring permit costs 40 crowns a year."
LOCAL = LocalJudge(embedder=HashingEmbedder(256), terms=ContentTerms())


def judged(judge: Judge, *claims: str, budget: Budget | None = None) -> tuple[float, ...]:
    with run_of(budget) as run:
        return asyncio.run(judge.support([(claim, QUOTE) for claim in claims], run))


def test_the_same_words_are_full_support_and_none_is_none() -> None:
    same, other, nothing = judged(LOCAL, QUOTE, "Zebras graze quietly.", "?")
    assert same == 1.0
    assert other < 0.2
    assert nothing < 0.3
    assert judged(LOCAL) == ()


@pytest.mark.parametrize("claim", ["A mooring permit costs 50 crowns a year.", "40,5 crowns"])
def test_a_number_that_the_quote_does_not_hold_has_no_support(claim: str) -> None:
    assert judged(LOCAL, claim) == (0.0,)


def asked(*outcomes: Completion | Exception, budget: Budget | None = None) -> tuple[float, ...]:
    judge = LanguageJudge(model=RoleModel(chat=Scripted(*outcomes)), local=LOCAL)
    return judged(judge, QUOTE, "It costs 50.", budget=budget)


def test_the_model_decides_but_cannot_give_support_to_a_false_number() -> None:
    assert asked(said('{"support": [0.7, 1.0]}')) == (0.7, 0.0)


@pytest.mark.parametrize(
    "outcomes",
    [
        (said('{"support": [0.7]}'),),
        (said('{"support": [7, 1]}'), said("no")),
        (ModelFault("down", Usage(llm_calls=1), retriable=False),),
    ],
)
def test_without_a_usable_word_the_local_mind_decides(
    outcomes: tuple[Completion | Exception, ...],
) -> None:
    assert asked(*outcomes) == judged(LOCAL, QUOTE, "It costs 50.")


def test_no_budget_no_question() -> None:
    assert asked(ModelUnavailable("asked"), budget=Budget(calls=0))[1] == 0.0
