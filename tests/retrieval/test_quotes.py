import asyncio
import threading

from fathom.retrieval.quotes import DocumentQuote, QuoteLookup, QuotePlace
from fathom.runs.recorder import Recorder
from fathom.runs.replay import RecordedEvents
from fathom.testing.doubles import run_context
from fathom.types import Block, Document, Span

DOCUMENT = Document(
    id="d1",
    text="One. Two.",
    path="a.pdf",
    title="A",
    blocks=(Block(kind="paragraph", span=Span(0, 9), headings=("A", "Part I", "Fees"), page=3),),
)
PLACES = [QuotePlace("d1", Span(5, 9)), QuotePlace("gone", Span(0, 1))]
QUOTE_PLACES = (
    DocumentQuote(text="Two.", path="a.pdf", title="A", section="Part I > Fees", page=3, line=1),
    None,
)


def test_a_quote_is_looked_up_in_the_index_or_the_record() -> None:
    with run_context() as context:
        quotes = QuoteLookup({"d1": DOCUMENT}.get)
        assert asyncio.run(quotes(PLACES, context)) == QUOTE_PLACES
        assert asyncio.run(quotes([], context)) == ()
        assert isinstance(context.scope, Recorder)
        trace = context.scope.seal(None)
    assert len(trace.events) == 1
    with run_context(events=RecordedEvents(trace)) as again:
        nothing: dict[str, Document] = {}
        assert asyncio.run(QuoteLookup(nothing.get)(PLACES, again)) == QUOTE_PLACES


def test_an_index_that_does_not_answer_in_time_verifies_nothing() -> None:
    busy = threading.Event()

    def wait(_: str) -> None:
        busy.wait()

    with run_context(seconds=0.02) as context:
        assert asyncio.run(QuoteLookup(wait)(PLACES, context)) == (None, None)
        busy.set()


def test_a_heading_is_searched_for_above_a_place() -> None:
    text = "Fees\n\nOne.\n\nFees\n\nTwo."
    heads = [Block(kind="heading", span=Span(at, at + 4)) for at in (0, 12)]
    document = Document(id="d2", text=text, path="a.md", title="A", blocks=tuple(heads))
    places = [
        QuotePlace("d2", Span(6, 6), "Fees"),
        QuotePlace("d2", Span(18, 18), "Fees"),
        QuotePlace("d2", Span(18, 18), "Prices"),
    ]
    with run_context() as context:
        first, second, none = asyncio.run(QuoteLookup({"d2": document}.get)(places, context))
    assert first is not None
    assert second is not None
    assert (first.text, first.start, second.start, none) == ("Fees", 0, 12, None)
