"""The rules that answer a question by a computation over a financial statement, without a model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from fathom.domains.domain import Measure
from fathom.question.question import Question
from fathom.tables.computation import Operand, Operation, Result
from fathom.tables.labels import LabelNames, PlacedStem, Stems, split_label, split_question
from fathom.tables.periods import AskedPeriod, AskedPeriods, Period, find_periods
from fathom.tables.statements import Amount, FinancialStatement, StatementRow
from fathom.tables.table import Cell
from fathom.tables.values import fold_text, format_number
from fathom.text.dates import Date
from fathom.text.language import load_stop_words, split_set
from fathom.types import Span

_STATEMENT = re.compile(
    r"\b(?:balance sheets?|(?:income|cash flow) statements?|statements? of (?:operations|income|"
    r"cash flows?)|10-[qk]s?|(?:quarterly|annual) reports?|neraca|laporan (?:laba rugi|keuangan|"
    r"arus kas))\b"
)
_PERCENT = re.compile(
    r"\b(?:percent(?:age)?s?|growth(?: rate)?|share|portion|proportion|fraction|persen(?:tase)?|"
    r"pertumbuhan)\b|%"
)
_CHANGE = re.compile(
    r"\b(?:chang\w*|differ\w*|increas\w*|decreas\w*|gr[oe]w\w*|ris\w+|rose|fall\w*|fell|declin\w*|"
    r"higher|lower|more|less|compar\w*|versus|vs|drop\w*|selisih|kenaikan|penurunan|naik|turun|"
    r"berubah|perubahan)\b"
)
_RATIO = re.compile(r"\b(?:ratio|rasio)\b")
_SUM = re.compile(
    r"\b(?:sum|combined|together|plus|altogether|in all|add(?:ed|ing)?|jumlahkan|gabungan|"
    r"ditambah|both)\b"
)
_MINUS = re.compile(r"\b(?:differ\w*|minus|less|exceed\w*|selisih|dikurangi)\b")
_FILLING = split_set(
    "much many amount amounts value figure figures number numbers total dollars dollar usd million "
    "millions billion billions thousand report reported reports record recorded show shows showed "
    "company group quarter quarterly period periods ended end ending ends year years fiscal month "
    "months date tell give me please state stated statement statements consolidated condensed "
    "according filing form high large big spend spent generate generated earn earned pay paid make "
    "made compared rate level percent percentage points terms corresponding versus against went "
    "berapa berapakah nilai besar besarnya tanggal berakhir periode tahun bulan kuartal triwulan "
    "per laporan perusahaan dilaporkan tercatat sebesar rupiah dolar hold held holding long "
    "prior previous same earlier ago"
)
"""Words that name neither a row nor a period."""
_OPERATIONS = re.compile("|".join(cue.pattern for cue in (_PERCENT, _CHANGE, _RATIO, _SUM, _MINUS)))
_POINTS = 2
"""The decimals of a percentage."""

_Relation = Literal["share", "ratio", "sum", "less", "minus"]


class StatementAnswer(NamedTuple):
    """A value that was computed over a statement, or the reason why there is none.

    Attributes:
        result: The value; `None` if the statement is ambiguous or lacks a cell.
        operation: The operation.
        refusal: The reason why there is no value; empty if there is one.
        end: The last day of the latest period that went in; zeros without a value.
    """

    result: Result | None
    operation: Operation = "lookup"
    refusal: str = ""
    end: Date = (0.0, 0.0, 0.0)


class _Mention(NamedTuple):
    """A run of words of a question that names a row or a measure.

    Attributes:
        first: The place of the first of the words, from 0.
        last: The place of the last of the words.
        names: The names of the row, the one in the question first, then its synonyms.
        measure: The measure; `None` for a row.
    """

    first: int
    last: int
    names: tuple[Stems, ...]
    measure: Measure | None = None


class _Open(Exception):
    """The error that a statement has the wanted value in several places, or in an empty cell.

    Attributes:
        reason: The reason for people, with the places.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class StatementQuestion:
    """A question with the periods that it names.

    Attributes:
        text: The question, folded.
        capitalised: Its words with a capital letter, folded.
        words: Its words, without small words and those that name a period or a kind of statement.
        periods: The periods that it names.
        names: The names of rows and measures that statements have.
    """

    text: str
    capitalised: frozenset[str]
    words: tuple[PlacedStem, ...]
    periods: AskedPeriods
    names: LabelNames

    @classmethod
    def of(cls, question: Question, names: LabelNames) -> "StatementQuestion":
        """Read a question.

        Args:
            question: The question.
            names: The names of rows and measures that statements have.
        """
        text = fold_text(question.text)
        periods = find_periods(text)
        statements = (Span(*match.span()) for match in _STATEMENT.finditer(text))
        closed = (*periods.spans, *statements)
        words = tuple(
            word
            for word in split_question(text)
            if not any(span.start <= word.start < span.end for span in closed)
        )
        capitalised = frozenset(
            fold_text(word) for word in re.findall(r"\b[A-Z][\w.]*", question.text)
        )
        return cls(text, capitalised, words, periods, names)

    @property
    def may_ask(self) -> bool:
        """True if the question may ask for an amount of a statement."""
        return self.names_row or any(asked.months or asked.end[1] for asked in self.periods.periods)

    @property
    def names_row(self) -> bool:
        """True if the question names a row or a measure that statements have."""
        return self.names.is_named(self.words)

    @property
    def asks_length(self) -> bool:
        """True if the question names the length of a period."""
        return any(asked.months for asked in self.periods.periods) or bool(self.periods.months)

    def answer(
        self, statement: FinancialStatement, words: frozenset[str], quarter: str
    ) -> StatementAnswer | None:
        """Return the answer over a statement; `None` if the question is about something else.

        Args:
            statement: The statement.
            words: The words that name the company or other owner of the report.
            quarter: The quarter in the report's name, such as "2023 q2"; empty without one.
        """
        reading = _Reading(question=self, statement=statement, words=words, quarter=quarter)
        try:
            answer = reading.answer()
        except _Open as reason:
            return StatementAnswer(None, refusal=reason.reason)
        operands = answer.result.operands if answer and answer.result else ()
        ends = [statement.periods[operand.column].end for operand in operands]
        return answer._replace(end=max(ends)) if answer and ends else answer

    def names_report(self, words: frozenset[str]) -> bool:
        """Return whether the question names the owner of a report.

        Args:
            words: The words that name the owner.
        """
        return any(word.text in self.capitalised & words for word in self.words[1:])


@dataclass(frozen=True)
class _Reading:
    """A question read over one statement.

    Attributes:
        question: The question.
        statement: The statement.
        words: The words that name the owner of the report.
        quarter: The quarter in the report's name; empty without one.
    """

    question: StatementQuestion
    statement: FinancialStatement
    words: frozenset[str]
    quarter: str

    def answer(self) -> StatementAnswer | None:
        """Return the answer; `None` if the statement does not have what the question asks for.

        Raises:
            _Open: If several rows or columns may be meant, or a cell is empty.
        """
        mentions = self._list_mentions()
        if not mentions or self._is_about_others(mentions) or not self._has_period():
            return None
        measure = next((mention.measure for mention in mentions if mention.measure), None)
        if measure is not None:
            return self._answer_measure(measure, mentions)
        rows = [self._find_row(mention) for mention in mentions]
        named = [mention for mention, row in zip(mentions, rows, strict=True) if row]
        filled = [row for row in rows if row]
        if not filled or self._list_open_words(named, filled):
            return None
        return self._answer_rows(named, filled)

    def _answer_measure(
        self, measure: Measure, mentions: Sequence[_Mention]
    ) -> StatementAnswer | None:
        """Return a measure that is computed from two rows of a main statement."""
        if len(mentions) > 1 or not self.statement.is_main or self._list_open_words(mentions, ()):
            return None
        names = (self.question.names.list_names(split_label(row)) for row in measure.rows)
        return self._relate(measure.kind, [self._choose_row(name, frozenset()) for name in names])

    def _is_about_others(self, mentions: Sequence[_Mention]) -> bool:
        """Return whether the question has a name that does not belong to the report's owner."""
        named = {at for mention in mentions for at in range(mention.first, mention.last + 1)}
        small = load_stop_words("en") | load_stop_words("id") | _FILLING
        return any(
            word.text in self.question.capitalised
            and word.text not in self.words | small
            and not _OPERATIONS.fullmatch(word.text)
            for at, word in enumerate(self.question.words)
            if at not in named
        )

    def _has_period(self) -> bool:
        """Return whether a column has the first period that the question names."""
        columns = self.statement.periods
        asked = next(iter(self.question.periods.periods), None)
        return bool(self._select_columns(columns, asked))

    def _list_mentions(self) -> list[_Mention]:
        """Return the runs of words that name a row or a measure, in order and without overlap.

        From the left, the longest run at each word is taken.
        """
        mentions: list[_Mention] = []
        at = 0
        while at < len(self.question.words):
            mention = self._find_longest(at)
            at = mention.last + 1 if mention else at + 1
            mentions += [mention] if mention else []
        return mentions

    def _find_longest(self, first: int) -> _Mention | None:
        """Return the longest name that begins at a word; `None` if there is none."""
        words, names = self.question.words, self.question.names
        for last in range(min(first + self._longest, len(words)) - 1, first - 1, -1):
            stems = tuple(word.stem for word in words[first : last + 1])
            if stems in names.measures:
                return _Mention(first, last, (stems,), names.measures[stems])
            is_small = first == last and words[first].text in _FILLING | load_stop_words("en")
            if stems in names.groups or (stems in self._row_names and not is_small):
                return _Mention(first, last, names.list_names(stems))
        return None

    @cached_property
    def _row_names(self) -> frozenset[Stems]:
        """The names of all rows of the statement."""
        return frozenset(name for row in self.statement.rows for name in row.names)

    @cached_property
    def _longest(self) -> int:
        """The largest number of words in a name of a row or a measure."""
        return max(self.question.names.longest, *map(len, self._row_names), 1)

    def _find_row(self, mention: _Mention) -> StatementRow | None:
        """Return the row that a mention names; `None` if the statement has none.

        Raises:
            _Open: If several rows may be meant.
        """
        others = frozenset(
            word.stem
            for at, word in enumerate(self.question.words)
            if not mention.first <= at <= mention.last
        )
        # Other tables may be about somebody else, so no synonyms are tried there.
        names = mention.names if self.statement.is_main else mention.names[:1]
        return self._choose_row(names, others)

    def _choose_row(self, names: Sequence[Stems], others: frozenset[str]) -> StatementRow | None:
        """Return the row that has one of some names; `None` if there is none.

        Args:
            names: The names, of which earlier ones win.
            others: The stems of the other words of the question, which may tell the section.

        Raises:
            _Open: If several rows with different amounts have the name.
        """
        rows = next(filter(None, (self._list_rows(name) for name in names)), [])
        rows = rows or next(filter(None, (self._list_longer(name) for name in names)), [])
        if len(rows) > 1:
            shares = [_measure_share(row.section, others) for row in rows]
            rows = [row for row, share in zip(rows, shares, strict=True) if share == max(shares)]
        if len({tuple(row.cells.items()) for row in rows}) > 1:
            raise _Open("it may mean " + " or ".join(map(_describe_place, rows)))
        return rows[0] if rows else None

    def _list_rows(self, name: Stems) -> list[StatementRow]:
        return [row for row in self.statement.rows if name in row.names]

    def _list_longer(self, name: Stems) -> list[StatementRow]:
        """Return the rows whose label begins with a name, which must have at least two words."""
        return [
            row
            for row in self.statement.rows
            if len(name) > 1 and row.names[0][: len(name)] == name
        ]

    def _list_open_words(
        self, mentions: Sequence[_Mention], rows: Sequence[StatementRow]
    ) -> list[str]:
        """Return the words that neither the rows, the statement nor the report explain.

        Args:
            mentions: The runs of words that name the rows.
            rows: The rows.
        """
        named = {at for mention in mentions for at in range(mention.first, mention.last + 1)}
        shown = " ".join([self.statement.caption, *(row.section for row in rows)])
        stems = set(split_label(shown)) | {word.stem for word in split_question(fold_text(shown))}
        small = _FILLING | load_stop_words("en") | load_stop_words("id")
        return [
            word.text
            for at, word in enumerate(self.question.words)
            if at not in named
            and word.text not in small
            and word.stem not in stems
            and not _OPERATIONS.fullmatch(word.text)
            and not (word.text in self.question.capitalised and word.text in self.words)
        ]

    def _answer_rows(
        self, mentions: Sequence[_Mention], rows: Sequence[StatementRow]
    ) -> StatementAnswer | None:
        """Return the answer over one or two named rows; `None` if the question asks for neither."""
        rest = self._cut_mentions(mentions)
        if len(rows) == 1:
            return self._answer_row(rows[0], rest)
        if len(rows) != 2:
            return None
        if _PERCENT.search(rest):
            # "Costs as a percentage of sales" or "what percentage of sales were costs".
            first = self.question.words[mentions[0].first].start
            is_whole_last = not _PERCENT.search(rest[:first])
            return self._relate("share", rows if is_whole_last else rows[::-1])
        patterns: Mapping[_Relation, re.Pattern[str]] = {
            "ratio": _RATIO, "sum": _SUM, "minus": _MINUS
        }  # fmt: skip
        relation = next((name for name, cue in patterns.items() if cue.search(rest)), None)
        return self._relate(relation, rows) if relation else None

    def _cut_mentions(self, mentions: Sequence[_Mention]) -> str:
        """Return the question with blanks in place of the names of rows and of periods."""
        words = self.question.words
        spans = [(words[item.first].start, words[item.last].end) for item in mentions]
        spans += [(span.start, span.end) for span in self.question.periods.spans]
        text = self.question.text
        for start, end in spans:
            text = text[:start] + " " * (end - start) + text[end:]
        return text

    def _answer_row(self, row: StatementRow, rest: str) -> StatementAnswer | None:
        """Return an amount of a row, or its change or growth between two periods.

        Args:
            row: The row.
            rest: The question without the names of rows and periods.
        """
        asked = self.question.periods
        columns = [self._find_column(row, period) for period in asked.periods or (None,)]
        if asked.with_year_before and len(columns) == 1:
            columns.append(self._find_year_before(row, columns[0]))
        chosen = [column for column in columns if column is not None]
        if len(chosen) != len(columns):
            return None
        if len(chosen) == 1:
            is_plain = not _PERCENT.search(rest) and not _CHANGE.search(rest)
            return self._look_up(row, chosen[0]) if is_plain else None
        if len(chosen) > 2 or not (_PERCENT.search(rest) or _CHANGE.search(rest)):
            return None
        first, last = sorted(chosen, key=lambda column: self.statement.periods[column].end)
        return self._compare(row, first, last, is_growth=bool(_PERCENT.search(rest)))

    def _find_column(self, row: StatementRow, asked: AskedPeriod | None) -> int | None:
        """Return the column of a period in which a row has a cell; `None` if there is none.

        Args:
            row: The row.
            asked: The period; `None` for the latest one.

        Raises:
            _Open: If several columns may be meant, or the cell holds no amount.
        """
        columns = {at: self.statement.periods[at] for at in row.cells}
        fitting = self._select_columns(columns, asked)
        if len(fitting) > 1:
            heads = (self.statement.table.names[at] for at in fitting)
            raise _Open("it may mean " + " or ".join(heads))
        if fitting and self.statement.read_amount(row.cells[fitting[0]]) is None:
            raise _Open("a cell that is needed is empty")
        return fitting[0] if fitting else None

    def _select_columns(
        self, columns: Mapping[int, Period], asked: AskedPeriod | None
    ) -> list[int]:
        """Return the columns that may be meant.

        Args:
            columns: The periods of columns.
            asked: The period that the question names; `None` for the latest one.
        """
        months = asked.months if asked else self.question.periods.months
        if asked is None or (asked.quarter and self.quarter):
            if asked is not None and not self._is_named_quarter(asked):
                return []
            fitting = [
                at for at, period in columns.items() if period.months in {months, 0} or not months
            ]
            latest = max((columns[at].end for at in fitting), default=None)
            return [at for at in fitting if columns[at].end == latest]
        return [at for at, period in columns.items() if asked.fits(period)]

    def _is_named_quarter(self, asked: AskedPeriod) -> bool:
        """Return whether a quarter is the one in the report's name."""
        return self.quarter == f"{asked.end[0]:.0f} q{asked.quarter}"

    def _find_year_before(self, row: StatementRow, column: int | None) -> int | None:
        """Return the column of the same period a year earlier; `None` if the row has none."""
        if column is None:
            return None
        periods = self.statement.periods
        before = [at for at in row.cells if periods[at].is_year_before(periods[column])]
        is_filled = len(before) == 1 and self.statement.read_amount(row.cells[before[0]])
        return before[0] if is_filled else None

    def _look_up(self, row: StatementRow, column: int) -> StatementAnswer:
        """Return the amount in a cell."""
        amount = self._read(row, column)
        shown = self._show(amount.digits, row, is_negative=amount.value < 0)
        unit = "%" if amount.is_percent else self.statement.find_scale(row)
        line = f"{_describe(row)}: {shown} {unit}".strip()
        result = self._give(shown, amount.value, unit, line, [(row, column)])
        return StatementAnswer(result, "lookup")

    def _compare(
        self, row: StatementRow, first: int, last: int, *, is_growth: bool
    ) -> StatementAnswer | None:
        """Return the change of a row from one period to a later one.

        Args:
            row: The row.
            first: The column of the earlier period.
            last: The column of the later period.
            is_growth: Whether the change is given in percent of the earlier amount.

        Returns:
            The change; `None` for a growth from zero or less.
        """
        before, after = self._read(row, first).value, self._read(row, last).value
        terms = f"{_write(after)} - {_bracket(before)}"
        cells = [(row, last), (row, first)]
        if is_growth:
            # A growth in percent from zero or from a loss has no meaning.
            if before <= 0:
                return None
            value = round(100 * (after - before) / before, _POINTS)
            line = f"{_describe(row)}: ({terms}) / {_write(before)} = {_write(value)} %"
            return StatementAnswer(self._give(_write(value), value, "%", line, cells), "growth")
        change = round(after - before, 4)
        shown = self._show(_write(abs(change)), row, is_negative=change < 0)
        unit = self.statement.find_scale(row)
        line = f"{_describe(row)}: {terms} = {_write(change)} {unit}".strip()
        return StatementAnswer(self._give(shown, change, unit, line, cells), "difference")

    def _relate(
        self, relation: _Relation, rows: Sequence[StatementRow | None]
    ) -> StatementAnswer | None:
        """Return the value of a relation between two rows in one period.

        Args:
            relation: The relation; `less` takes the size of the second amount from the first one.
            rows: The two rows; `None` for a row that the statement does not have.

        Returns:
            The value; `None` if a row is missing, several periods are named, the divisor is not
            above zero, or the rows have different scales.
        """
        asked = self.question.periods
        one, other = rows
        if one is None or other is None or len(asked.periods) > 1 or asked.with_year_before:
            return None
        column = self._find_column(one, next(iter(asked.periods), None))
        if column is None or self.statement.read_amount(other.cells.get(column, "")) is None:
            return None
        first, second = self._read(one, column).value, self._read(other, column).value
        label = f"{_describe(one)} and {_describe(other)}"
        cells = [(one, column), (other, column)]
        if relation in {"share", "ratio"}:
            if second <= 0:
                return None
            value = round((100 if relation == "share" else 1) * first / second, _POINTS)
            unit = "%" if relation == "share" else ""
            line = f"{label}: {_write(first)} / {_write(second)} = {_write(value)} {unit}".strip()
            result = self._give(_write(value), value, unit, line, cells)
            return StatementAnswer(result, "share" if relation == "share" else "ratio")
        if self.statement.find_scale(one) != self.statement.find_scale(other):
            return None
        # Statements write payments in brackets, which makes them amounts below zero.
        second = abs(second) if relation == "less" else second
        sign = "+" if relation == "sum" else "-"
        value = round(first + second if relation == "sum" else first - second, 4)
        shown = self._show(_write(abs(value)), one, is_negative=value < 0)
        unit = self.statement.find_scale(one)
        line = (
            f"{label}: {_write(first)} {sign} {_bracket(second)} = {_write(value)} {unit}".strip()
        )
        operation: Operation = "sum" if relation == "sum" else "difference"
        return StatementAnswer(self._give(shown, value, unit, line, cells), operation)

    def _read(self, row: StatementRow, column: int) -> Amount:
        """Return the amount of a cell that is known to hold one; 0 if it holds none."""
        amount = self.statement.read_amount(row.cells[column])
        return amount or Amount(0.0, "0")

    def _show(self, digits: str, row: StatementRow, *, is_negative: bool) -> str:
        """Return an amount as text, with its sign and the currency of its row."""
        return f"{'-' * is_negative}{self.statement.find_currency(row)}{digits}"

    def _give(
        self,
        shown: str,
        value: float,
        unit: str,
        line: str,
        cells: Sequence[tuple[StatementRow, int]],
    ) -> Result:
        """Return the result with a value.

        Args:
            shown: The value as text.
            value: The value.
            unit: The unit or the scale; empty without one.
            line: The computation in one line.
            cells: The cells that went in, each as its row and column.
        """
        operands = tuple(Operand(row.row, at, Cell(row.cells[at])) for row, at in cells)
        return Result(values=(shown,), number=value, unit=unit, line=line, operands=operands)


def _describe(row: StatementRow) -> str:
    """Return the label of a row, after its section if the label has only one word."""
    if row.section and len(row.names[0]) < 2:
        return f"{row.section.rstrip(':')}, {row.label}"
    return row.label


def _measure_share(section: str, words: frozenset[str]) -> float:
    """Return the share, in [0, 1], of a section's words that a question has."""
    stems = set(split_label(section))
    return len(stems & words) / max(len(stems), 1)


def _describe_place(row: StatementRow) -> str:
    """Return the label of a row with its section behind it."""
    return f"{row.label} ({row.section.rstrip(':')})" if row.section else row.label


def _write(value: float) -> str:
    """Return a number with marks between thousands."""
    return format_number(value)


def _bracket(value: float) -> str:
    """Return a number that follows a sign, in brackets if it is below zero."""
    return f"({_write(value)})" if value < 0 else _write(value)
