"""The executor `split` of `adaptive`: answers a question by answering its sub-questions."""

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
"""The separator that the summarizer puts between several answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitDraft:
    """The draft that is composed of the answers to the sub-questions.

    Attributes:
        draft: The draft.
        compared: Whether a comparison ends in a single answer, rather than in a list of what was
            found on each side; `None` if the question compares nothing.
        last: The last sub-question of a chain, whose answer is that of the draft; `None` for a
            parallel split.
        hits: The hits of `last`; empty without it.
    """

    draft: Draft
    compared: bool | None = None
    last: Question | None = None
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitter:
    """The executor that splits a question and searches and reads once for each sub-question.

    The strategy `mao` does the same, but plans the work on each sub-question.

    Attributes:
        decomposer: The role that splits the question.
        rules: The clause rules, which decide whether the split is parallel or serial.
        search: The search for the sub-questions.
        reader: The reader of the sub-questions; `of` takes the local one.
        summarizer: The role that composes the draft.
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
        """Build the splitter from the assembly, with a search for the sub-questions."""
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
        """Answer a question by its sub-questions.

        The split is parallel if the rules can split the question so, else serial.

        Args:
            question: The question.
            filters: The conditions on the documents that may be used.
            context: The run that pays for the work and records it.

        Returns:
            The draft; `None` if the question cannot be split.

        Raises:
            BudgetRefused: If no time is left for a step.
        """
        is_parallel = len(self.rules.split_by_rules(question, "parallel")) > 1
        manner: Manner = "parallel" if is_parallel else "serial"
        questions = await self.decomposer.split(question, manner, context)
        if len(questions) < 2:
            return None
        turns = await self._take_turns(questions, filters, manner, context)
        sub_answers = [SubAnswer(question=turn.question, draft=turn.draft) for turn in turns]
        # The summary may cite hits of every turn.
        hits = fuse_hits(
            [turn.hits for turn in turns], [1.0] * len(turns), ReciprocalRank(0), "split"
        )
        draft = await self.summarizer.summarize(question, manner, sub_answers, hits, context)
        if manner == "serial":
            return SplitDraft(draft=draft, last=turns[-1].question, hits=turns[-1].hits)
        if question.comparison is None:
            return SplitDraft(draft=draft)
        # Several answers mean that the sides were found but not compared.
        has_one_answer = bool(draft.short_answer) and _ANSWER_SEPARATOR not in draft.short_answer
        return SplitDraft(draft=draft, compared=has_one_answer)

    async def _take_turns(
        self,
        questions: tuple[Question, ...],
        filters: tuple[Filter, ...],
        manner: Manner,
        context: RunContext,
    ) -> list["_Turn"]:
        """Return a turn for each sub-question, in their order.

        Parallel ones run at the same time; a serial one gets the earlier answers in its slots.
        """
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
                # A refused search leaves this turn without hits; the other turns still count.
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
        """The text for the slot of this turn in later sub-questions; empty if there is none."""
        return find_bridge(self.question, self.draft, self.hits)
