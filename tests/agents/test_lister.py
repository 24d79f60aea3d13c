import asyncio

from tests.making import QUESTION, hit_of, run_of

from fathom.agents.lister import Lister
from fathom.tracing.recorder import Recorder
from fathom.types import Draft


def test_the_hits_are_noted_in_their_order_and_nothing_is_said() -> None:
    with run_of() as run:
        hits = [hit_of(document=name, rank=n) for n, name in enumerate("ba", start=1)]
        assert asyncio.run(Lister().read(QUESTION, hits, run)) == Draft()
        assert isinstance(run.scope, Recorder)
        (step,) = run.scope.seal(None).steps
    assert (step.agent, step.inputs["chunks"]) == ("reader", ["b#0", "a#0"])
