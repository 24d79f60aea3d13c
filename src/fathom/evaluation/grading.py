"""The grading of a strategy's records by judges; grades are kept in a file, and averaged."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

from fathom.errors import UsageError
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.evaluation.judges import (
    JUDGES,
    SIMILARITY,
    AnswerJudge,
    Grade,
    LLMAnswerJudge,
    NoGrade,
    SimilarityJudge,
    grade_by_rule,
    is_applicable,
    load_grading_prompts,
)
from fathom.evaluation.measures import get_bounds
from fathom.evaluation.records import Group, Record
from fathom.evaluation.rows import SystemScores
from fathom.evaluation.runner import OnProgress, build_file_name
from fathom.evaluation.statistics import bca_interval
from fathom.jsonable import dump_canonical, hash_text
from fathom.llm.call import RoleModel
from fathom.runs.concurrency import run_in_loop
from fathom.runs.context import open_run
from fathom.usage import Budget

if TYPE_CHECKING:
    from fathom.engine import Engine

MEASURE_PREFIX = "judge-"
"""The prefix that turns the name of a judge into the name of its measure."""
NO_GRADE = f"{MEASURE_PREFIX}failed"
JUDGE_MEASURES = (*(MEASURE_PREFIX + name for name in JUDGES), NO_GRADE)
"""The measures of judges, and the share of answers without a grade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The judgement of one judge on one answer.

    Attributes:
        key: The hash of the judge and of everything that it saw.
        outcome: The grade, or the reason why there is none.
        usage: The usage of the judge, which does not count for the strategy; empty for a rule.
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
        """The score from 0 to 1; 0 without a grade."""
        return self.outcome.score if isinstance(self.outcome, Grade) else 0.0

    @classmethod
    def from_json(cls, row: object) -> Self:
        """Parse the judgement of one line.

        Raises:
            TypeError: If the value is not a judgement.
            KeyError: If a key of a judgement is missing.
        """
        if not isinstance(row, Mapping):
            raise TypeError("not an object")
        outcome = row["outcome"]
        kind: type[Grade | NoGrade] = NoGrade if "fault" in outcome else Grade
        return cls(**{**row, "outcome": kind(**outcome)})


class Judgements:
    """The judgements of one strategy on one data set, in a file with one JSON object in each line.

    Of two lines with the same key the later one counts. The next run asks again for the grades that
    are missing.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Load the file; without a file the judgements stay in memory.

        Raises:
            UsageError: If a line is not a judgement.
        """
        self._file = file
        self.by_key: dict[str, Judgement] = {}
        for number, line in enumerate(read_whole_lines(file), start=1):
            try:
                judgement = Judgement.from_json(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise UsageError(f"{file}:{number}: not a judgement: {error}") from None
            # A fault may be temporary, such as an unreachable model.
            if isinstance(judgement.outcome, Grade):
                self.by_key[judgement.key] = judgement

    def add(self, judgement: Judgement) -> None:
        """Append a judgement to the file at once."""
        append_line(self._file, asdict(judgement))


def grade_all(
    records: Sequence[Record],
    judge: AnswerJudge,
    judgements: Judgements,
    *,
    budget: Budget | None = None,
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Judgement]:
    """Return the judgements of all records that a judge can grade; ask only for missing ones.

    Args:
        records: The records.
        judge: The judge.
        judgements: The earlier judgements, to which new ones are added.
        budget: The budget of one grade; by default none.
        on_question: Called after each record with the number of records that are done.
    """
    collected = []
    for number, record in enumerate(records, start=1):
        if is_applicable(judge.name, record):
            key = _compute_key(judge, record)
            if key not in judgements.by_key:
                judgements.by_key[key] = _grade_record(judge, record, key, budget or Budget())
                judgements.add(judgements.by_key[key])
            collected.append(judgements.by_key[key])
        on_question(number)
    return collected


def _grade_record(judge: AnswerJudge, record: Record, key: str, budget: Budget) -> Judgement:
    judgement = Judgement(
        dataset=record.dataset,
        system=record.system,
        question=record.question,
        judge=judge.name,
        key=key,
        outcome=grade_by_rule(judge.name, record) or Grade(score=0.0),
    )
    if grade_by_rule(judge.name, record):
        return judgement
    # In its own run, so that the cost does not count for the strategy.
    with open_run(record.text, what="judge", budget=budget) as run:
        outcome = run_in_loop(judge.grade(record, run))
        usage: Any = replace(run.ledger.usage, seconds=0.0)  # seconds are not reproducible
    return replace(judgement, outcome=outcome, usage=asdict(usage))


def _compute_key(judge: AnswerJudge, record: Record) -> str:
    cited = [citation.quote for citation in record.citations]
    seen = [record.text, record.status, record.plain_text, record.compared_text, record.gold, cited]
    return hash_text(
        dump_canonical([judge.name, judge.pin, record.question, record.answerable, seen])
    )[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The judges of an evaluation, and their options.

    Attributes:
        names: The names of the judges.
        model: The `provider:model` of the judges that need one; by default the model of the role.
        labels: A file of labels with which the judges are compared, besides the gold answers.
        folder: The folder of the grades, in `<data set>/<file of the records>.judged.jsonl`.
        on_progress: Called after each record with a name, the number done, and the number of all.
    """

    names: Sequence[str] = ()
    model: str | None = None
    labels: Path | None = None
    folder: Path | None = None
    on_progress: OnProgress = lambda _what, _done, _all: None

    def check(self, strategies: Sequence[str]) -> None:
        """Check that the judges exist and have answers to grade.

        Raises:
            UsageError: If a judge does not exist, there is no strategy, or options lack a judge.
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

    def create_judges(self, engine: "Engine") -> list[AnswerJudge]:
        """Create the judges with the models of an engine.

        Raises:
            UsageError: If a judge needs a language model and none is named, or a prompt cannot be
                read.
        """
        prompts = load_grading_prompts(engine.settings)
        return [
            SimilarityJudge(embedder=engine.embedder)
            if name == SIMILARITY
            else LLMAnswerJudge(
                name=name, model=self._select_model(engine, name), prompt=prompts[name]
            )
            # Each grade of a judge that is named twice would count twice.
            for name in dict.fromkeys(self.names)
        ]

    def _select_model(self, engine: "Engine", judge: str) -> RoleModel:
        name = self.model or engine.settings.llm.model
        model = None if self.model else engine.models.language_models.get_model("judge")
        if model is None and not name:
            raise UsageError(f"judge {judge} needs a language model: add --judge-model NAME")
        return model or engine.models.language_models.get_by_name(name)

    def grade_records(
        self, judges: Sequence[AnswerJudge], records: Group, *, budget: Budget
    ) -> list[Judgement]:
        """Return the judgements of all judges on the answers of one strategy to one data set."""
        if not judges:
            return []
        first = records[0]
        name = f"{build_file_name(first.strategy, first.varied)}.judged.jsonl"
        judgements = Judgements(None if self.folder is None else self.folder / first.dataset / name)
        collected: list[Judgement] = []
        for judge in judges:
            what = f"{first.dataset} {first.system} {judge.name}"
            on_question = partial(self._report_progress, what, len(records))
            collected += grade_all(
                records, judge, judgements, budget=budget, on_question=on_question
            )
        return collected

    def _report_progress(self, what: str, total: int, done: int) -> None:
        self.on_progress(what, done, total)


def describe_missing_grades(judgements: Sequence[Judgement]) -> Iterator[str]:
    """Yield a line for each judge that gave some answers of a system no grade."""
    groups: dict[tuple[str, str, str], list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault((judgement.dataset, judgement.system, judgement.judge), []).append(
            judgement
        )
    for (dataset, system, judge), group in groups.items():
        faults = [judgement for judgement in group if isinstance(judgement.outcome, NoGrade)]
        if faults and isinstance(fault := faults[0].outcome, NoGrade):
            yield (
                f"{dataset} {system}: {judge} gave no grade to {len(faults)} of {len(group)} "
                f"answers, which count 0; the first, {faults[0].question}: {fault.reason}"
            )


def add_grades(row: SystemScores, judgements: Sequence[Judgement]) -> SystemScores:
    """Return a row with a measure for each judge, and with the share of answers without a grade."""
    matching = [
        judgement
        for judgement in judgements
        if (judgement.dataset, judgement.system) == (row.dataset, row.system)
    ]
    scores: dict[str, list[float]] = {}
    for judgement in matching:
        scores.setdefault(MEASURE_PREFIX + judgement.judge, []).append(judgement.score)
    if not scores:
        return row
    means = {name: round(fmean(grades), 6) for name, grades in scores.items()}
    means[NO_GRADE] = round(
        fmean(isinstance(judgement.outcome, NoGrade) for judgement in matching), 6
    )
    intervals = {
        name: bca_interval(grades, bounds=get_bounds(name)) for name, grades in scores.items()
    }
    return replace(row, measures=row.measures | means, intervals=row.intervals | intervals)
