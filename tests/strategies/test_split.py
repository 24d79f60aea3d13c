import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.strategies.test_mao import CHAIN, FIRST, PAIR, SECOND, KnowingReader, RecordingSearch

from fathom.agents.decomposer import LocalDecomposer
from fathom.agents.summarizer import LocalSummarizer
from fathom.question.question import Question
from fathom.runs.context import DeadlineOver, RunContext
from fathom.strategies.split import SplitDraft, Splitter
from fathom.testing.doubles import run_context
from fathom.types import Draft, Hit


def run_split(question: str, search: RecordingSearch, reader: KnowingReader) -> SplitDraft | None:
    rules = LocalDecomposer()
    parts: dict[str, Any] = {"search": search, "reader": reader, "rules": rules}
    splitter = Splitter(decomposer=rules, summarizer=LocalSummarizer(), hits=5, **parts)
    with run_context() as context:
        return asyncio.run(splitter(Question(question), (), context))


def test_a_chain_asks_for_the_answer_of_its_first_question() -> None:
    search, reader = RecordingSearch(), KnowingReader({FIRST: "Acme", SECOND: "Ada Berg"})
    words = run_split(CHAIN, search, reader)
    assert search.calls == [FIRST, SECOND] == reader.read_for
    assert words is not None
    assert (words.draft.short_answer, words.compared) == ("Ada Berg", None)


def test_a_comparison_asks_for_both_sides_and_compares() -> None:
    search = RecordingSearch()
    reader = KnowingReader({"When was Ana Silva born?": "1901", "When was Nora Berg born?": "1902"})
    words = run_split(PAIR, search, reader)
    assert sorted(search.calls) == sorted(reader.answers)
    assert words is not None
    assert (words.draft.short_answer, words.compared) == ("Ana Silva", True)


def test_incomparable_sides_are_reported_and_decide_nothing() -> None:
    reader = KnowingReader(
        {"When was Ana Silva born?": "in Lisbon", "When was Nora Berg born?": "1902"}
    )
    words = run_split(PAIR, RecordingSearch(), reader)
    assert words is not None
    assert (words.draft.short_answer, words.compared) == ("in Lisbon; 1902", False)


def test_a_question_that_cannot_be_split_costs_nothing() -> None:
    search = RecordingSearch()
    assert run_split("When does the ferry leave?", search, KnowingReader()) is None
    assert search.calls == []


def test_a_search_refused_by_the_budget_leaves_its_question_open() -> None:
    search, reader = RecordingSearch(refuses=SECOND), KnowingReader({FIRST: "Acme"})
    words = run_split(CHAIN, search, reader)
    assert search.calls == [FIRST, SECOND]
    assert words is not None
    assert words.draft == Draft()


class FailingFirstReader(KnowingReader):
    """Takes its time over the second question while the first one fails."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[str] = []

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        if "Silva" in question.text:
            raise DeadlineOver
        await asyncio.sleep(0.01)
        self.ended.append(question.text)
        return Draft()


def test_a_failing_sub_question_leaves_no_other_running() -> None:
    reader = FailingFirstReader()
    with pytest.raises(DeadlineOver):
        run_split(PAIR, RecordingSearch(), reader)
    assert reader.ended == ["When was Nora Berg born?"]
