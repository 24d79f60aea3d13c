"""Tables of our own, questions over them in the wordings of users, and their right answers.

Names, heads and wordings are written by hand; numbers are drawn with a seed. The right answers are
reckoned from the rows alone, without the package. The wordings with an even number were looked at
when rules were mended, the others were not.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

FOLDER = Path(__file__).parent
_COMPUTABLE = 15
"""The questions of each table that can be computed."""
_REFUSED = (4, 4, 4, 3)
"""The questions of a table that cannot be computed, in turn over the tables."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table with what its questions call things.

    Attributes:
        spec: The record of `tables.json`.
        rows: The rows; `None` for a cell without a value.
    """

    spec: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.spec['title'].lower().replace(' ', '-')}.{self.spec['format']}"

    def column(self, measure: int) -> int:
        """Return the column of a measure that is asked for."""
        heads = [head.lower() for head in self.spec["heads"]]
        words = self.spec["measures"][measure].split()
        return next(
            at for at, head in enumerate(heads[2:], 2) if all(word in head for word in words)
        )


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question with its right answer.

    Attributes:
        text: The question.
        kind: The kind of computation, or of reason why there is none.
        table: The name of the table's file.
        wording: The number of the wording; even ones were looked at.
        answers: The right values; none if it cannot be computed.
        operands: The texts of the cells that must be cited.
    """

    text: str
    kind: str
    table: str
    wording: int
    answers: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()

    @property
    def was_looked_at(self) -> bool:
        """Return whether its wording was looked at when rules were mended."""
        return self.wording % 2 == 0


def make_tables(seed: int) -> list[MadeTable]:
    """Return the tables with their numbers."""
    specs = json.loads((FOLDER / "tables.json").read_text(encoding="utf-8"))
    return [_fill_table(spec, random.Random(f"{seed} {spec['title']}")) for spec in specs]


def _fill_table(spec: dict[str, Any], draw: random.Random) -> MadeTable:
    """Return a table whose last row lacks its measures."""
    rows: list[Row] = []
    numbers = [draw.sample(range(low, high), len(spec["names"])) for low, high in spec["ranges"]]
    for at, name in enumerate(spec["names"]):
        part = spec["parts"][at % len(spec["parts"])]
        is_gap = at == len(spec["names"]) - 1
        measures = [None if is_gap else column[at] for column in numbers]
        year = (draw.randrange(1905, 2019),) if spec["dated"] else ()
        rows.append((name, part, *measures, *year))
    draw.shuffle(rows)
    return MadeTable(spec, tuple(rows))


def make_questions(tables: Sequence[MadeTable], seed: int) -> list[MadeQuestion]:
    """Return the questions over the tables."""
    wordings = json.loads((FOLDER / "wordings.json").read_text(encoding="utf-8"))
    questions: list[MadeQuestion] = []
    for at, table in enumerate(tables):
        maker = _QuestionMaker(table, wordings, random.Random(f"{seed} {at}"), at)
        questions += maker.make_computable()
        questions += maker.make_refused(_REFUSED[at % len(_REFUSED)])
    return questions


@dataclass(frozen=True, slots=True)
class _QuestionMaker:
    """The making of the questions of one table.

    Attributes:
        wordings: The wordings by language and kind.
        draw: The source of chance.
        place: The place of the table among all, by which wordings change.
    """

    table: MadeTable
    wordings: dict[str, dict[str, list[str]]]
    draw: random.Random
    place: int

    @property
    def full(self) -> list[Row]:
        """The rows without an empty cell."""
        return [row for row in self.table.rows if None not in row]

    def make_computable(self) -> list[MadeQuestion]:
        """Return the questions that can be computed: each kind, and again from the first on."""
        kinds = [
            kind
            for kind in self.wordings[self.table.spec["language"]]
            if kind != "count_before" or self.table.spec["dated"]
        ]
        chosen = [kinds[at % len(kinds)] for at in range(_COMPUTABLE)]
        return [self._make(kind, at) for at, kind in enumerate(chosen)]

    def make_refused(self, count: int) -> list[MadeQuestion]:
        """Return questions that cannot be computed."""
        language = f"{self.table.spec['language']}, not computable"
        kinds = [
            kind
            for kind in self.wordings[language]
            if kind != "ambiguous" or self.table.spec["vague"]
        ]
        # With something vague, its question takes the place of the last one.
        kinds = ["ambiguous", *kinds[:-1]] if "ambiguous" in kinds else kinds
        return [self._word(kinds[at], language, at, {}) for at in range(count)]

    def _make(self, kind: str, at: int) -> MadeQuestion:
        measure = (self.place + at) % 2
        column = self.table.column(measure)
        part = self.draw.choice(self.table.spec["parts"])
        one, other = self.draw.sample(self.full, 2)
        # How much more one has asks for the larger one first.
        one, other = sorted((one, other), key=lambda row: -row[column])
        values = sorted(row[column] for row in self.full)
        middle = len(values) // 2
        bound = (values[middle - 1] + values[middle]) // 2
        years = [row[-1] for row in self.table.rows] if self.table.spec["dated"] else [0]
        year = self.draw.choice(years) + 1
        answers, operands = _RECKON[kind](
            _Task(self.full, self.table.rows, column, part, one, other, bound, year)
        )
        slots = {
            "measure": self.table.spec["measures"][measure],
            "part": self.table.spec["part"].format(part),
            "one": one[0],
            "other": other[0],
            "bound": str(bound),
            "year": str(year),
            "before": str(year - 1),
        }
        return self._word(kind, self.table.spec["language"], at, slots, answers, operands)

    def _word(
        self,
        kind: str,
        language: str,
        at: int,
        slots: dict[str, str],
        answers: Sequence[str] = (),
        operands: Sequence[str] = (),
    ) -> MadeQuestion:
        """Return a question in a wording that changes from table to table."""
        spec = self.table.spec
        one, other = self.draw.sample(self.full, 2)
        common = {
            **{name: spec[name] for name in ("thing", "things", "stranger", "alien")},
            "vague": spec["vague"] or "",
            "dated": spec["dated"] or "",
            "gap": next(row[0] for row in self.table.rows if None in row),
            "measure": spec["measures"][at % 2],
            "measure2": spec["measures"][(at + 1) % 2],
            "part": spec["part"].format(self.draw.choice(spec["parts"])),
            "one": one[0],
            "other": other[0],
        }
        texts = self.wordings[language][kind]
        wording = (self.place + at + at // len(self.wordings[language])) % len(texts)
        text = texts[wording].format(**(common | slots))
        text = text[0].upper() + text[1:]
        return MadeQuestion(text, kind, self.table.name, wording, tuple(answers), tuple(operands))


@dataclass(frozen=True, slots=True)
class _Task:
    """The rows, the column and the bounds of a question.

    Attributes:
        rows: The rows without an empty cell.
        every: All rows.
        column: The column of the measure.
        part: The part whose rows count.
        one: The row with more.
        other: The row with less.
        bound: The bound on the measure.
        year: The bound on the year.
    """

    rows: Sequence[Row]
    every: Sequence[Row]
    column: int
    part: str
    one: Row
    other: Row
    bound: int
    year: int

    @property
    def inside(self) -> list[Row]:
        """The rows of the part."""
        return [row for row in self.rows if row[1] == self.part]

    def list_values(self, rows: Sequence[Row]) -> list[int]:
        """Return the values of the measure."""
        return [row[self.column] for row in rows]


_Reckoned = tuple[Sequence[str], Sequence[str]]


def _reckon(rows: Sequence[Row], task: _Task, value: float) -> _Reckoned:
    """Return a value with the cells of the measure in some rows."""
    return [f"{value:.4f}"], [str(number) for number in task.list_values(rows)]


def _choose(task: _Task, rows: Sequence[Row], pick: Callable[..., Row]) -> _Reckoned:
    """Return the name of a row with its measure."""
    row = pick(rows, key=lambda candidate: candidate[task.column])
    return [row[0]], [row[0], str(row[task.column])]


def _count(rows: Sequence[Row], column: int) -> _Reckoned:
    """Return the number of rows, with the cells for which they count."""
    return [str(len(rows))], [str(row[column]) for row in rows]


_RECKON: dict[str, Callable[[_Task], _Reckoned]] = {
    "sum_part": lambda t: _reckon(t.inside, t, sum(t.list_values(t.inside))),
    "sum_all": lambda t: _reckon(t.rows, t, sum(t.list_values(t.rows))),
    "mean_part": lambda t: _reckon(t.inside, t, fmean(t.list_values(t.inside))),
    "mean_all": lambda t: _reckon(t.rows, t, fmean(t.list_values(t.rows))),
    "highest": lambda t: _choose(t, t.rows, max),
    "lowest": lambda t: _choose(t, t.rows, min),
    "highest_part": lambda t: _choose(t, t.inside, max),
    "count_part": lambda t: _count([row for row in t.every if row[1] == t.part], 1),
    "count_above": lambda t: _count([row for row in t.rows if row[t.column] > t.bound], t.column),
    "count_before": lambda t: _count([row for row in t.every if row[-1] < t.year], -1),
    "difference": lambda t: _reckon([t.one, t.other], t, t.one[t.column] - t.other[t.column]),
    "share_part": lambda t: _reckon(
        t.inside, t, 100 * sum(t.list_values(t.inside)) / sum(t.list_values(t.rows))
    ),
    "lookup": lambda t: _reckon([t.one], t, t.one[t.column]),
    "together": lambda t: _reckon([t.one, t.other], t, t.one[t.column] + t.other[t.column]),
}
