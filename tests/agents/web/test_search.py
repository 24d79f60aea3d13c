import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.making import FEES

from fathom.agents.finalizer import Finalizer
from fathom.agents.web.search import WebFailure, WebPage, WebSearch, clean_text, make_hits
from fathom.retrieval.quotes import QuoteLookup
from fathom.runs.ledger import BudgetRefused
from fathom.runs.recorder import Recorder
from fathom.runs.replay import RecordedEvents
from fathom.testing.doubles import run_context
from fathom.types import Draft, Evidence, Hit, Span
from fathom.usage import Budget

PAGE = WebPage(url="https://example.org/fees", title="Fees", text=FEES)


@dataclass
class Engine:
    pages: Sequence[WebPage] = ()
    sleeps: bool = False
    fails: bool = False
    asked: str = ""

    async def search(self, query: str, *, k: int) -> Sequence[WebPage]:
        self.asked = query
        if self.sleeps:
            await asyncio.Event().wait()
        if self.fails:
            raise WebFailure("searxng at http://x said 500; try again later")
        return self.pages


def searching(engine: Engine | None, **more: Any) -> WebSearch:
    def made() -> Engine:
        assert engine is not None, "a replay asked the web"
        return engine

    return WebSearch(open_engine=made, identity={"provider": "searxng"}, **more)


def found(search: WebSearch, question: str = "q?", **more: Any) -> tuple[tuple[Hit, ...], Any]:
    """The hits, and the trace."""
    with run_context(**more) as context:
        hits = asyncio.run(search(question, context))
        assert isinstance(context.scope, Recorder)
        return hits, context.scope.seal(None)


def test_hits_are_marked_and_replayed_without_the_web() -> None:
    hits, trace = found(searching(Engine([PAGE])))
    (hit,) = hits
    assert hit.chunk.source == hit.retriever == "web"
    assert hit.chunk.document_id == "web:https://example.org/fees"
    assert hit.chunk.text == FEES
    assert trace.usage.retrievals == 1
    again, _ = found(searching(None), events=RecordedEvents(trace))
    assert again == hits


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (Engine(fails=True), "searxng at http://x said 500; try again later"),
        (Engine(sleeps=True), "the web search took more than 0.05 s"),
    ],
)
def test_what_fails_gives_nothing_and_says_why(engine: Engine, reason: str) -> None:
    hits, trace = found(searching(engine, seconds=0.05))
    (step,) = trace.steps
    assert (hits, step.verdict, step.reason) == ((), "failed", reason)
    assert found(searching(None), events=RecordedEvents(trace))[0] == ()


def test_the_deadline_of_the_run_comes_first() -> None:
    with run_context(seconds=0.05) as context, pytest.raises(BudgetRefused, match="deadline"):
        asyncio.run(searching(Engine(sleeps=True))("q?", context))


@pytest.mark.parametrize(
    ("budget", "fee"),
    [
        (Budget(retrievals=0), 0.0),
        (Budget(cost_usd=0.001), 0.008),
        (Budget(cost_usd=9.0), None),
    ],
)
def test_what_the_budget_does_not_allow_is_not_asked(budget: Budget, fee: float | None) -> None:
    engine = Engine([PAGE])
    with run_context(budget) as context, pytest.raises(BudgetRefused):
        asyncio.run(searching(engine, fee_usd=fee)("q?", context))
    assert engine.asked == ""


def test_its_price_is_booked() -> None:
    with run_context(Budget(cost_usd=0.01)) as context:
        asyncio.run(searching(Engine([PAGE]), fee_usd=0.008)("q?", context))
        assert context.ledger.usage.cost_usd == 0.008


def test_a_long_question_is_cut() -> None:
    engine = Engine()
    found(searching(engine), "word\n " * 500)
    assert (len(engine.asked), engine.asked[:9]) == (400, "word word")


@pytest.mark.parametrize(
    "page",
    [
        WebPage(url="", title="t", text="x"),
        WebPage(url="javascript:alert(1)", title="t", text="x"),
        WebPage(url="file:///etc/passwd", title="t", text="x"),
        WebPage(url="https://", title="t", text="x"),
        WebPage(url="http://[half", title="t", text="x"),
        WebPage(url="https://a b", title="t", text="x"),
        WebPage(url="https://a/\n", title="t", text="x"),
        WebPage(url="https://a/" + "x" * 3_000, title="t", text="x"),
        WebPage(url="https://a", title="t", text=" <b></b>\u200b "),
    ],
)
def test_what_has_no_address_or_no_text_is_no_hit(page: WebPage) -> None:
    assert make_hits([page, PAGE])[0].chunk.title == "Fees"
    assert len(make_hits([page, PAGE, PAGE])) == 1


def test_texts_are_made_plain_and_bounded() -> None:
    told = clean_text("<strong>40</strong>&nbsp;crowns\u202e &lt;b&gt; a <\n\t year\x00")
    assert told == "40 crowns <b> a < year"
    (hit,) = make_hits([WebPage(url="https://a", title="", text="x " * 9_000)])
    assert (len(hit.chunk.text), hit.chunk.title) == (4_000, "https://a")
    assert hit.chunk.span.cut(hit.chunk.text) == hit.chunk.text


def test_a_quote_from_the_web_is_verified_against_its_record_and_says_so() -> None:
    def lookup(name: str) -> None:
        assert not name.startswith("web:")

    (hit,) = make_hits([PAGE])
    evidence = Evidence(hit=hit, span=Span(0, 40), support=0.9)
    end = Finalizer(quotes=QuoteLookup(lookup), strategy="maf", min_confidence=0.5)
    with run_context() as context:
        draft = Draft(evidence=(evidence,), confidence=0.9)
        answer = asyncio.run(end("q?", draft, phase="web", context=context))
    (citation,) = answer.citations
    assert (answer.status, citation.source, citation.verified) == ("answered", "web", True)
    assert citation.quote == FEES[:40]
