import asyncio

from pydantic import BaseModel
from tests.llm.making import HELLO, Scripted, said
from tests.making import context_of

from fathom.agents.word import Word, word_of
from fathom.llm.base import Completion
from fathom.llm.faults import ModelFault
from fathom.llm.role import RoleModel
from fathom.usage import Budget, Usage


class Number(BaseModel):
    number: int


def heard(*outcomes: Completion | Exception, budget: Budget | None = None) -> Word[Number]:
    with context_of(budget) as context:
        return asyncio.run(word_of(RoleModel(chat=Scripted(*outcomes)), Number, HELLO, context))


def test_a_reply_is_a_value_and_a_repair_is_told() -> None:
    assert heard(said('{"number": 4}')).value == Number(number=4)
    repaired = heard(said("?"), said('{"number": 4}'))
    assert (repaired.value, repaired.reason) == (Number(number=4), "after one repair")


def test_no_reply_is_a_word_without_value_that_says_why() -> None:
    down = heard(ModelFault("down", Usage(llm_calls=1), retriable=False))
    assert (down.value, down.reason) == (None, "down")
    assert down.usage is not None
    assert down.usage.llm_calls == 1
    assert "budget" in heard(budget=Budget(calls=0)).reason
