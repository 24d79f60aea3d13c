import asyncio

import pytest

from fathom.agents.judge import Judge, LLMJudge, LocalJudge
from fathom.errors import ModelUnavailable
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.models.reading import Reading
from fathom.testing.doubles import (
    OVERLAP,
    ScriptedChat,
    ScriptedCrossReader,
    completion,
    reading,
    run_context,
)
from fathom.types import Chunk
from fathom.usage import Budget, Usage

QUOTE = "A mooring permit costs 40 crowns a year."
LOCAL = LocalJudge(pairs=OVERLAP)


def judge_claims(judge: Judge, *claims: str, budget: Budget | None = None) -> tuple[float, ...]:
    with run_context(budget) as context:
        return asyncio.run(judge.score_support([(claim, QUOTE) for claim in claims], context))


def test_the_pair_reader_decides() -> None:
    def script(claim: str, chunk: Chunk) -> Reading:
        assert chunk.text == QUOTE
        return reading(chunk, supported=0.7 if "fee" in claim else 0.1)

    judge = LocalJudge(pairs=ScriptedCrossReader(script))
    assert judge_claims(judge, "The fee is 40 crowns.", "Zebras graze quietly.") == (0.7, 0.1)
    assert judge_claims(judge) == ()


@pytest.mark.parametrize("claim", [QUOTE, "a mooring permit costs 40 crowns", "  40\n crowns!"])
def test_a_claim_contained_in_the_quote_has_full_support(claim: str) -> None:
    nobody = ScriptedCrossReader(lambda _, chunk: reading(chunk))
    assert judge_claims(LocalJudge(pairs=nobody), claim) == (1.0,)


@pytest.mark.parametrize("claim", ["?", "", "🙂", "rowns a"])
def test_empty_claims_and_parts_of_words_are_not_contained(claim: str) -> None:
    nobody = ScriptedCrossReader(lambda _, chunk: reading(chunk))
    assert judge_claims(LocalJudge(pairs=nobody), claim) == (0.0,)


@pytest.mark.parametrize(
    "claim",
    [
        "A mooring permit costs 50 crowns a year.",
        "40,5 crowns",
        "A mooring permit costs 40 crowns a year, see http://permits.example/?fee",
    ],
)
def test_a_number_or_address_missing_from_the_quote_has_no_support(claim: str) -> None:
    assert judge_claims(LOCAL, claim) == (0.0,)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The forms are at https://permits.example/a.", "Forms: https://permits.example/a (PDF)"),
        ("The forms (www.permits.example/a/) are free.", "See www.permits.example/a/, all free."),
    ],
)
def test_the_punctuation_after_an_address_does_not_count(claim: str, quote: str) -> None:
    judge = LocalJudge(pairs=ScriptedCrossReader(lambda _, chunk: reading(chunk, supported=0.9)))
    assert judge.score_pairs([(claim, quote)]) == (0.9,)
    assert judge.score_pairs([(claim.replace("/a", "/b"), quote)]) == (0.0,)


def ask_model(*outcomes: Completion | Exception, budget: Budget | None = None) -> tuple[float, ...]:
    judge = LLMJudge(model=RoleModel(chat=ScriptedChat(*outcomes)), local=LOCAL)
    return judge_claims(judge, QUOTE, "It costs 50.", budget=budget)


def test_the_model_decides_but_cannot_support_a_false_number() -> None:
    assert ask_model(completion('{"support": [0.7, 1.0]}')) == (0.7, 0.0)


@pytest.mark.parametrize(
    "outcomes",
    [
        (completion('{"support": [0.7]}'),),
        (completion('{"support": [7, 1]}'), completion("no")),
        (ModelFault("down", Usage(llm_calls=1), retriable=False),),
    ],
)
def test_without_a_usable_reply_the_local_judge_decides(
    outcomes: tuple[Completion | Exception, ...],
) -> None:
    assert ask_model(*outcomes) == judge_claims(LOCAL, QUOTE, "It costs 50.")


def test_without_budget_no_model_is_asked() -> None:
    assert ask_model(ModelUnavailable("asked"), budget=Budget(calls=0))[1] == 0.0
