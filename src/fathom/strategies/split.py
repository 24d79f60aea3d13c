"""The executor `split`: answer a question by answering its sub-questions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fathom.agents.decomposer import Decomposer, LocalDecomposer, Manner, fill_slots, find_bridge
from fathom.agents.reader.base import Reader
from fathom.agents.reader.local import LocalReader
from fathom.agents.summarizer import SubAnswer, Summarizer
from fathom.question.question import Question
from fathom.registry import DECOMPOSER, SUMMARIZER
from fathom.retrieval.fusion import ReciprocalRank, fuse_hits
from fathom.retrieval.search import Search
from fathom.runs.concurrency import gather_all
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.settings.mao import MaoSettings
from fathom.types import Draft, Filter, Hit, Query

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly

_ANSWER_SEPARATOR = "; "
"""The separator of several answers in a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitDraft:
    """The draft that the sub-answers lead to.

    Attributes:
        compared: Whether one answer to a comparison follows from the findings on each side; `None`
            where nothing is compared.
        last: The last question of a chain, which the draft answers; `None` without a chain.
        hits: The hits of that question.
    """

    draft: Draft
    compared: bool | None = None
    last: Question | None = None
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitter:
    """The executor that splits a question once, as `mao` plans it turn by turn.

    Attributes:
        rules: The rules that tell whether sub-questions need each other's answers.
        hits: The number of hits to read for a sub-question.
    """

    decomposer: Decomposer
    rules: LocalDecomposer
    search: Search
    reader: Reader
    summarizer: Summarizer
    hits: int

    @classmethod
    def of(cls, assembly: "Assembly", search: Search) -> Self:
        """Build the splitter from the assembly, with this search."""
        return cls(
            decomposer=assembly.agent(DECOMPOSER),
            rules=LocalDecomposer.of(assembly),
            search=search,
            reader=LocalReader.of(assembly),
            summarizer=assembly.agent(SUMMARIZER),
            hits=assembly.settings.get_section(MaoSettings).retrieve,
        )

    async def __call__(
        self, question: Question, filters: tuple[Filter, ...], context: RunContext
    ) -> SplitDraft | None:
        """Return the draft that the sub-answers lead to; `None` where the question cannot be split.

        Raises:
            BudgetRefused: If no time was left for it.
        """
        is_parallel = len(self.rules.split_by_rules(question, "parallel")) > 1
        manner: Manner = "parallel" if is_parallel else "serial"
        questions = await self.decomposer.split(question, manner, context)
        if len(questions) < 2:
            return None
        turns = await self._take_turns(questions, filters, manner, context)
        sub_answers = [SubAnswer(question=turn.question, draft=turn.draft) for turn in turns]
        # The hits of all turns, as the summary may cite any of them.
        hits = fuse_hits(
            [turn.hits for turn in turns], [1.0] * len(turns), ReciprocalRank(0), "split"
        )
        draft = await self.summarizer.summarize(question, manner, sub_answers, hits, context)
        if manner == "serial":
            return SplitDraft(draft=draft, last=turns[-1].question, hits=turns[-1].hits)
        if question.comparison is None:
            return SplitDraft(draft=draft)
        # A list means that the sides were found but not compared.
        has_one_answer = bool(draft.short_answer) and _ANSWER_SEPARATOR not in draft.short_answer
        return SplitDraft(draft=draft, compared=has_one_answer)

    async def _take_turns(
        self,
        questions: tuple[Question, ...],
        filters: tuple[Filter, ...],
        manner: Manner,
        context: RunContext,
    ) -> list["_Turn"]:
        """Return a turn for each sub-question; serial ones get the answers before them."""
        if manner == "parallel":
            jobs = (
                self._take_turn(question, filters, n, context)
                for n, question in enumerate(questions, start=1)
            )
            return await gather_all(jobs)
        turns: list[_Turn] = []
        for number, question in enumerate(questions, start=1):
            earlier = [(turn.question, turn.answer) for turn in turns]
            whole = fill_slots(question, earlier)
            turns.append(await self._take_turn(whole, filters, number, context))
        return turns

    async def _take_turn(
        self, question: Question, filters: tuple[Filter, ...], number: int, context: RunContext
    ) -> "_Turn":
        """Search and read for one sub-question, as one step of the run."""
        with context.step(f"turn {number}", agent="decomposer") as step:
            try:
                query = Query(text=question.text, filters=filters)
                hits = await self.search(query, k=self.hits, context=step)
            except BudgetRefused:
                # A refused search leaves this turn empty; the others still count.
                hits = ()
            draft = await self.reader.read(question, hits, step)
            step.set_outcome(
                outputs={
                    "question": question.text,
                    "answer": draft.short_answer,
                    "confidence": draft.confidence,
                }
            )
        return _Turn(question=question, hits=hits, draft=draft)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A sub-question with its hits and its draft."""

    question: Question
    hits: tuple[Hit, ...]
    draft: Draft

    @property
    def answer(self) -> str:
        """The answer that later questions get in place of a slot."""
        return find_bridge(self.question, self.draft, self.hits)
