"""Grades the records of a strategy, keeps each grade, and makes measures of them."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any, Self

from fathom.concurrency import in_loop
from fathom.context import RunContext
from fathom.errors import UsageError
from fathom.evaluation.jsonl import add_line, whole_lines
from fathom.evaluation.judges import JUDGES, AnswerJudge, Grade, NoGrade, applies, settled
from fathom.evaluation.measures import bounds
from fathom.evaluation.records import Record
from fathom.evaluation.report import Row
from fathom.evaluation.statistics import bca_interval
from fathom.jsonable import canonical, digest
from fathom.ledger import Ledger
from fathom.tracing.recorder import Recorder
from fathom.tracing.trace import Origin
from fathom.usage import Budget

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
    with _run(record, budget) as run:
        outcome = in_loop(judge.grade(record, run))
        usage: Any = replace(run.ledger.usage, seconds=0.0)  # of a clock, so no two are the same
    return replace(made, outcome=outcome, usage=asdict(usage))


def _key(judge: AnswerJudge, record: Record) -> str:
    cited = [each.quote for each in record.citations]
    seen = [record.text, record.status, record.long, record.said, record.gold, cited]
    return digest(canonical([judge.name, judge.pin, record.question, record.answerable, seen]))[:16]


@contextmanager
def _run(record: Record, budget: Budget) -> Iterator[RunContext]:
    end = inf if budget.seconds is None else time.monotonic() + budget.seconds
    with ThreadPoolExecutor(1, thread_name_prefix="fathom-judge") as executor:
        yield RunContext(
            ledger=Ledger(budget),
            scope=Recorder(Origin(question=record.text, strategy="judge")),
            executor=executor,
            deadline=end,
            end=end,
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
