"""Records what every sequence of executors comes to on the questions of a data set.

What a planner learns from (`fathom.planner`). A line of the file is one question with all its
outcomes, so a run that was killed goes on after the last whole line.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, Question
from fathom.evaluation.jsonl import add_line, whole_lines
from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Record
from fathom.evaluation.runner import OnProgress, filters_of, setup_of
from fathom.planner.environment import Outcome, RecordedQuestion
from fathom.planner.features import COLUMNS, Observation, features
from fathom.retrieval.base import Retriever
from fathom.runs.concurrency import in_loop
from fathom.types import Hit, Query

if TYPE_CHECKING:
    from fathom.engine import Engine
    from fathom.strategies.outcomes import ActionOutcome

DEPTH = 2
"""So many executors in a row are recorded by default."""
WHAT = "outcomes"


class RememberingRetriever:
    """Asks another retriever each thing once: sequences of one question share many searches.

    May be used from several threads.
    """

    def __init__(self, retriever: Retriever) -> None:
        """Nothing is known yet."""
        self._retriever = retriever
        self._known: dict[tuple[Query, int], list[Hit]] = {}

    @property
    def name(self) -> str:
        """That of the other retriever."""
        return self._retriever.name

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`."""
        if (query, k) not in self._known:
            self._known[query, k] = self._retriever.retrieve(query, k=k)
        return self._known[query, k]

    def forget(self) -> None:
        """Before the next question."""
        self._known.clear()


@dataclass
class OutcomeFile:
    """Recorded questions of any number of data sets, in a file of one JSON object a line.

    Attributes:
        file: Without one they are kept in memory only.
        known: By data set and id of the question.
    """

    file: Path | None = None
    known: dict[tuple[str, str], RecordedQuestion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read what is there.

        Raises:
            UsageError: If a line is no recorded question, or one of another version.
        """
        for number, line in enumerate(whole_lines(self.file), start=1):
            try:
                told = RecordedQuestion.from_json(json.loads(line))
            except (ValueError, TypeError, UsageError) as error:
                raise UsageError(f"{self.file}:{number}: {error}") from None
            self.known[told.dataset, told.question] = told

    def add(self, recorded: RecordedQuestion) -> None:
        """Keep one, also over the death of the process."""
        self.known[recorded.dataset, recorded.question] = recorded
        add_line(self.file, recorded.to_json())

    def all(self) -> list[RecordedQuestion]:
        """Those that are there, in the order in which they were recorded."""
        return list(self.known.values())


def record_outcomes(
    engine: "Engine",
    dataset: Dataset,
    questions: Sequence[Question],
    kept: OutcomeFile,
    *,
    most: int = DEPTH,
    on_progress: OnProgress = lambda _what, _done, _all: None,
) -> list[RecordedQuestion]:
    """Try every legal sequence of executors on questions that have not been tried yet.

    No language model is asked to read; what else the settings give to one, it does.

    Args:
        engine: Its index must hold the corpus of the data set.
        dataset: What the questions are from.
        questions: What to ask; those that cannot be graded are left out.
        kept: What is known already; new ones are added.
        most: So many executors in a row.
        on_progress: Told how many questions are done, after each.

    Returns:
        What is known of `questions`, in their order.

    Raises:
        UsageError: If no question can be graded, or records of another setup are in the way.
    """
    gradable = [each for each in questions if each.answers or not each.answerable]
    if not gradable:
        raise UsageError(f"{dataset.name}: no question has an answer to compare with")
    setup = setup_of(engine, "adaptive")
    found: list[RecordedQuestion] = []
    tree = _tree_of(engine, most)
    for number, question in enumerate(gradable, start=1):
        known = kept.known.get((dataset.name, question.id))
        if known is not None and known.setup != setup:
            raise UsageError(
                f"{dataset.name} {question.id}: recorded with another index, code or settings; "
                "name another file for the records, or remove this one"
            )
        if known is None or max(len(each.tried) for each in known.outcomes) < most:
            known = _recorded(dataset, question, tree(question), setup)
            kept.add(known)
        found.append(known)
        on_progress(f"{dataset.name} {WHAT}", number, len(gradable))
    return found


def _tree_of(engine: "Engine", most: int) -> "Callable[[Question], list[ActionOutcome]]":
    """Gives all outcomes of a question."""
    from fathom.strategies.adaptive import Adaptive
    from fathom.strategies.outcomes import outcomes

    parts = engine.assembly
    parts.prepare()
    parts.warm_up()
    engine.reader()
    search = parts.search(engine.settings.adaptive.retriever)
    searched = RememberingRetriever(search.retriever())
    remembering = replace(search, retriever=lambda: searched)
    strategy = replace(Adaptive.over(remembering, parts), model_reader=None)

    async def every(question: Question) -> "list[ActionOutcome]":
        searched.forget()
        query = Query(text=question.text, filters=filters_of(question))
        found = outcomes(strategy, query, engine.executor, most=most)
        return [each async for each in found]

    return lambda question: in_loop(every(question))


def _recorded(
    dataset: Dataset, question: Question, tree: "Sequence[ActionOutcome]", setup: str
) -> RecordedQuestion:
    return RecordedQuestion(
        dataset=dataset.name,
        question=question.id,
        answerable=question.answerable,
        outcomes=tuple(_outcome(dataset, question, each) for each in tree),
        setup=setup,
    )


def _outcome(dataset: Dataset, question: Question, came: "ActionOutcome") -> Outcome:
    record = Record(
        strategy="adaptive",
        dataset=dataset.name,
        question=question.id,
        text=question.text,
        gold=question.answers,
        wrong=question.wrong,
        answerable=question.answerable,
        status=came.answer.status,
        answer=came.answer.answer,
        short_answer=came.answer.short_answer,
        usage={},
        seconds=0.0,
    )
    values = np.round(features(came.observation), 6).tolist()
    return Outcome(
        tried=came.tried,
        features=dict(zip(COLUMNS, values, strict=True)),
        f1=round(SCORES["F1"](record) or 0.0, 6),
        wrong=SCORES["CRAG-truthfulness"](record) == -1,
        answered=record.answered,
        tokens=came.usage.tokens,
        retrievals=came.usage.retrievals,
        waits=_waits(came.observation),
        seconds=round(came.usage.seconds, 4),
    )


def _waits(seen: Observation) -> int:
    """A parallel split waits once, a serial one for each sub-question."""
    asked = seen.situation
    if "split" not in seen.tried:
        return 0
    return 1 if asked.parallel > 1 else int(asked.serial) if asked.serial > 1 else 0
