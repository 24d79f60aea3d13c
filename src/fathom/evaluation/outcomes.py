"""The recording of the outcomes of all sequences of a planner's choices for a data set.

A planner learns from these records (`fathom.planner`). Each line of the file has one question with
all its outcomes, so a killed run continues after the last complete line.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, DatasetQuestion
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Record
from fathom.evaluation.runner import OnProgress, build_filters, hash_setup
from fathom.jsonable import dump_canonical, hash_text
from fathom.planner.environment import RecordedOutcome, RecordedQuestion
from fathom.planner.process import find_process
from fathom.question.question import Question
from fathom.retrieval.base import Retriever
from fathom.runs.concurrency import run_in_loop
from fathom.settings.adaptive import AdaptiveSettings
from fathom.settings.mao import MaoSettings
from fathom.types import Hit, Query

if TYPE_CHECKING:
    from fathom.engine import Engine
    from fathom.strategies.action_outcomes import ActionOutcome
    from fathom.strategies.adaptive import Adaptive
    from fathom.strategies.mao import Mao

DEPTH = 2
"""The default length of the longest recorded sequence of executors."""
PROGRESS_NAME = "outcomes"
"""The name of this work in progress messages."""


class CachingRetriever:
    """A retriever that passes each query to another retriever only once.

    The sequences of one question have many searches in common. The class is safe for threads.
    """

    def __init__(self, retriever: Retriever) -> None:
        """Start with an empty cache over a retriever."""
        self._retriever = retriever
        self._hits: dict[tuple[Query, int], list[Hit]] = {}

    @property
    def name(self) -> str:
        """The name of the other retriever."""
        return self._retriever.name

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return the other retriever's hits, from the cache if possible."""
        if (query, k) not in self._hits:
            self._hits[query, k] = self._retriever.retrieve(query, k=k)
        return self._hits[query, k]

    def forget(self) -> None:
        """Empty the cache."""
        self._hits.clear()


@dataclass
class OutcomeFile:
    """The recorded questions of data sets, in a file with one JSON object in each line.

    Attributes:
        file: The file; `None` to keep the questions in memory only.
        strategy: The strategy whose choices are recorded.
        by_question: The recorded questions by data set and question id.
    """

    file: Path | None = None
    strategy: str = "adaptive"
    by_question: dict[tuple[str, str], RecordedQuestion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Load the file.

        Raises:
            UsageError: If a line is not a recorded question, or is of another version or strategy,
                or the strategy's planner cannot be trained.
        """
        find_process(self.strategy)
        for number, line in enumerate(read_whole_lines(self.file), start=1):
            try:
                recorded = RecordedQuestion.from_json(json.loads(line))
            except (ValueError, TypeError, UsageError) as error:
                raise UsageError(f"{self.file}:{number}: {error}") from None
            if recorded.strategy != self.strategy:
                raise UsageError(
                    f"{self.file}:{number}: an outcome of {recorded.strategy}, not of "
                    f"{self.strategy}; name another file for the records"
                )
            self.by_question[recorded.dataset, recorded.question] = recorded

    def add(self, recorded: RecordedQuestion) -> None:
        """Append a question to the file at once."""
        self.by_question[recorded.dataset, recorded.question] = recorded
        append_line(self.file, recorded.to_json())

    def list_questions(self) -> list[RecordedQuestion]:
        """Return all questions in the order in which they were recorded."""
        return list(self.by_question.values())


def record_outcomes(
    engine: "Engine",
    dataset: Dataset,
    questions: Sequence[DatasetQuestion],
    file: OutcomeFile,
    *,
    most: int = DEPTH,
    on_progress: OnProgress = lambda _what, _done, _all: None,
) -> list[RecordedQuestion]:
    """Record the outcomes of all legal sequences of a planner's choices.

    Questions that are in the file are not asked again, unless their text, documents or gold answers
    have changed. Questions that cannot be graded are left out. The reader is always local; other
    roles use a language model if the settings give them one.

    Args:
        engine: The engine, whose index holds the corpus of the data set.
        dataset: The data set.
        questions: The questions of the data set to record.
        file: The file, to which new records are added.
        most: The length of the longest sequence of executors of `adaptive`.
        on_progress: Called after each question with a name, the number done, and the number of all.

    Returns:
        The recorded questions, in the order of `questions`.

    Raises:
        UsageError: If no question can be graded, or the file has records of another setup.
    """
    gradable = [item for item in questions if item.answers or not item.answerable]
    if not gradable:
        raise UsageError(f"{dataset.name}: no question has an answer to compare with")
    setup = hash_setup(engine, file.strategy)
    collected: list[RecordedQuestion] = []
    groups = group_questions(dataset, gradable)
    list_outcomes = _make_outcome_lister(engine, file.strategy, most)
    for number, question in enumerate(gradable, start=1):
        record = file.by_question.get((dataset.name, question.id))
        if record is not None and record.setup != setup:
            raise UsageError(
                f"{dataset.name} {question.id}: recorded with another index, code or settings; "
                "name another file for the records, or remove this one"
            )
        asked = _hash_question(question)
        if record is None or record.asked != asked or _is_too_shallow(record, most):
            record = RecordedQuestion(
                dataset=dataset.name,
                question=question.id,
                answerable=question.answerable,
                outcomes=tuple(
                    _grade_outcome(dataset, question, file.strategy, outcome)
                    for outcome in list_outcomes(question)
                ),
                setup=setup,
                strategy=file.strategy,
                group=groups.get(question.id, ""),
                asked=asked,
            )
            file.add(record)
        collected.append(record)
        on_progress(f"{dataset.name} {PROGRESS_NAME}", number, len(gradable))
    return collected


def group_questions(dataset: Dataset, questions: Sequence[DatasetQuestion]) -> dict[str, str]:
    """Group the questions that share relevant documents, directly or through other questions.

    Returns:
        The name of the group by question id, without questions that have no relevant documents.
    """
    groups: dict[str, str] = {}
    names: dict[str, str] = {}
    for question in questions:
        documents = sorted({*dataset.qrels.get(question.id, {}), *question.documents})
        joined = {groups[document] for document in documents if document in groups}
        name = min(joined, default=question.id)
        groups = {document: name if old in joined else old for document, old in groups.items()}
        names = {other: name if old in joined else old for other, old in names.items()}
        groups.update(dict.fromkeys(documents, name))
        if documents:
            names[question.id] = name
    return names


def _hash_question(question: DatasetQuestion) -> str:
    """Return a hash of everything in a question that determines its answers and their grades."""
    asked = (question.text, question.documents, question.without)
    graded = (question.answerable, question.answers, question.wrong)
    return hash_text(dump_canonical([*asked, *graded]))[:16]


def _is_too_shallow(record: RecordedQuestion, most: int) -> bool:
    """Return whether longer sequences of executors are wanted than were recorded."""
    deepest = max(len(outcome.tried) for outcome in record.outcomes)
    return record.strategy == "adaptive" and deepest < most


def _make_outcome_lister(
    engine: "Engine", name: str, most: int
) -> "Callable[[DatasetQuestion], list[ActionOutcome]]":
    """Return the function that lists all outcomes of a question."""
    from fathom.strategies.action_outcomes import iterate_outcomes

    # Models load first, so that the seconds of the first question do not include loading.
    engine.assembly.prepare()
    engine.models.warm_up()
    engine.reader()
    strategy, cache = _open_strategy(engine, name)

    async def list_outcomes(question: DatasetQuestion) -> "list[ActionOutcome]":
        cache.forget()
        filters = build_filters(question)
        outcomes = iterate_outcomes(
            strategy, Question(question.text), engine.executor, filters=filters, most=most
        )
        return [outcome async for outcome in outcomes]

    return lambda question: run_in_loop(list_outcomes(question))


def _open_strategy(engine: "Engine", name: str) -> "tuple[Adaptive | Mao, CachingRetriever]":
    """Return the strategy with a local reader, and the cache of its searches."""
    from fathom.agents.reader.local import LocalReader
    from fathom.strategies.adaptive import Adaptive
    from fathom.strategies.mao import Mao

    assembly, settings = engine.assembly, engine.settings
    is_mao = name == Mao.name
    search = assembly.search(
        settings.get_section(MaoSettings).retriever
        if is_mao
        else settings.get_section(AdaptiveSettings).retriever
    )
    cache = CachingRetriever(search.open_retriever())
    search = replace(search, open_retriever=lambda: cache)
    # A language model would be asked again for each sequence.
    if is_mao:
        mao = Mao.with_search(search, assembly)
        return replace(mao, reader=LocalReader.of(assembly)), cache
    return replace(Adaptive.with_search(search, assembly), model_reader=None), cache


def _grade_outcome(
    dataset: Dataset, question: DatasetQuestion, strategy: str, outcome: "ActionOutcome"
) -> RecordedOutcome:
    """Grade an outcome; without an answer its F1 is 0."""
    features = {name: round(value, 6) for name, value in outcome.features.items()}
    spent = RecordedOutcome(
        tried=outcome.tried,
        features=features,
        f1=0.0,
        wrong=False,
        answered=False,
        tokens=outcome.usage.tokens,
        retrievals=outcome.usage.retrievals,
        waits=outcome.waits,
        seconds=round(outcome.usage.seconds, 4),
    )
    if outcome.answer is None:
        return spent
    record = Record(
        strategy=strategy,
        dataset=dataset.name,
        question=question.id,
        text=question.text,
        gold=question.answers,
        wrong=question.wrong,
        answerable=question.answerable,
        status=outcome.answer.status,
        answer=outcome.answer.answer,
        short_answer=outcome.answer.short_answer,
        usage={},
        seconds=0.0,
    )
    return replace(
        spent,
        f1=round(SCORES["F1"](record) or 0.0, 6),
        wrong=SCORES["CRAG-truthfulness"](record) == -1,
        answered=record.is_answered,
    )
