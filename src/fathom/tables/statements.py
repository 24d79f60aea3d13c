"""Statements: tables whose columns are periods and whose rows are amounts, with their scale."""

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
        row: Its place in the table.
        label: Its label.
        section: The label above it that has no amounts; empty without one.
        cells: The texts of its amounts by their column.
        names: The stems of its label, alone and with those of the section.
    """

    row: int
    label: str
    section: str
    cells: Mapping[int, str]
    names: tuple[Stems, ...]

    @property
    def is_per_share(self) -> bool:
        """Return whether its amounts are for one share."""
        has_figures = bool(_PER_SHARE.search(self.label) or _PER_SHARE.search(self.section))
        return has_figures and not self.counts_shares

    @property
    def counts_shares(self) -> bool:
        """Return whether its amounts are numbers of shares."""
        return bool(_SHARE_COUNT.search(self.section or self.label))


class Amount(NamedTuple):
    """An amount of a statement.

    Attributes:
        value: The number as it is printed; below zero where brackets say so.
        digits: Its digits as they are printed.
        currency: The sign before it; empty without one.
        is_percent: Whether it is a share of a hundred.
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
        start: The place of its first row in the document.
        periods: The period of each column that has one.
    """

    table: RawTable
    start: int
    periods: Mapping[int, Period]

    @cached_property
    def caption(self) -> str:
        """The words that tell what it is: its headings and the head above its labels."""
        heads = [
            name for at, name in enumerate(self.table.names) if at not in self.periods and not at
        ]
        return " ".join([*self.table.headings[-1:], *heads])

    @cached_property
    def is_main(self) -> bool:
        """Return whether it is one of the statements that every report has."""
        return bool(_MAIN.search(self.caption))

    @cached_property
    def names_days(self) -> bool:
        """Return whether its columns are days, as of a balance sheet."""
        return not any(period.months for period in self.periods.values())

    @cached_property
    def rows(self) -> tuple[StatementRow, ...]:
        """The rows with amounts."""
        return tuple(self._iterate_rows())

    def _iterate_rows(self) -> Iterator[StatementRow]:
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
            # A total ends the part that it adds up.
            section = "" if _CLOSING.match(label) else section

    @cached_property
    def decimal_comma(self) -> bool:
        """Return whether its numbers have decimal commas."""
        cells = (text.strip("()$ ") for row in self.rows for text in row.cells.values())
        return bool(prefers_decimal_comma(cells))

    def read_amount(self, text: str) -> Amount | None:
        """Return the amount of a cell; `None` for a text, a dash or an empty cell."""
        match = _AMOUNT.fullmatch(text.strip())
        if match is None:
            return None
        value = read_digits(match["digits"], decimal_comma=self.decimal_comma)
        currency = match["currency"] or match["currency2"] or ""
        return Amount(
            -value if match["sign"] else value, match["digits"], currency, bool(match["percent"])
        )

    def find_currency(self, row: StatementRow) -> str:
        """Return the sign of the currency of a row: its own, else that of the amounts above it."""
        if row.counts_shares:
            return ""
        cells = [
            text for other in self.rows if other.row <= row.row for text in other.cells.values()
        ]
        amounts = filter(None, map(self.read_amount, [*row.cells.values(), *cells]))
        return next((amount.currency for amount in amounts if amount.currency), "")

    def find_scale(self, row: StatementRow) -> str:
        """Return the word for the factor of a row's amounts; empty for one."""
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
    """Return the tables two columns of which, or the only one, are periods; the main ones first."""
    statements = []
    for table in tables:
        periods = {
            at: period for at, name in enumerate(table.names) if at and (period := parse_head(name))
        }
        if periods and table.rows and table.rows[0]:
            statements.append(FinancialStatement(table, table.rows[0][0].start, periods))
    return tuple(sorted(statements, key=lambda statement: not statement.is_main))


def names_periods(head: str) -> bool:
    """Return whether the head of a table may name periods."""
    return bool(_HEAD.search(head))


def _select_amounts(cells: Sequence[NamedCell], periods: Mapping[int, Period]) -> dict[int, str]:
    """Return the texts of the amounts of a row by their columns."""
    return {cell.column: cell.text for cell in cells if cell.column in periods and cell.text}
