"""Financial statements: tables whose columns are periods and whose rows are amounts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fathom.tables.labels import Stems, split_label
from fathom.tables.periods import Period, parse_head
from fathom.tables.rows import NamedCell, RawTable
from fathom.tables.values import prefers_decimal_comma, read_digits
from fathom.text.dates import YEAR

_HEAD = re.compile(rf"\b{YEAR}\b")
_MAIN = re.compile(
    r"statements? of (?:consolidated )?(?:operations|income|earnings|cash flows?|financial "
    r"position)|balance sheets?|(?:income|cash flow) statements?|profit and loss"
    r"|neraca|laba rugi|posisi keuangan|arus kas",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?:(?P<currency>[$\u20ac\u00a3\u00a5]|US\$|Rp\.?)\s*)?(?:(?P<sign>[-\u2212\u2013(])\s*)?"
    r"(?:(?P<currency2>[$\u20ac\u00a3\u00a5]|US\$|Rp\.?)\s*)?(?P<digits>\d[\d.,]*)"
    r"(?:\s*\))?(?:\s*(?P<percent>%))?\)?"
)
_SCALE = re.compile(
    r"\b(?:in|dalam)\s+(?:\w+ )?(?P<word>thousands?|millions?|billions?|ribuan|jutaan|miliaran)\b"
    r"|\((?P<alone>thousands|millions|billions)\)",
    re.IGNORECASE,
)
_SCALE_WORDS = {"ribuan": "ribu", "jutaan": "juta", "miliaran": "miliar"}
_SHARES_SCALE = re.compile(
    r"shares which are reflected in (?P<word>thousands|millions)", re.IGNORECASE
)
_BARE_SHARES = re.compile(r"except (?:for )?(?:number of )?shares?\b(?! data| and per)", re.I)
_PER_SHARE = re.compile(r"\bper (?:\w+ )?(?:share|saham)\b|\beps\b", re.IGNORECASE)
_SHARE_COUNT = re.compile(
    r"weighted[- ]average|number of shares|shares (?:used|outstanding|issued)|saham beredar",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"(?:total|net cash|jumlah|cash (?:used|generated|provided))\b", re.I)


class StatementRow(NamedTuple):
    """A row of a statement with amounts.

    Attributes:
        row: The place of the row in the table, from 0.
        label: The label of the row.
        section: The last label above it without amounts; empty without one, or after a total.
        cells: The texts in the columns of periods, by column; empty cells are left out.
        names: The stems of the label alone, then with those of the section before and behind them.
    """

    row: int
    label: str
    section: str
    cells: Mapping[int, str]
    names: tuple[Stems, ...]

    @property
    def is_per_share(self) -> bool:
        """True if its amounts are for one share."""
        has_figures = bool(_PER_SHARE.search(self.label) or _PER_SHARE.search(self.section))
        return has_figures and not self.counts_shares

    @property
    def counts_shares(self) -> bool:
        """True if its amounts are numbers of shares."""
        return bool(_SHARE_COUNT.search(self.section or self.label))


class Amount(NamedTuple):
    """An amount of a statement.

    Attributes:
        value: The number as it is printed, without the statement's scale; below zero if it stands
            in brackets or behind a minus.
        digits: The digits as they are printed.
        currency: The currency sign before the number; empty without one.
        is_percent: Whether a percent sign follows.
    """

    value: float
    digits: str
    currency: str = ""
    is_percent: bool = False


@dataclass(frozen=True)
class FinancialStatement:
    """A table whose columns are periods.

    Attributes:
        table: The table.
        start: The offset of its first cell below the head in the document's text.
        periods: The period of each column that has one, by column.
    """

    table: RawTable
    start: int
    periods: Mapping[int, Period]

    @cached_property
    def caption(self) -> str:
        """The description of the statement: its last heading and the head of the labels' column."""
        heads = [
            name for at, name in enumerate(self.table.names) if at not in self.periods and not at
        ]
        return " ".join([*self.table.headings[-1:], *heads])

    @cached_property
    def is_main(self) -> bool:
        """True for a statement that every report has: balance sheet, income, cash flow."""
        return bool(_MAIN.search(self.caption))

    @cached_property
    def names_days(self) -> bool:
        """True if its columns are days, as in a balance sheet, or name no length."""
        return not any(period.months for period in self.periods.values())

    @cached_property
    def rows(self) -> tuple[StatementRow, ...]:
        """The rows with amounts."""
        return tuple(self._iterate_rows())

    def _iterate_rows(self) -> Iterator[StatementRow]:
        """Yield the rows with a label and amounts."""
        section = ""
        for at, cells in enumerate(self.table.rows):
            label = next((cell.text for cell in cells if cell.column == 0), "")
            amounts = _select_amounts(cells, self.periods)
            if not amounts:
                section = label
                continue
            if not label:
                continue
            alone, above = split_label(label), split_label(section)
            names = (alone, above + alone, alone + above) if above else (alone,)
            yield StatementRow(at, label, section, amounts, names)
            # A total ends the section that it adds up.
            section = "" if _CLOSING.match(label) else section

    @cached_property
    def decimal_comma(self) -> bool:
        """True if its numbers have decimal commas."""
        cells = (text.strip("()$ ") for row in self.rows for text in row.cells.values())
        return bool(prefers_decimal_comma(cells))

    def read_amount(self, text: str) -> Amount | None:
        """Return the amount in the text of a cell; `None` for other text, a dash or no text."""
        match = _AMOUNT.fullmatch(text.strip())
        if match is None:
            return None
        value = read_digits(match["digits"], decimal_comma=self.decimal_comma)
        currency = match["currency"] or match["currency2"] or ""
        return Amount(
            -value if match["sign"] else value, match["digits"], currency, bool(match["percent"])
        )

    def find_currency(self, row: StatementRow) -> str:
        """Return the currency sign of a row: its own, else the first one in the rows above it.

        It is empty without one, and for numbers of shares.
        """
        if row.counts_shares:
            return ""
        cells = [
            text for other in self.rows if other.row <= row.row for text in other.cells.values()
        ]
        amounts = filter(None, map(self.read_amount, [*row.cells.values(), *cells]))
        return next((amount.currency for amount in amounts if amount.currency), "")

    def find_scale(self, row: StatementRow) -> str:
        """Return the scale of a row's amounts as a word, such as "million"; empty without one."""
        if row.is_per_share:
            return ""
        shares = _SHARES_SCALE.search(self.caption)
        if row.counts_shares and shares:
            return shares["word"].lower().removesuffix("s")
        if row.counts_shares and _BARE_SHARES.search(self.caption):
            return ""
        match = _SCALE.search(self.caption)
        word = (match["word"] or match["alone"]).lower() if match else ""
        return _SCALE_WORDS.get(word, word.removesuffix("s"))


def list_statements(tables: Sequence[RawTable]) -> tuple[FinancialStatement, ...]:
    """Return the tables with a column behind the first that is a period, main statements first."""
    statements = []
    for table in tables:
        periods = {
            at: period for at, name in enumerate(table.names) if at and (period := parse_head(name))
        }
        if periods and table.rows and table.rows[0]:
            statements.append(FinancialStatement(table, table.rows[0][0].start, periods))
    return tuple(sorted(statements, key=lambda statement: not statement.is_main))


def names_periods(head: str) -> bool:
    """Return whether the text of a table's head may name periods, because it has a year."""
    return bool(_HEAD.search(head))


def _select_amounts(cells: Sequence[NamedCell], periods: Mapping[int, Period]) -> dict[int, str]:
    """Return the texts of a row in the columns of periods, by column, without empty ones."""
    return {cell.column: cell.text for cell in cells if cell.column in periods and cell.text}
