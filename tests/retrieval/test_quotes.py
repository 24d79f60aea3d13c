import asyncio
import threading

from fathom.retrieval.quotes import Quoted, Quotes
from fathom.testing.doubles import run_context
from fathom.tracing.recorder import Recorder
from fathom.tracing.replay import Recorded
from fathom.types import Block, Document, Span

DOCUMENT = Document(
    id="d1",
    text="One. Two.",
    path="a.pdf",
    title="A",
    blocks=(Block(kind="paragraph", span=Span(0, 9), headings=("A", "Part I", "Fees"), page=3),),
)
PLACES = [("d1", Span(5, 9)), ("gone", Span(0, 1))]
FOUND = (
    Quoted(text="Two.", path="a.pdf", title="A", section="Part I > Fees", page=3, line=1),
    None,
)


def test_what_stands_at_a_place_also_from_the_record() -> None:
    with run_context() as context:
        quotes = Quotes({"d1": DOCUMENT}.get)
        assert asyncio.run(quotes(PLACES, context)) == FOUND
        assert asyncio.run(quotes([], context)) == ()
        assert isinstance(context.scope, Recorder)
        trace = context.scope.seal(None)
    assert len(trace.events) == 1
    with run_context(events=Recorded(trace)) as again:
        nothing: dict[str, Document] = {}
        assert asyncio.run(Quotes(nothing.get)(PLACES, again)) == FOUND


def test_an_index_that_does_not_answer_in_time_verifies_nothing() -> None:
    busy = threading.Event()

    def wait(_: str) -> None:
        busy.wait()

    with run_context(seconds=0.02) as context:
        assert asyncio.run(Quotes(wait)(PLACES, context)) == (None, None)
        busy.set()
