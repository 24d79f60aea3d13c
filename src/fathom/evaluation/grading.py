"""Grades the records of a strategy, keeps each grade, and makes measures of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

from fathom.errors import UsageError
from fathom.evaluation.jsonl import add_line, whole_lines
from fathom.evaluation.judges import (
    JUDGES,
    SIMILARITY,
    AnswerJudge,
    Grade,
    LLMAnswerJudge,
    NoGrade,
    SimilarityJudge,
    applies,
    grading_prompts,
    settled,
)
from fathom.evaluation.measures import bounds
from fathom.evaluation.records import Group, Record
from fathom.evaluation.rows import Row
from fathom.evaluation.runner import OnProgress, file_name
from fathom.evaluation.statistics import bca_interval
from fathom.jsonable import canonical, digest
from fathom.llm.call import RoleModel
from fathom.runs.concurrency import in_loop
from fathom.runs.context import run_alone
from fathom.usage import Budget

if TYPE_CHECKING:
    from fathom.engine import Engine

PREFIX = "judge-"
"""Before the name of a judge it is the name of a measure."""
NO_GRADE = f"{PREFIX}failed"
JUDGED = (*(PREFIX + name for name in JUDGES), NO_GRADE)
"""The measures that judges give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge made of one answer.

    Attributes:
        key: Hash of the judge and of all that it saw: another answer, another key.
        usage: What it cost; by rule nothing. It is no cost of the strategy.
    """

    dataset: str
    system: str
    question: str
    judge: str
    key: str
    outcome: Grade | NoGrade
    usage: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """From 0 to 1; 0 where the judge came to no grade."""
        return self.outcome.score if isinstance(self.outcome, Grade) else 0.0

    @classmethod
    def from_json(cls, row: object) -> Self:
        """The judgement of a line.

        Raises:
            TypeError: If it is none.
            KeyError: Likewise.
        """
        if not isinstance(row, Mapping):
            raise TypeError("not an object")
        told = row["outcome"]
        kind: type[Grade | NoGrade] = NoGrade if "fault" in told else Grade
        return cls(**{**row, "outcome": kind(**told)})


class Judgements:
    """The judgements of one strategy on one data set, in a file of one JSON object a line.

    Of two lines with the same key the later one counts. What came to no grade is not known: the
    next run asks again.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Read what is there; without a file they are kept in memory only.

        Raises:
            UsageError: If a line is no judgement.
        """
        self._file = file
        self.known: dict[str, Judgement] = {}
        for number, line in enumerate(whole_lines(file), start=1):
            try:
                judgement = Judgement.from_json(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise UsageError(f"{file}:{number}: not a judgement: {error}") from None
            if isinstance(judgement.outcome, Grade):
                self.known[judgement.key] = judgement

    def add(self, judgement: Judgement) -> None:
        """Keep a judgement, also over the death of the process."""
        add_line(self._file, asdict(judgement))


def grade_all(
    records: Sequence[Record],
    judge: AnswerJudge,
    kept: Judgements,
    *,
    budget: Budget | None = None,
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Judgement]:
    """Grade what has not been graded yet, of all records that the judge can say something of.

    Args:
        records: Of one strategy on one data set.
        judge: Whom to ask.
        kept: What is known already; new ones are added.
        budget: What one grade may spend.
        on_question: Told the number of records done, after each.
    """
    found = []
    for number, record in enumerate(records, start=1):
        if applies(judge.name, record):
            key = _key(judge, record)
            if key not in kept.known:
                kept.known[key] = _judged(judge, record, key, budget or Budget())
                kept.add(kept.known[key])
            found.append(kept.known[key])
        on_question(number)
    return found


def _judged(judge: AnswerJudge, record: Record, key: str, budget: Budget) -> Judgement:
    made = Judgement(
        dataset=record.dataset,
        system=record.system,
        question=record.question,
        judge=judge.name,
        key=key,
        outcome=settled(judge.name, record) or Grade(score=0.0),
    )
    if settled(judge.name, record):
        return made
    with run_alone(record.text, what="judge", budget=budget) as run:
        outcome = in_loop(judge.grade(record, run))
        usage: Any = replace(run.ledger.usage, seconds=0.0)  # of a clock, so no two are the same
    return replace(made, outcome=outcome, usage=asdict(usage))


def _key(judge: AnswerJudge, record: Record) -> str:
    cited = [each.quote for each in record.citations]
    seen = [record.text, record.status, record.long, record.said, record.gold, cited]
    return digest(canonical([judge.name, judge.pin, record.question, record.answerable, seen]))[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Which judges are asked.

    Attributes:
        names: Of judges.
        model: `provider:model` of those that need one; by default that of the role.
        labels: A file of labels to hold the judges against, beside the gold answers.
        folder: Where grades are kept, in `<data set>/<file of the records>.judged.jsonl`.
    """

    names: Sequence[str] = ()
    model: str | None = None
    labels: Path | None = None
    folder: Path | None = None
    on_progress: OnProgress = lambda _what, _done, _all: None

    def check(self, strategies: Sequence[str]) -> None:
        """See to it that the judges are known and have something to judge.

        Raises:
            UsageError: If not.
        """
        if not self.names:
            if self.model or self.labels:
                raise UsageError("no judge is asked: add --judge NAME")
            return
        for name in self.names:
            if name not in JUDGES:
                raise UsageError(f"judge {name!r}: choose one of {', '.join(JUDGES)}")
        if not strategies:
            raise UsageError("judges grade the answers of strategies: add --strategy NAME")

    def judges(self, engine: "Engine") -> list[AnswerJudge]:
        """The judges, with the models of this engine.

        Raises:
            UsageError: If one needs a language model and none is named, or a prompt cannot be read.
        """
        prompts = grading_prompts(engine.settings)
        return [
            SimilarityJudge(embedder=engine.embedder)
            if name == SIMILARITY
            else LLMAnswerJudge(name=name, model=self._model(engine, name), prompt=prompts[name])
            for name in self.names
        ]

    def _model(self, engine: "Engine", judge: str) -> RoleModel:
        named = self.model or engine.settings.llm.model
        found = None if self.model else engine.assembly.models.of("judge")
        if found is None and not named:
            raise UsageError(f"judge {judge} needs a language model: add --judge-model NAME")
        return found or engine.assembly.models.called(named)

    def graded(
        self, judges: Sequence[AnswerJudge], records: Group, *, budget: Budget
    ) -> list[Judgement]:
        """The grades of all judges for the answers of one strategy to one data set.

        Args:
            judges: As from `judges`.
            records: Of the strategy.
            budget: What one grade may spend.
        """
        if not judges:
            return []
        first = records[0]
        name = f"{file_name(first.strategy, first.varied)}.judged.jsonl"
        kept = Judgements(None if self.folder is None else self.folder / first.dataset / name)
        found: list[Judgement] = []
        for judge in judges:
            what = f"{first.dataset} {first.system} {judge.name}"
            told = partial(self._counted, what, len(records))
            found += grade_all(records, judge, kept, budget=budget, on_question=told)
        return found

    def _counted(self, what: str, total: int, done: int) -> None:
        self.on_progress(what, done, total)


def faults_told(judgements: Sequence[Judgement]) -> Iterator[str]:
    """A line for each judge that gave no grade to some answers of a system."""
    asked: dict[tuple[str, str, str], list[Judgement]] = {}
    for each in judgements:
        asked.setdefault((each.dataset, each.system, each.judge), []).append(each)
    for (dataset, system, judge), own in asked.items():
        faults = [each for each in own if isinstance(each.outcome, NoGrade)]
        if faults and isinstance(why := faults[0].outcome, NoGrade):
            yield (
                f"{dataset} {system}: {judge} gave no grade to {len(faults)} of {len(own)} "
                f"answers, which count 0; the first, {faults[0].question}: {why.reason}"
            )


def with_grades(row: Row, judgements: Sequence[Judgement]) -> Row:
    """The row with a measure for each judge, and the share of answers that got no grade."""
    own = [each for each in judgements if (each.dataset, each.system) == (row.dataset, row.system)]
    scores: dict[str, list[float]] = {}
    for each in own:
        scores.setdefault(PREFIX + each.judge, []).append(each.score)
    if not scores:
        return row
    means = {name: round(fmean(found), 6) for name, found in scores.items()}
    means[NO_GRADE] = round(fmean(isinstance(each.outcome, NoGrade) for each in own), 6)
    around = {name: bca_interval(found, bounds=bounds(name)) for name, found in scores.items()}
    return replace(row, measures=row.measures | means, intervals=row.intervals | around)
