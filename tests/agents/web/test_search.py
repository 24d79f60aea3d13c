import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.factories import FEES

from fathom.agents.finalizer import Finalizer
from fathom.agents.web.search import WebFailure, WebPage, WebSearch, clean_text, make_hits
from fathom.question.question import Question
from fathom.retrieval.quotes import QuoteLookup
from fathom.runs.ledger import BudgetRefused
from fathom.runs.recorder import Recorder
from fathom.runs.replay import RecordedEvents
from fathom.testing.doubles import run_context
from fathom.types import Draft, Evidence, Hit, Span
from fathom.usage import Budget

PAGE = WebPage(url="https://example.org/fees", title="Fees", text=FEES)


@dataclass
class ScriptedEngine:
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


def make_search(engine: ScriptedEngine | None, **more: Any) -> WebSearch:
    def make_engine() -> ScriptedEngine:
        assert engine is not None, "a replay asked the web"
        return engine

    return WebSearch(open_engine=make_engine, identity={"provider": "searxng"}, **more)


def search_web(search: WebSearch, question: str = "q?", **more: Any) -> tuple[tuple[Hit, ...], Any]:
    """Return the hits and the trace."""
    with run_context(**more) as context:
        hits = asyncio.run(search(Question(question), context))
        assert isinstance(context.scope, Recorder)
        return hits, context.scope.seal(None)


def test_hits_are_marked_and_replayed_without_the_web() -> None:
    hits, trace = search_web(make_search(ScriptedEngine([PAGE])))
    (hit,) = hits
    assert hit.chunk.source == hit.retriever == "web"
    assert hit.chunk.document_id == "web:https://example.org/fees"
    assert hit.chunk.text == FEES
    assert trace.usage.retrievals == 1
    again, _ = search_web(make_search(None), events=RecordedEvents(trace))
    assert again == hits


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (ScriptedEngine(fails=True), "searxng at http://x said 500; try again later"),
        (ScriptedEngine(sleeps=True), "the web search took more than 0.05 s"),
    ],
)
def test_a_failure_gives_no_hits_and_a_reason(engine: ScriptedEngine, reason: str) -> None:
    hits, trace = search_web(make_search(engine, seconds=0.05))
    (step,) = trace.steps
    assert (hits, step.verdict, step.reason) == ((), "failed", reason)
    assert search_web(make_search(None), events=RecordedEvents(trace))[0] == ()


def test_the_deadline_of_the_run_takes_precedence() -> None:
    with run_context(seconds=0.05) as context, pytest.raises(BudgetRefused, match="deadline"):
        asyncio.run(make_search(ScriptedEngine(sleeps=True))(Question("q?"), context))


@pytest.mark.parametrize(
    ("budget", "fee"),
    [
        (Budget(retrievals=0), 0.0),
        (Budget(cost_usd=0.001), 0.008),
        (Budget(cost_usd=9.0), None),
    ],
)
def test_a_search_beyond_the_budget_is_not_made(budget: Budget, fee: float | None) -> None:
    engine = ScriptedEngine([PAGE])
    with run_context(budget) as context, pytest.raises(BudgetRefused):
        asyncio.run(make_search(engine, fee_usd=fee)(Question("q?"), context))
    assert engine.asked == ""


def test_the_price_of_a_search_is_recorded() -> None:
    with run_context(Budget(cost_usd=0.01)) as context:
        asyncio.run(make_search(ScriptedEngine([PAGE]), fee_usd=0.008)(Question("q?"), context))
        assert context.ledger.usage.cost_usd == 0.008


def test_a_long_question_is_cut() -> None:
    engine = ScriptedEngine()
    search_web(make_search(engine), "word\n " * 500)
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
def test_a_page_without_address_or_text_is_no_hit(page: WebPage) -> None:
    assert make_hits([page, PAGE])[0].chunk.title == "Fees"
    assert len(make_hits([page, PAGE, PAGE])) == 1


def test_texts_are_made_plain_and_bounded() -> None:
    cleaned = clean_text("<strong>40</strong>&nbsp;crowns\u202e &lt;b&gt; a <\n\t year\x00")
    assert cleaned == "40 crowns <b> a < year"
    (hit,) = make_hits([WebPage(url="https://a", title="", text="x " * 9_000)])
    assert (len(hit.chunk.text), hit.chunk.title) == (4_000, "https://a")
    assert hit.chunk.span.cut(hit.chunk.text) == hit.chunk.text


def test_a_quote_from_the_web_is_verified_against_its_record() -> None:
    def look_up(name: str) -> None:
        assert not name.startswith("web:")

    (hit,) = make_hits([PAGE])
    evidence = Evidence(hit=hit, span=Span(0, 40), support=0.9)
    end = Finalizer(quotes=QuoteLookup(look_up), strategy="maf", min_confidence=0.5)
    with run_context() as context:
        draft = Draft(evidence=(evidence,), confidence=0.9)
        answer = asyncio.run(end(Question("q?"), draft, phase="web", context=context))
    (citation,) = answer.citations
    assert (answer.status, citation.source, citation.verified) == ("answered", "web", True)
    assert citation.quote == FEES[:40]
