"""Answering a question by answering the questions that it can be split into."""

from dataclasses import dataclass, replace
from typing import Self

from fathom.agents.decomposer import Decomposer, LocalDecomposer, Manner, bridge, filled
from fathom.agents.reader.base import Reader
from fathom.agents.summarizer import SubAnswer, Summarizer
from fathom.assembly import Assembly
from fathom.question.comparison import comparison
from fathom.retrieval.fusion import ReciprocalRank, fuse_hits
from fathom.retrieval.search import Search
from fathom.runs.concurrency import side_by_side
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.types import Draft, Hit, Query

_MOST = 4
_LISTED = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAnswered:
    """What the sub-answers come to.

    Attributes:
        compared: Whether one answer to a comparison follows from what was found of each side;
            `None` where nothing is compared.
    """

    draft: Draft
    compared: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitter:
    """Splits a question once: what `mao` plans turn by turn, as one executor.

    Attributes:
        rules: Tell whether sub-questions need each other's answers.
        hits: So many are read for a sub-question.
    """

    decomposer: Decomposer
    rules: LocalDecomposer
    search: Search
    reader: Reader
    summarizer: Summarizer
    hits: int

    @classmethod
    def of(cls, assembly: Assembly, search: Search) -> Self:
        """Made of these parts."""
        return cls(
            decomposer=assembly.decomposer,
            rules=assembly.local_decomposer,
            search=search,
            reader=assembly.local_reader,
            summarizer=assembly.summarizer,
            hits=assembly.settings.mao.retrieve,
        )

    async def __call__(self, query: Query, context: RunContext) -> SubAnswered | None:
        """The draft that the sub-answers come to; `None` where there is nothing to split.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        side_by_side = len(self.rules.parts(query.text, "parallel")) > 1
        manner: Manner = "parallel" if side_by_side else "serial"
        asked = await self.decomposer.split(query.text, manner, context)
        if len(asked) < 2:
            return None
        turns = await self._turns(query, asked, manner, context)
        found = [SubAnswer(question=turn.question, draft=turn.draft) for turn in turns]
        hits = fuse_hits(
            [turn.hits for turn in turns], [1.0] * len(turns), ReciprocalRank(0), "split"
        )
        draft = await self.summarizer.summarize(query.text, manner, found, hits, context)
        if manner == "serial" or comparison(query.text, _MOST) is None:
            return SubAnswered(draft=draft)
        one = bool(draft.short_answer) and _LISTED not in draft.short_answer
        return SubAnswered(draft=draft, compared=one)

    async def _turns(
        self, query: Query, asked: tuple[str, ...], manner: Manner, context: RunContext
    ) -> list["_Turn"]:
        if manner == "parallel":
            jobs = (self._turn(query, text, n, context) for n, text in enumerate(asked, start=1))
            return await side_by_side(jobs)
        turns: list[_Turn] = []
        for number, text in enumerate(asked, start=1):
            earlier = [(turn.question, turn.answer) for turn in turns]
            turns.append(await self._turn(query, filled(text, earlier), number, context))
        return turns

    async def _turn(self, query: Query, text: str, number: int, context: RunContext) -> "_Turn":
        with context.step(f"turn {number}", agent="decomposer") as here:
            try:
                hits = await self.search(replace(query, text=text), k=self.hits, context=here)
            except BudgetRefused:
                hits = ()
            draft = await self.reader.read(text, hits, here)
            here.done(outputs={"question": text, "answer": draft.short_answer})
        return _Turn(question=text, hits=hits, draft=draft)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    question: str
    hits: tuple[Hit, ...]
    draft: Draft

    @property
    def answer(self) -> str:
        """What later questions get for it."""
        return bridge(self.question, self.draft, self.hits)
