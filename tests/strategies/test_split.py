import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.strategies.test_mao import CHAIN, FIRST, PAIR, SECOND, Knows, Looks

from fathom.agents.decomposer import LocalDecomposer
from fathom.agents.summarizer import LocalSummarizer
from fathom.runs.context import DeadlineOver, RunContext
from fathom.strategies.split import SplitDraft, Splitter
from fathom.testing.doubles import run_context
from fathom.types import Draft, Hit, Query


def split(question: str, search: Looks, reader: Knows) -> SplitDraft | None:
    rules = LocalDecomposer()
    parts: dict[str, Any] = {"search": search, "reader": reader, "rules": rules}
    splitter = Splitter(decomposer=rules, summarizer=LocalSummarizer(), hits=5, **parts)
    with run_context() as context:
        return asyncio.run(splitter(Query(text=question), context))


def test_a_chain_asks_what_the_first_answer_leads_to() -> None:
    search, reader = Looks(), Knows({FIRST: "Acme", SECOND: "Ada Berg"})
    words = split(CHAIN, search, reader)
    assert search.asked == [FIRST, SECOND] == reader.read_for
    assert words is not None
    assert (words.draft.short_answer, words.compared) == ("Ada Berg", None)


def test_a_comparison_asks_side_by_side_and_compares() -> None:
    search = Looks()
    reader = Knows({"When was Ana Silva born?": "1901", "When was Nora Berg born?": "1902"})
    words = split(PAIR, search, reader)
    assert sorted(search.asked) == sorted(reader.answers)
    assert words is not None
    assert (words.draft.short_answer, words.compared) == ("Ana Silva", True)


def test_sides_that_cannot_be_compared_are_told_and_decide_nothing() -> None:
    reader = Knows({"When was Ana Silva born?": "in Lisbon", "When was Nora Berg born?": "1902"})
    words = split(PAIR, Looks(), reader)
    assert words is not None
    assert (words.draft.short_answer, words.compared) == ("in Lisbon; 1902", False)


def test_what_cannot_be_split_costs_nothing() -> None:
    search = Looks()
    assert split("When does the ferry leave?", search, Knows()) is None
    assert search.asked == []


def test_a_search_that_the_budget_refuses_leaves_its_question_open() -> None:
    search, reader = Looks(refuses=SECOND), Knows({FIRST: "Acme"})
    words = split(CHAIN, search, reader)
    assert search.asked == [FIRST, SECOND]
    assert words is not None
    assert words.draft == Draft()


class Breaks(Knows):
    """Reads the second question at its leisure, while the first one breaks off."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[str] = []

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        if "Silva" in question:
            raise DeadlineOver
        await asyncio.sleep(0.01)
        self.ended.append(question)
        return Draft()


def test_a_sub_question_that_breaks_off_leaves_none_at_work() -> None:
    reader = Breaks()
    with pytest.raises(DeadlineOver):
        split(PAIR, Looks(), reader)
    assert reader.ended == ["When was Nora Berg born?"]
