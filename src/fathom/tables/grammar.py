"""From a question to a computation over a table, by rules and without a model."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from fathom.question.question import Question
from fathom.tables.computation import Computation, Condition, Operation
from fathom.tables.conditions import ConditionFinder, Conditions
from fathom.tables.links import ColumnLink, TableWords, Word, split_words
from fathom.tables.table import Table
from fathom.tables.values import fold_text
from fathom.text.language import load_stop_words
from fathom.types import Span


class _Superlative(NamedTuple):
    """A word that asks for an end of an order.

    Attributes:
        highest: Whether it asks for the highest value.
        hint: Words for the columns by whose values things are put in order.
        kind: The kind of that column, if the word tells it.
    """

    highest: bool
    hint: str = ""
    kind: str = ""


_SUPERLATIVES = {
    **dict.fromkeys("most highest largest greatest biggest maximum top terbanyak tertinggi terbesar"
                    " paling".split(), _Superlative(True)),
    **dict.fromkeys("least fewest lowest smallest minimum tersedikit terendah terkecil".split(),
                    _Superlative(False)),
    "best": _Superlative(True, "points score"), "worst": _Superlative(False, "points score"),
    "longest": _Superlative(True, "length duration time years term", "duration"),
    "shortest": _Superlative(False, "length duration time years height", "duration"),
    "oldest": _Superlative(False, "date year built founded established born", "date"),
    "earliest": _Superlative(False, "date year", "date"),
    "youngest": _Superlative(True, "date year born", "date"),
    "newest": _Superlative(True, "date year", "date"),
    "latest": _Superlative(True, "date year", "date"),
    "recent": _Superlative(True, "date year", "date"),
    "tallest": _Superlative(True, "height elevation"),
    "deepest": _Superlative(True, "depth"),
    "heaviest": _Superlative(True, "weight displacement"),
    "lightest": _Superlative(False, "weight"),
    "fastest": _Superlative(False, "time", "duration"),
    "slowest": _Superlative(True, "time", "duration"),
    "closest": _Superlative(True), "terlama": _Superlative(True, "length duration", "duration"),
    "tertua": _Superlative(False, "tahun year", "date"),
}  # fmt: skip
_COMPARATIVES = {
    **dict.fromkeys("more higher larger greater bigger over above better lebih".split(),
                    _Superlative(True)),
    **dict.fromkeys("less fewer lower smaller below under kurang".split(), _Superlative(False)),
    "longer": _Superlative(True, "length duration time years", "duration"),
    "shorter": _Superlative(False, "length duration time height", "duration"),
    "older": _Superlative(False, "date year born", "date"),
    "younger": _Superlative(True, "date year born", "date"),
    "earlier": _Superlative(False, "date year from", "date"),
    "first": _Superlative(False, "date year from", "date"),
    "later": _Superlative(True, "date year from", "date"),
    "last": _Superlative(True, "date year from", "date"),
    "faster": _Superlative(False, "time", "duration"),
    "slower": _Superlative(True, "time", "duration"),
    "taller": _Superlative(True, "height"), "deeper": _Superlative(True, "depth"),
    "heavier": _Superlative(True, "weight"), "weigh": _Superlative(True, "weight"),
}  # fmt: skip
_ENDS = {
    "first": ("first", 0), "last": ("last", 0), "final": ("last", 0), "second": ("first", 1),
    "third": ("first", 2), "fourth": ("first", 3), "fifth": ("first", 4), "bottom": ("last", 0),
    "top": ("first", 0), "pertama": ("first", 0), "terakhir": ("last", 0), "kedua": ("first", 1),
    "ketiga": ("first", 2),
}  # fmt: skip
_CUES = frozenset(
    "how many much which what who whom whose where when is are was were do does did has have had "
    "total number amount count sum average mean difference between combined altogether list name "
    "tell me give times most least next previous prior after before following only more less than "
    "there table chart listed according this that these those all each every other same long year "
    "years besides berapa jumlah siapa apa mana kapan rata selisih paling banyak total yang the "
    "listing in of".split()
)
"""Words that ask for an operation or carry no content; they begin and end no phrase of cells."""
_BREAKS = frozenset(
    "is was were are did does do has have had of in that with who which the to for by on at from "
    "came won can could will be been when where if it they he she his her their its not there than "
    "between before after during received scored made took listed adalah yang di pada dengan "
    "memiliki and or as also only ever".split()
)
_NEXT = re.compile(
    r"\b(?:next|after|following|follows|succeeded|below|berikutnya|setelah|sesudah)\b"
)
_PREVIOUS = re.compile(
    r"\b(?:previous(?:ly)?|before|preced\w+|prior|above|sebelum(?:nya)?)\b"
)
_DIFFERENCE = re.compile(
    r"\b(?:difference|differ|how (?:much|many) (?:\w+ ){0,3}?(?:more|less|fewer|greater|higher|lower|"
    r"larger|longer|older|taller|bigger)|selisih|beda(?:nya)?)\b|\bmore\b.*\bcompared\b"
)
_RATIO = re.compile(r"\b(?:ratio|how many times (?:more|larger|higher|as)|rasio|berapa kali lipat)\b")
_SHARE = re.compile(
    r"\b(?:what|which) (?:percentage|percent|share|proportion|fraction)\b|\bpersentase\b|\bpersen\b"
)
_GROWTH = re.compile(r"\b(?:growth|grow|grew|increased? by|percent(?:age)? (?:change|increase)|"
                     r"pertumbuhan|kenaikan)\b")  # fmt: skip
_MEAN = re.compile(r"\b(?:average|mean|rata-rata|rerata)\b")
_SUM = re.compile(
    r"\b(?:total|combined|altogether|in all|sum|together|overall|in total|keseluruhan|seluruh|"
    r"gabungan)\b"
)
_COUNT = re.compile(
    r"\b(?:how many|number of|amount of|total of|count of|how much|berapa(?: banyak)?|jumlah|"
    r"banyaknya|number)\b"
)
_DISTINCT = re.compile(r"\b(?:different|distinct|unique|separate|various|berbeda)\b")
_YES_NO = re.compile(
    r"(?:is|are|was|were|did|does|do|has|have|had|can|apakah|according to [\w ]+, (?:is|did|was))\b"
)
_YEARS_BETWEEN = re.compile(
    r"\bhow (?:long|many (?:\w+ )?(?:years?|days?|months?))\b|\bberapa (?:lama|tahun)\b"
)
_FREQUENT = re.compile(r"\b(?:appear\w*|listed|times|often|frequent\w*|common)\b")
_TOTAL_ROW = re.compile(r"(?:grand )?(?:totals?|sum|overall|jumlah|all)\b.{0,12}", re.IGNORECASE)
_LEAST_SCORE = 0.3
"""The least score of an answer; below it the candidates are told only."""
_SURE_SCORE = 0.62
"""The least score of an answer that is not tentative."""


@dataclass(frozen=True, slots=True)
class Plans:
    """What a question may ask of a table.

    Attributes:
        computations: The computations, the best first.
    """

    computations: tuple[Computation, ...]


def plan_computations(question: Question, content: TableWords) -> tuple[Computation, ...]:
    """Return the computations that a question may ask for, the best first; none if it asks none."""
    reading = QuestionOverTable.of(question, content)
    plans = [
        replace(plan, score=round(reading.rate(plan, sureness), 4))
        for sureness, rule in _RULES
        for plan in rule(reading)
    ]
    return tuple(sorted(plans, key=lambda plan: -plan.score))


@dataclass(frozen=True)
class QuestionOverTable:
    """A question with all that its words say of a table.

    Attributes:
        text: The question, folded.
        words: Its words.
        content: The words of the table.
        columns: The columns that it names, also by other words.
    """

    text: str
    words: tuple[Word, ...]
    content: TableWords
    columns: tuple[ColumnLink, ...]

    @classmethod
    def of(cls, question: Question, content: TableWords) -> "QuestionOverTable":
        """Read a question over a table."""
        text = re.sub(r"\s+", " ", fold_text(question.text)).strip()
        words = tuple(split_words(text))
        named = content.link_columns(words)
        columns = (*named, *content.link_aliases(words))
        return cls(text, words, content, columns)

    @property
    def table(self) -> Table:
        """The table."""
        return self.content.table

    @cached_property
    def data_rows(self) -> tuple[int, ...]:
        """The rows without those that only total the others."""
        last = len(self.table.rows) - 1
        return tuple(
            at
            for at, row in enumerate(self.table.rows)
            if not (
                (at in {0, last} or at == last - 1)
                and len(self.table.rows) > 2
                and any(_TOTAL_ROW.fullmatch(cell.text) for cell in row[: self.table.key + 1])
            )
        )

    @cached_property
    def asked_words(self) -> range:
        """The places of the noun that the question asks for."""
        for at, word in enumerate(self.words):
            follows = {"how": ("many", "much"), "number": ("of",), "amount": ("of",)}
            if word.text in {"which", "what", "whose", "berapa", "list", "name"}:
                begin = at + 1
            elif word.text in follows and self._get_text(at + 1) in follows[word.text]:
                begin = at + 2
            else:
                continue
            return self._extend_noun(begin)
        return range(0)

    def _extend_noun(self, begin: int) -> range:
        """Return the places of a noun behind a question word."""
        skipped = {"is", "was", "are", "were", "s", "the", "a", "an", "of", "these", "those", "all",
                   "each", "other", "total", "number", "in", "apa", "name", "names", "different",
                   "two", "one", "many", "following"}  # fmt: skip
        while self._get_text(begin) in skipped:
            begin += 1
        end = begin
        while end < len(self.words) and self.words[end].text not in _BREAKS and end < begin + 5:
            end += 1
        return range(begin, end)

    def _get_text(self, at: int) -> str:
        return self.words[at].text if 0 <= at < len(self.words) else ""

    @cached_property
    def asked_column(self) -> ColumnLink | None:
        """The column that the noun asked for names."""
        inside = [
            link
            for link in self.columns
            if link.first in self.asked_words and link.last in self.asked_words
        ]

        def rate(link: ColumnLink) -> tuple[float, int, int]:
            # The last word of a noun is its head.
            return link.share + 0.4 * (link.last == self.asked_words[-1]), link.last, -link.column

        return max(inside, key=rate, default=None)

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions on the rows."""
        cues = frozenset(
            at
            for at, word in enumerate(self.words)
            if word.text in _CUES or (word.text in _SUPERLATIVES and word.text not in _ENDS)
        )
        asked = self.asked_column
        named = frozenset(range(asked.first, asked.last + 1)) if asked else frozenset[int]()
        named |= {
            at
            for link in self.columns
            if link.share >= 0.5
            for at in range(link.first, link.last + 1)
        }
        finder = ConditionFinder(self.text, self.words, self.content, self.columns)
        return finder.find(cues, named)

    def select(self, conditions: Sequence[Condition]) -> tuple[int, ...]:
        """Return the rows that meet all conditions."""
        return tuple(
            row for row in self.data_rows if all(row in condition.rows for condition in conditions)
        )

    @cached_property
    def kept(self) -> tuple[Condition, ...]:
        """The conditions that some row meets together, the surest first."""
        kept: list[Condition] = []
        joined = [
            Condition(
                group[0].column,
                frozenset[int]().union(*(condition.rows for condition in group)),
                " or ".join(condition.text for condition in group),
                frozenset[int]().union(*(condition.words for condition in group)),
            )
            for group in self.conditions.groups
        ]
        for condition in [*self.conditions.every, *joined]:
            if self.select([*kept, condition]) or condition in self.conditions.amounts:
                kept.append(condition)
        return tuple(kept)

    def find_column(
        self, words: range, *, kinds: frozenset[str] = frozenset(), skip: frozenset[int] = frozenset()
    ) -> int | None:
        """Return the column that some of the words name best."""
        inside = [
            link
            for link in self.columns
            if link.first in words
            and link.last in words
            and link.column not in skip
            and (not kinds or self.table.columns[link.column].kind in kinds)
        ]
        best = max(inside, key=lambda link: (link.share, -link.first, -link.column), default=None)
        return best.column if best else None

    @cached_property
    def target(self) -> int:
        """The column that the answer is taken from."""
        if self.asked_column is not None:
            return self.asked_column.column
        if re.search(r"\bwho(?:se|m)?\b|\bsiapa\b", self.text):
            person = self._find_by_hint(
                "name player driver winner athlete coach artist contestant rider wrestler champion "
                "person nama", "text",
            )  # fmt: skip
            return person if person is not None else self.table.key
        if re.search(r"\bwhen\b|\bkapan\b|\bwhat date\b|\byear\b|\btahun\b", self.text):
            dated = self._find_dated()
            if dated is not None:
                return dated
        if re.search(r"\bwhere\b|\bdi mana\b", self.text):
            place = self._find_by_hint("location venue place city country hometown school", "")
            return place if place is not None else self.table.key
        return self.table.key

    def _find_dated(self) -> int | None:
        """Return the column of dates that is named, else the first one."""
        everywhere = range(len(self.words))
        named = self.find_column(everywhere, kinds=frozenset({"date"}))
        dated = [at for at, column in enumerate(self.table.columns) if column.kind == "date"]
        return named if named is not None else next(iter(dated), None)

    def _find_by_hint(self, hint: str, kind: str) -> int | None:
        """Return the first column whose name holds one of some words, the first of these first."""
        for word in split_words(hint):
            for at, name in enumerate(self.content.names):
                if word.stem in name and (not kind or self.table.columns[at].kind == kind):
                    return at
        return None

    @property
    def wants(self) -> str:
        """The part of a cell that is asked for."""
        return "year" if re.search(r"\b(?:which|what|in what|in which) year\b", self.text) else "cell"

    def find_order(self, at: int, word: _Superlative) -> int | None:
        """Return the column by which a superlative puts things in order."""
        measured = frozenset({"number", "duration", "date"})
        skip = frozenset({self.asked_column.column} if self.asked_column else ())
        behind = range(at + 1, min(at + 7, len(self.words)))
        column = self.find_column(behind, kinds=measured, skip=skip if len(skip) else skip)
        if column is None and word.hint:
            column = self._find_by_hint(word.hint, word.kind) or self._find_by_hint(word.hint, "")
            if column is not None and self.table.columns[column].kind not in measured:
                column = None
        if column is None and word.kind:
            kinds = [spec.kind for spec in self.table.columns]
            column = kinds.index(word.kind) if word.kind in kinds else None
        if column is None:
            column = self.find_column(range(at), kinds=measured - {"date"}, skip=skip)
        return column

    def build(self, operation: Operation, **fields: object) -> Computation:
        """Return a computation over the rows that meet the conditions."""
        plan = Computation(
            operation=operation,
            rows=self.select(self.kept),
            target=self.target,
            conditions=self.kept,
            wants="year" if self.wants == "year" else "cell",
        )
        return replace(plan, **fields)  # type: ignore[arg-type]

    def rate(self, plan: Computation, sureness: float) -> float:
        """Return the score of a computation: the share of words that it explains, by its rule."""
        stop_words = load_stop_words("en") | load_stop_words("id")
        explained = set[int]().union(*(condition.words for condition in plan.conditions))
        columns = {plan.target, plan.order} | {condition.column for condition in plan.conditions}
        for link in self.columns:
            if link.column in columns:
                explained |= set(range(link.first, link.last + 1))
        content = [
            at
            for at, word in enumerate(self.words)
            if word.text not in stop_words and word.text not in _CUES and len(word.text) > 1
        ]
        cues = {at for at in content if self.words[at].text in _SUPERLATIVES | _COMPARATIVES | _ENDS}
        open_words = [at for at in content if at not in explained and at not in cues]
        share = 1 - len(open_words) / max(len(content), 1)
        return sureness * (0.35 + 0.65 * share)


_Rule = Callable[[QuestionOverTable], Iterator[Computation]]


def _list_groups(reading: QuestionOverTable) -> tuple[tuple[int, ...], ...]:
    """Return the rows of the two sides that a question compares; none if it compares no two."""
    for group in reading.conditions.groups:
        if len(group) == 2:
            others = [condition for condition in reading.kept if condition.column != group[0].column]
            sides = tuple(reading.select([*others, condition]) for condition in group)
            if all(sides):
                return sides
    return ()


def _plan_relation(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield differences, ratios, shares and growth."""
    patterns: tuple[tuple[Operation, re.Pattern[str]], ...] = (
        ("growth", _GROWTH), ("difference", _DIFFERENCE), ("ratio", _RATIO), ("share", _SHARE)
    )  # fmt: skip
    operation = next((name for name, pattern in patterns if pattern.search(reading.text)), None)
    if operation is None:
        return
    groups = _list_groups(reading)
    if not groups and operation == "share" and reading.kept:
        groups = (reading.select(reading.kept), reading.data_rows)
    if not groups:
        return
    order = reading.find_column(
        range(len(reading.words)),
        kinds=frozenset({"number", "duration", "date"}),
        skip=frozenset({reading.conditions.groups[0][0].column} if reading.conditions.groups else ()),
    )
    target = order if order is not None else reading.target
    yield reading.build(operation, groups=groups, order=order, target=target)


def _plan_choice(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield the choice of one of two things: "Which is longer, A or B?"."""
    if not re.search(r"\b(?:or|than|atau|vs)\b", reading.text):
        return
    groups = _list_groups(reading)
    places = [
        at
        for at, word in enumerate(reading.words)
        if word.text in _COMPARATIVES or word.text in _SUPERLATIVES
    ]
    if not groups or not places:
        return
    word = reading.words[places[0]].text
    spec = _COMPARATIVES.get(word) or _SUPERLATIVES[word]
    column = reading.conditions.groups[0][0].column
    order = reading.find_order(places[0], spec)
    yield reading.build(
        "more" if spec.highest else "less",
        groups=groups,
        order=None if order == column else order,
        target=column,
    )


def _plan_neighbour(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield the row before or after a row that is named."""
    forward, backward = _NEXT.search(reading.text), _PREVIOUS.search(reading.text)
    cue = min(filter(None, (forward, backward)), key=lambda match: match.start(), default=None)
    if cue is None or _COUNT.match(reading.text):
        return
    shift = 1 if cue is forward else -1
    if re.search(r"\bnext to last\b", reading.text):
        return
    named = [condition for condition in reading.kept if len(condition.rows) < len(reading.data_rows)]
    # The row is named behind the word, and by a cell rather than by a bound on time.
    place = len(reading.text[: cue.start()].split())
    bounded = [condition for condition in named if condition in reading.conditions.times]
    if bounded and len(bounded) == len(named):
        first = bounded[0]
        rows = reading.select(named)
        if rows:
            order = first.column
            is_before = "<" in first.text
            yield reading.build("last" if is_before else "first", rows=rows, order=order)
        return
    behind = [c for c in named if max(c.words) >= place - 1] or named
    anchors = reading.select(behind)
    if not behind or not anchors:
        return
    if _is_falling(reading) and re.search(r"\b(?:after|before|prior|previous)\b", reading.text):
        shift = -shift
    yield reading.build("neighbour", rows=anchors, conditions=tuple(behind), shift=shift)


def _is_falling(reading: QuestionOverTable) -> bool:
    """Return whether the table lists the newest row first."""
    dated = [at for at, column in enumerate(reading.table.columns) if column.kind == "date"]
    if not dated:
        return False
    values = [
        value
        for row in reading.data_rows
        if (value := reading.table.get_value(row, dated[0])) is not None
    ]
    return len(values) > 2 and all(
        one >= other for one, other in zip(values, values[1:], strict=False)  # type: ignore[operator]
    ) and values[0] > values[-1]  # type: ignore[operator]


def _plan_superlative(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield the row at an end of an order, or the most frequent value."""
    for at, word in enumerate(reading.words):
        spec = _SUPERLATIVES.get(word.text)
        if spec is None or (word.text in {"most", "least"} and reading.words[at - 1].text == "at"):
            continue
        if word.text == "top" and reading._get_text(at + 1).isdigit():
            continue
        order = reading.find_order(at, spec)
        target = reading.target
        if order is None or _FREQUENT.search(reading.text[word.end :]):
            name: Operation = "most frequent" if spec.highest else "least frequent"
            yield reading.build(name, target=target)
            if order is None:
                return
        if order == target:
            name = "maximum" if spec.highest else "minimum"
            is_date = reading.table.columns[order].kind == "date"
            if is_date:
                yield reading.build("last" if spec.highest else "first", order=order)
            else:
                yield reading.build(name)
            return
        yield reading.build("highest" if spec.highest else "lowest", order=order, target=target)
        return


def _plan_end(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield the first, the last or the n-th row."""
    taken = frozenset[int]().union(*(condition.words for condition in reading.kept))
    for at, word in enumerate(reading.words):
        if word.text not in _ENDS or at in taken or _COUNT.match(reading.text):
            continue
        operation, shift = _ENDS[word.text]
        dated = reading._find_dated() if word.text in {"first", "last"} else None
        name: Operation = "first" if operation == "first" else "last"
        listed = re.search(r"\b(?:listed|list|table|chart|top|bottom)\b", reading.text)
        order = None if listed or not _is_falling(reading) else dated
        yield reading.build(name, order=order, shift=shift)
        return


def _plan_count(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield counts and sums for "how many"."""
    if not _COUNT.search(reading.text):
        return
    asked = reading.asked_column
    kind = reading.table.columns[asked.column].kind if asked else ""
    is_condition = asked is not None and asked.column in {c.column for c in reading.kept}
    if asked is not None and kind == "number" and not is_condition and asked.share >= 0.3:
        rows = reading.select(reading.kept)
        if rows and not reading.table.columns[asked.column].is_order:
            operation: Operation = "lookup" if len(rows) == 1 else "sum"
            yield reading.build(operation, target=asked.column)
            return
    if (
        asked is not None
        and asked.column != reading.table.key
        and not is_condition
        and kind == "text"
        and (_DISTINCT.search(reading.text) or asked.share >= 0.5)
    ):
        yield reading.build("distinct", target=asked.column)
        return
    if _DISTINCT.search(reading.text):
        yield reading.build("distinct")
        return
    yield _count_rows(reading)


def _count_rows(reading: QuestionOverTable) -> Computation:
    """Return the count of rows; a column of numbers that is named must be above zero in them."""
    columns = {condition.column for condition in reading.kept}
    behind = range(reading.asked_words.stop, len(reading.words))
    named = reading.find_column(behind, kinds=frozenset({"number"}), skip=frozenset(columns))
    asked = reading.asked_column.column if reading.asked_column else reading.table.key
    if named is None or named == asked or reading.table.columns[named].is_order:
        return reading.build("count", target=asked)
    name = reading.table.columns[named].name
    positive = Condition(
        named,
        frozenset(
            row
            for row in reading.data_rows
            if isinstance(value := reading.table.get_value(row, named), float) and value > 0
        ),
        f"{name} > 0",
    )
    conditions = (*reading.kept, positive)
    return reading.build(
        "count", target=asked, conditions=conditions, rows=reading.select(conditions)
    )


def _plan_span(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield a length of time: a cell's own, or between two dates of a row."""
    if not _YEARS_BETWEEN.search(reading.text):
        return
    rows = reading.select(reading.kept)
    if not reading.kept or not rows:
        return
    lasting = [at for at, c in enumerate(reading.table.columns) if c.kind == "duration"]
    dated = [at for at, c in enumerate(reading.table.columns) if c.kind == "date"]
    if lasting and re.search(r"\bhow long\b|\bberapa lama\b", reading.text):
        yield reading.build("lookup", target=lasting[0])
        return
    numbered = reading._find_by_hint("years", "number")
    if numbered is not None:
        yield reading.build("lookup", target=numbered)
        return
    if dated and len(rows) <= 2:
        yield reading.build("span", target=dated[0], order=dated[min(1, len(dated) - 1)])


def _plan_aggregate(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield sums and means."""
    operation: Operation | None = (
        "mean" if _MEAN.search(reading.text) else "sum" if _SUM.search(reading.text) else None
    )
    if operation is None:
        return
    measured = frozenset({"number", "duration"})
    column = reading.find_column(range(len(reading.words)), kinds=measured)
    if column is None or reading.table.columns[column].is_order:
        return
    rows = reading.select(reading.kept)
    name = reading.table.columns[column].name
    # A column that is itself a total or a mean is looked up.
    own_value = (_MEAN if operation == "mean" else _SUM).search(name.lower())
    if own_value and len(rows) == 1:
        operation = "lookup"
    yield reading.build(operation, target=column)


def _plan_decision(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield yes or no."""
    if not _YES_NO.match(reading.text) or not reading.conditions.every:
        return
    rows = reading.select(reading.conditions.every)
    yield reading.build("decision", rows=rows, conditions=reading.conditions.every)


def _plan_lookup(reading: QuestionOverTable) -> Iterator[Computation]:
    """Yield the cells of the rows that are named."""
    if not reading.kept:
        return
    columns = {condition.column for condition in reading.kept}
    target = reading.target
    if target in columns and reading.asked_column is None:
        others = [
            link.column for link in reading.columns if link.column not in columns and link.share > 0.3
        ]
        target = others[0] if others else target
    yield reading.build("lookup", target=target)


_RULES: tuple[tuple[float, _Rule], ...] = (
    (1.0, _plan_relation),
    (0.98, _plan_choice),
    (0.95, _plan_span),
    (0.93, _plan_aggregate),
    (0.92, _plan_neighbour),
    (0.9, _plan_superlative),
    (0.88, _plan_count),
    (0.8, _plan_end),
    (0.78, _plan_decision),
    (0.6, _plan_lookup),
)
"""The rules with their sureness."""
