import asyncio

from tests.factories import QUESTION, hit_of

from fathom.agents.reader.base import NullReader
from fathom.question.question import Question
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import run_context
from fathom.types import Draft


def test_the_hits_are_listed_in_order_without_an_answer() -> None:
    with run_context() as context:
        hits = [hit_of(document=name, rank=n) for n, name in enumerate("ba", start=1)]
        assert asyncio.run(NullReader().read(Question(QUESTION), hits, context)) == Draft()
        assert isinstance(context.scope, Recorder)
        (step,) = context.scope.seal(None).steps
    assert (step.agent, step.inputs["chunks"]) == ("reader", ["b#0", "a#0"])
