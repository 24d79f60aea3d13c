"""The conditions of a question on the rows of a table: named cells, amounts and times."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from fathom.tables.computation import Condition
from fathom.tables.links import CellLink, ColumnLink, StemmedWord, TableWords, split_words
from fathom.tables.table import Cell, Table
from fathom.tables.units import parse_measure
from fathom.tables.values import fold_text, parse_duration, parse_period, read_digits
from fathom.text.dates import FULL_MONTHS, YEAR, Date
from fathom.text.language import split_set
from fathom.text.numbers import INDIAN_GROUPS, parse_numbers, read_scale
from fathom.types import Span

_MONTH = rf"(?:{'|'.join(FULL_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? {YEAR})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? {YEAR})?"
    rf"|{_MONTH},? {YEAR}|{YEAR}\b)"
)
_DIGITS = (
    rf"(?:{INDIAN_GROUPS}|\d+(?:,\d{{3}}){{1,9}}(?:\.\d+)?|\d{{1,3}}(?:\.\d{{3}}){{1,9}}(?:,\d+)?"
    r"|\d+,\d+|\d+:\d\d|(?:\d*\.)?\d+)"
)
_CURRENCY = r"(?:[$\u20ac\u00a3\u00a5]|\b(?:usd|eur|gbp|idr)\b|\brp\.?) ?"
_NUMBER = (
    rf"(?:{_CURRENCY}{_DIGITS} ?(?:mn?|bn?|t)\b|(?:(?:{_CURRENCY})?{_DIGITS}"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zero|once|twice"
    r"|satu|dua|tiga|empat|lima|enam|tujuh|delapan|sembilan|sepuluh)"
    r"(?:k\b|bn\b| ?(?:rb|jt)\b"
    r"|(?: (?:hundred|thousand|million|billion|trillion|ratus|ribu|juta|mil[iy]ar|triliun)\b)"
    r"{1,2})?)"
)
_Test = Callable[[float, float], bool]
_TESTS: Mapping[str, _Test] = {
    ">": lambda value, bound: value > bound,
    "<": lambda value, bound: value < bound,
    ">=": lambda value, bound: value >= bound,
    "<=": lambda value, bound: value <= bound,
    "=": lambda value, bound: value == bound,
}
_BOUNDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (sign, re.compile(pattern.replace("N", f"(?P<number>{_NUMBER})")))
    for sign, pattern in (
        ("<=", r"\b(?:at most|no more than|not more than|no (?:greater|higher|larger) than|up to|"
               r"less (?:than )?or equal to|maximum of|paling banyak|maksimal) N(?!\d)"),
        (">=", r"\b(?:at least|no less than|no fewer than|not less than|minimum of|"
               r"(?:more|greater) than or equal to|paling sedikit|minimal|sedikitnya) N(?!\d)"),
        (">=", r"\bN (?:or (?:more|greater|higher|above|over|better|longer)|atau lebih)\b"),
        ("<=", r"\bN (?:or (?:less|fewer|lower|below|under|shorter)|atau kurang)\b"),
        (">", r"\b(?:(?:more|greater|higher|larger|longer|bigger|taller|older|heavier|better|other|"
              r"lebih(?: \w+)?|di ?atas) (?:than|then|dari(?:pada)?)|over|above|exceed\w*|"
              r"surpass\w*|di ?atas|melebihi)(?: the| a| an)? N(?!\d)"),
        ("<", r"\b(?:(?:less|fewer|lower|smaller|shorter|faster|lighter|worse|kurang) "
              r"(?:than|then|dari(?:pada)?)|under|below|beneath|di ?bawah)"
              r"(?: the| a| an)? N(?!\d)"),
        ("=", r"\b(?:exactly|equal to|tepat) N(?!\d)"),
    )
)  # fmt: skip
"""The words for each kind of bound; of several that match a number, the first counts."""
_LEAST, _MOST = (
    re.compile(rf"\b(?:between|antara) {first} (?:and|dan) {second}(?!\d)")
    for first, second in (
        (f"(?P<number>{_NUMBER})", _NUMBER),
        (_NUMBER, f"(?P<number>{_NUMBER})"),
    )
)
"""A range of amounts, with its first or its second number."""
_EXACTLY = (
    "=",
    re.compile(rf"\b(?:only|total of|exactly|just) (?P<number>{_NUMBER}|once|twice)\b"),
)
_PERIODS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (sign, re.compile(pattern.replace("D", f"({_DATE})")))
    for sign, pattern in (
        ("..", r"\b(?:between|from|antara|dari)(?: the years?| years?| tahun)? D "
               r"(?:and|to|through|until|-|dan|sampai|hingga) D"),
        ("..", rf"({YEAR}) ?[-\u2013] ?({YEAR})\b"),
        ("<", r"\b(?:before|prior to|earlier than|sebelum|lebih awal dari)"
              r"(?: the year| year| tahun)? D"),
        (">=", r"\b(?:since|no earlier than|sejak|starting in)(?: the year| year| tahun)? D"),
        (">", r"\b(?:after|later than|past|following|setelah|sesudah)"
              r"(?: the year| year| tahun)? D"),
        ("<=", r"\b(?:until|by|through|up to|sampai|hingga)(?: the end of| akhir)?(?: tahun)? D"),
        ("=", r"D"),
    )
)  # fmt: skip
_DECADE = re.compile(r"\b(1[5-9]\d0|20\d0)'?s\b")
NEGATING_WORDS = split_set("not no never besides except excluding without outside nt other neither "
                           "nor bukan tidak selain kecuali luar")  # fmt: skip
"""Words that negate the phrase behind them, or exclude it."""
_CODE = re.compile(r"[a-z0-9]+(?:[./-][a-z0-9]+)*")
"""A word that may be a code, such as "b12" or "2025-004"; one without digits or only with them is
none."""
_WHOLES = split_set("all every each any everything everyone nothing nobody none")
"""Words before "but" that make it an exception."""
_JOINTS = split_set("or nor and atau dan maupun")
"""Words that join a phrase to a negated one, so that both are negated."""
_PREPOSITIONS = split_set("in at on of from for to by the di dari ke pada")
"""Words that may stand between a joint and the phrase that it joins."""
_LINKING = split_set("of is was were are")
_ENDING = r"(?=[?.!,;]|$| (?:and|or|in|during|last|this|at all)\b)"
_LOSS = re.compile(
    r"\b(?:(?:made|make|makes|making|had|have|has|with|without|at|reported|posted|suffered)"
    rf"(?: an?| any| no)?(?: net| operating)? loss(?:es)?{_ENDING}"
    r"|loss-making\b|unprofitable\b|(?:me)?rugi\b)"
)
_PROFIT = re.compile(
    r"\b(?:(?:made|make|makes|making|turned|reported|posted|with|without)"
    rf"(?: an?| any| no)(?: net| operating)? profit{_ENDING}|profitable\b)"
)
"""The words for an amount below or above zero in a column of results."""
_OF_LOSS = re.compile(r"\bloss(?:es)? (?:of )?$")
_RESULT_STEMS = frozenset(word.stem for word in split_words("profit laba earnings income result"))
_ORDINAL_WORDS = {"first": 1.0, "second": 2.0, "third": 3.0, "fourth": 4.0, "fifth": 5.0}
_PLAIN_NUMBER = re.compile(rf"{_NUMBER}")
_OUTCOMES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(split_set("win wins won winning beat victory victories defeated menang"),
                    split_set("w win won winner victory wins menang")),
    **dict.fromkeys(split_set("lose loses lost losing loss losses kalah"),
                    split_set("l loss lost lose loser defeat losses kalah")),
    **dict.fromkeys(split_set("draw draws drew drawn tie tied ties seri"),
                    split_set("d t draw drawn tie tied seri")),
}  # fmt: skip
_OUTCOME_CELLS = frozenset[str]().union(*_OUTCOMES.values()) | {"runner", "nominated"}
_AMOUNT = re.compile(r"(?P<currency>[^\d., ]*\.?) ?(?P<digits>[\d.,]*\d)(?P<rest>.*)")
_UNIT_BEHIND = re.compile(r" ?[a-z]+[2\u00b2]?")
_NEAR = 3
"""The number of words before a phrase within which a negation belongs to the phrase."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a question.

    Attributes:
        single: The conditions that all must hold.
        groups: The conditions on one column that no row meets together, such as the two sides of a
            comparison or the members of a list; at least two in each group.
        times: The conditions on time.
        amounts: The conditions on amounts.
        exclusions: The conditions that a cell does not hold a negated phrase.
    """

    single: tuple[Condition, ...] = ()
    groups: tuple[tuple[Condition, ...], ...] = ()
    times: tuple[Condition, ...] = ()
    amounts: tuple[Condition, ...] = ()
    exclusions: tuple[Condition, ...] = ()

    @property
    def every(self) -> tuple[Condition, ...]:
        """All conditions that are in no group."""
        return (*self.times, *self.amounts, *self.exclusions, *self.single)


@dataclass(frozen=True, slots=True)
class ConditionFinder:
    """A search for the conditions of one question on one table.

    Attributes:
        text: The question, folded.
        words: The words of the question.
        content: The table with its words.
        columns: The columns that the question names.
    """

    text: str
    words: Sequence[StemmedWord]
    content: TableWords
    columns: Sequence[ColumnLink]

    @property
    def table(self) -> Table:
        """The table."""
        return self.content.table

    def find(
        self, cues: frozenset[int], named: frozenset[int], asked: int | None = None
    ) -> Conditions:
        """Return the conditions.

        Args:
            cues: The places of words that ask for an operation.
            named: The places of words that name the wanted thing or a column.
            asked: The column from which the answer is surely taken; `None` if it is not sure.
        """
        codes = tuple(self._find_codes())
        amounts = (*self._find_amounts(), *self._find_ranges(), *self._find_results())
        taken = frozenset[int]().union(*(condition.words for condition in (*codes, *amounts)))
        times = tuple(self._find_times(taken))
        taken = taken.union(*(condition.words for condition in times))
        equals = tuple(self._find_equals(taken))
        taken = taken.union(*(condition.words for condition in equals))
        outcomes = tuple(self._find_outcomes())
        taken = taken.union(*(condition.words for condition in outcomes))
        links = [
            self._leave_out(link, asked)
            for link in self.content.link_cells(self.words, cues | taken)
        ]
        chosen = [
            (link, self._choose_column(link, links))
            for link in links
            if not self._is_named(link, named)
        ]
        placed = [(link, column) for link, column in chosen if column is not None]
        negations = self._negate(placed)
        singles, groups = self._group(
            [item for item, negation in zip(placed, negations, strict=True) if negation is None]
        )
        return Conditions(
            (*codes, *outcomes, *singles),
            groups,
            tuple(c for c in times if c.column >= 0 and c.rows),
            (*amounts, *equals),
            tuple(
                self._exclude(link, column, negation)
                for (link, column), negation in zip(placed, negations, strict=True)
                if negation is not None
            ),
        )

    def _find_codes(self) -> Iterator[Condition]:
        """Yield a condition for each code, such as "2025-004", that is the whole text of a cell.

        Its digits are then no year and no amount.
        """
        for match in _CODE.finditer(self.text):
            if match[0].isdigit() or not any(map(str.isdigit, match[0])):
                continue
            places = self.list_places(Span(*match.span()))
            holding = [self.content.places.get(self.words[at].stem, ()) for at in sorted(places)]
            cells = set(holding[0]).intersection(*holding[1:]) if holding else set()
            for column in sorted({column for column, _ in cells}):
                content = self.table.contents[column]
                codes = {
                    code
                    for at, code in cells
                    if at == column and fold_text(content.cells[code].text) == match[0]
                }
                if codes and self.table.columns[column].kind == "text":
                    name = self.table.columns[column].name
                    rows = frozenset(content.list_rows(codes))
                    yield Condition(column, rows, f"{name}: {match[0]}", places)
                    break

    def _find_outcomes(self) -> Iterator[Condition]:
        """Yield at most one condition on the end of games, if a column has words or letters for it.

        An example is "W" for "won".
        """
        for at, word in enumerate(self.words):
            marks = _OUTCOMES.get(word.text)
            column = self._outcome_column if marks else None
            if marks is None or column is None:
                continue
            rows = self.content.select_rows(column, partial(_begins_with, marks))
            if rows:
                name = self.table.columns[column].name
                yield Condition(column, rows, f"{name}: {word.text}", frozenset({at}))
                return

    @property
    def _outcome_column(self) -> int | None:
        """The column most of whose cells begin with a word or letter for the end of a game.

        `None` if there is none.
        """
        for column in range(len(self.table.columns)):
            stems = self.content.stems[column]
            firsts = {cell_stems[0] for cell_stems in stems if cell_stems}
            if len(firsts) < 2 or not firsts & _OUTCOME_CELLS:
                continue
            counts = Counter(self.table.contents[column].codes)
            filled = sum(count for code, count in counts.items() if stems[code])
            outcomes = sum(
                count for code, count in counts.items() if _begins_with(_OUTCOME_CELLS, stems[code])
            )
            if outcomes >= 0.8 * filled:
                return column
        return None

    def list_places(self, span: Span) -> frozenset[int]:
        """Return the places of the words that overlap a span of the question."""
        return frozenset(
            at
            for at, word in enumerate(self.words)
            if word.start < span.end and span.start < word.end
        )

    def _is_named(self, link: CellLink, named: frozenset[int]) -> bool:
        """Return whether a phrase of cells only names the wanted thing or the whole table."""
        inside = set(range(link.first, link.last + 1))
        before = self.words[link.first - 1].text if link.first else ""
        title = {word.stem for word in split_words(self.table.title)}
        is_title = all(self.words[at].stem in title for at in inside)
        return not link.exact and (
            inside <= named or is_title or before in {"this", "these", "that"}
        )

    def _leave_out(self, link: CellLink, column: int | None) -> CellLink:
        """Return a phrase without the cells of a column, if other cells hold it too."""
        rows = {at: rows for at, rows in link.rows.items() if at != column}
        return link._replace(rows=rows) if rows else link

    def _choose_column(self, link: CellLink, links: Sequence[CellLink]) -> int | None:
        """Return the column in which a phrase is meant; `None` if it is meant in none.

        Args:
            link: The phrase, with the columns whose cells hold it.
            links: All phrases of the question.
        """
        phrase = self.words[link.first : link.last + 1]
        is_number = all(word.text.replace(".", "").isdigit() for word in phrase)
        siblings = [other for other in links if other is not link]

        def rate(column: int) -> tuple[float, int]:
            score = 3.0 * (column in link.exact) + 0.5 * (column == self.table.key)
            gap = min(
                (
                    self._measure_gap(link, other)
                    for other in self.columns
                    if other.column == column
                ),
                default=99,
            )
            score += 2.5 if gap <= 2 else 0.8 if gap < 99 else 0
            is_shared = any(column in other.exact for other in siblings)
            score += 0.3 * is_shared + 0.2 * (self.table.columns[column].kind == "text")
            return score, -column

        best = max(link.rows, key=rate)
        # A bare number may mean anything unless its column is named or a cell is just this number.
        if is_number and rate(best)[0] < 2.5:
            return None
        if (
            is_number
            and self.table.columns[best].kind == "number"
            and best not in {other.column for other in self.columns}
        ):
            return None
        return best

    def _measure_gap(self, link: CellLink, other: ColumnLink) -> int:
        """Return the number of words between a phrase and a column's name; 99 if they overlap."""
        if other.first > link.last:
            return other.first - link.last - 1
        return link.first - other.last - 1 if link.first > other.last else 99

    def _build_condition(self, link: CellLink, column: int) -> Condition:
        """Return the condition that a column's cells hold a phrase."""
        places = frozenset(range(link.first, link.last + 1))
        name = self.table.columns[column].name
        return Condition(column, link.rows[column], f"{name}: {self._show(link)}", places)

    def _exclude(self, link: CellLink, column: int, negation: int) -> Condition:
        """Return the condition that a column's cells hold something else than a phrase.

        Args:
            link: The phrase.
            column: The column.
            negation: The place of the word that negates the phrase.
        """
        places = frozenset({negation, *range(link.first, link.last + 1)})
        filled = self.table.contents[column].select_rows(lambda cell: not cell.is_blank)
        name = self.table.columns[column].name
        rows = filled - link.rows[column]
        return Condition(column, rows, f"{name}: not {self._show(link)}", places)

    def _show(self, link: CellLink) -> str:
        """Return the words of a phrase as a text."""
        return " ".join(word.text for word in self.words[link.first : link.last + 1])

    def _find_negation(self, place: int) -> int | None:
        """Return the place of the word that negates the phrase behind it; `None` without one.

        Args:
            place: The place of the phrase's first word.
        """
        # In the name of a column, such as "households without water", no word negates.
        named = {at for other in self.columns for at in range(other.first, other.last + 1)}
        before = [at for at in range(max(place - _NEAR, 0), place) if at not in named]
        return next((at for at in before if self._is_negation(at)), None)

    def _is_negation(self, place: int) -> bool:
        """Return whether a word negates, or excludes as "all but" does."""
        text = self.words[place].text
        is_exception = text == "but" and any(word.text in _WHOLES for word in self.words[:place])
        return is_exception or text in {*NEGATING_WORDS, "t"}

    def _negate(self, chosen: Sequence[tuple[CellLink, int]]) -> list[int | None]:
        """Return for each phrase the place of the word that negates it; `None` without one.

        In "not in Aldby or in Brask" the second phrase is negated as well.

        Args:
            chosen: Phrases of cells, in order, each with the column in which it is meant.
        """
        negations = [self._find_negation(link.first) for link, _ in chosen]
        for at, ((link, column), (other, column_of_other)) in enumerate(pairwise(chosen), 1):
            is_joined = column == column_of_other and self._are_joined(link, other)
            if is_joined and negations[at] is None:
                negations[at] = negations[at - 1]
        return negations

    def _are_joined(self, link: CellLink, other: CellLink) -> bool:
        """Return whether only a word such as "or" and prepositions stand between two phrases."""
        between = {word.text for word in self.words[link.last + 1 : other.first]}
        return not between.isdisjoint(_JOINTS) and between <= _JOINTS | _PREPOSITIONS

    def _group(
        self, chosen: Sequence[tuple[CellLink, int]]
    ) -> tuple[tuple[Condition, ...], tuple[tuple[Condition, ...], ...]]:
        """Return the conditions that stand alone, and the groups that exclude each other.

        Args:
            chosen: Phrases of cells, each with the column in which it is meant.
        """
        conditions = [self._build_condition(link, column) for link, column in chosen]
        singles: list[Condition] = []
        groups: list[list[Condition]] = []
        for condition in conditions:
            home = next(
                (
                    group
                    for group in groups
                    if group[0].column == condition.column
                    and not any(group_item.rows & condition.rows for group_item in group)
                ),
                None,
            )
            if home is None:
                groups.append([condition])
            else:
                home.append(condition)
        singles = [group[0] for group in groups if len(group) == 1]
        return tuple(singles), tuple(tuple(group) for group in groups if len(group) > 1)

    def _find_amounts(self) -> Iterator[Condition]:
        """Yield the conditions that bounds such as "more than 5" state."""
        taken: list[Span] = []
        for sign, pattern in _BOUNDS:
            for match in pattern.finditer(self.text):
                span = Span(*match.span())
                if any(span.start < other.end and other.start < span.end for other in taken):
                    continue
                condition = self._build_amount(sign, match)
                if condition is not None:
                    taken.append(span)
                    yield condition

    def _find_ranges(self) -> Iterator[Condition]:
        """Yield the conditions that ranges such as "between 5 and 10" state on amounts."""
        for least, most in zip(_LEAST.finditer(self.text), _MOST.finditer(self.text), strict=True):
            numbers = (least["number"], most["number"])
            scales = [_read_stated_scale(number) for number in numbers]
            # "Between 1 and 2 million" leaves the scale of the first number open.
            is_open = scales[0] != scales[1] and scales[0] == 1
            if is_open or any(re.fullmatch(YEAR, number) for number in numbers):
                continue
            low, high = self._build_amount(">=", least), self._build_amount("<=", most)
            if low and high and low.column == high.column:
                text = f"{low.text} and <= {numbers[1]}"
                yield Condition(low.column, low.rows & high.rows, text, low.words | high.words)

    def _find_results(self) -> Iterator[Condition]:
        """Yield the condition that words such as "made a loss" state on a column of results."""
        column = find_result_column(self.content)
        for sign, pattern in (("<", _LOSS), (">", _PROFIT)):
            match = pattern.search(self.text)
            if match is None or column is None:
                continue
            places = self.list_places(Span(*match.span()))
            near = range(max(min(places) - _NEAR, 0), max(places) + 1)
            negations = {at for at in near if self._is_negation(at)}
            shown = {"<": ">=", ">": "<="}[sign] if negations else sign
            rows = self._select_amounts(column, partial(_compare_with_zero, shown))
            name = self.table.columns[column].name
            yield Condition(column, rows, f"{name} {shown} 0", places | negations)

    def _find_equals(self, taken: frozenset[int]) -> Iterator[Condition]:
        """Yield the conditions that a named column equals the number beside its name.

        Args:
            taken: The places of words that other conditions have used.
        """
        for at, word in enumerate(self.words):
            number = self._read(word.text) if _PLAIN_NUMBER.fullmatch(word.text) else None
            if word.text in _ORDINAL_WORDS and self._is_order_name(at + 1):
                number = _ORDINAL_WORDS[word.text]
            # "One" and "satu" are often articles, as in "one station".
            if number is None or at in taken or word.text in {"one", "satu"}:
                continue
            if self._find_negation(at) is not None:
                continue
            column = self._find_column_beside(at)
            if column is None:
                continue
            rows = self._select_amounts(column, partial(operator.eq, number))
            if rows:
                name = self.table.columns[column].name
                yield Condition(column, rows, f"{name} = {word.text}", frozenset({at}))

    def _is_order_name(self, at: int) -> bool:
        """Return whether a word is the whole name of a column of numbers, as in "second round"."""
        return any(
            link.first == at == link.last
            and link.share >= 0.99
            and self.table.columns[link.column].kind == "number"
            for link in self.columns
        )

    def _find_column_beside(self, at: int) -> int | None:
        """Return the column of numbers whose unit follows a number or whose name is beside it.

        `None` if there is none.
        """
        following = self.words[at + 1].stem if at + 1 < len(self.words) else ""
        for column, spec in enumerate(self.table.columns):
            units = [word.stem for word in split_words(spec.unit)]
            if spec.kind == "number" and following and following in units:
                return column
        for link in self.columns:
            is_beside = 0 < link.first - at <= 2 or (
                0 < at - link.last <= 2 and self.words[at - 1].text in _LINKING
            )
            is_right_behind = at - link.last == 1
            if (
                self.table.columns[link.column].kind == "number"
                and link.share >= 0.3
                and (is_beside or is_right_behind)
            ):
                return link.column
        return None

    def _build_amount(self, sign: str, match: re.Match[str]) -> Condition | None:
        """Return the condition that a bound states; `None` if no column can be meant.

        Args:
            sign: The comparison, a key of `_TESTS`.
            match: The match of the bound, with the group `number`.
        """
        number = match["number"]
        bound = parse_duration(number) if ":" in number else self._read(number)
        if bound is None:
            return None
        places = self.list_places(Span(*match.span()))
        losses = find_result_column(self.content) if self._follows_loss(match) else None
        column = self._choose_amount_column(places, match.end(), bound)
        column = column if losses is None else losses
        if column is None:
            return None
        if self.table.columns[column].kind == "duration" and ":" not in number:
            unit = next(iter(re.findall(r"^ ?([a-z]+)", self.text[match.end() :])), "")
            bound = parse_duration(f"{number} {unit}") or bound
        test = _TESTS[sign]
        unit, factor = self._read_unit(match.end(), column)
        if factor == 1 and _read_stated_scale(number) != 1:
            factor = 1 / self._get_scale(column)
        limit = round(bound * factor, 9)
        rows = (
            self._select_amounts(column, lambda value: test(value, limit))
            if losses is None
            else self._select_amounts(column, lambda value: value < 0 and test(-value, limit))
        )
        name = self.table.columns[column].name
        name = name if losses is None else f"loss by {name}"
        shown = f"{number}{unit}" if factor != 1 else number
        # The unit belongs to the bound, so it must not select rows whose cells hold it.
        places |= self.list_places(Span(match.start(), match.end() + len(unit)))
        return Condition(column, rows, f"{name} {sign} {shown}", places)

    def _follows_loss(self, bound: re.Match[str]) -> bool:
        """Return whether a bound limits a loss, as in "a loss of more than 5"."""
        return _OF_LOSS.search(self.text, 0, bound.start()) is not None

    def _read_unit(self, end: int, column: int) -> tuple[str, float]:
        """Return the unit behind a bound, and its size in the unit of a column.

        The unit is empty and the size 1 if the column has no unit of this kind.

        Args:
            end: The place behind the bound in the question's text.
            column: The column.
        """
        match = _UNIT_BEHIND.match(self.text, end)
        asked = parse_measure(match[0].strip()) if match else None
        target = parse_measure(self.table.columns[column].unit)
        if match is None or asked is None or target is None or not target.kind:
            return "", 1.0
        is_alike = asked.kind == target.kind
        return (match[0], asked.factor / target.factor) if is_alike else ("", 1.0)

    def _get_scale(self, column: int) -> float:
        """Return the factor by which the numbers of a column are to be multiplied, such as 1000."""
        spec = self.table.columns[column]
        measure = parse_measure(spec.unit)
        scale = measure.factor if measure and not measure.kind else read_scale(spec.unit)
        return scale if scale != 1 else spec.scale

    def _select_amounts(self, column: int, test: Callable[[float], bool]) -> frozenset[int]:
        """Return the rows whose number in a column passes a test."""

        def passes(cell: Cell) -> bool:
            value = self.table.read_value(cell, column)
            return isinstance(value, float) and test(value)

        return self.table.contents[column].select_rows(passes)

    def _read(self, number: str) -> float | None:
        """Return the value of a number, with the table's decimal mark; `None` if it is none."""
        return _read_number(number, decimal_comma=self.table.decimal_comma)

    def _choose_amount_column(self, places: frozenset[int], end: int, bound: float) -> int | None:
        """Return the column that a bound limits; `None` if none can be meant.

        It is a column that is named nearby or has the bound's unit, or else the only one with
        amounts.

        Args:
            places: The places of the bound's words.
            end: The place behind the bound in the question's text.
            bound: The number.
        """
        last, first = max(places), min(places)
        numeric = {
            at
            for at, column in enumerate(self.table.columns)
            if column.kind in {"number", "duration"}
        }
        unit = next(iter(re.findall(r"^ ?([a-z\u00b2]+|%)", self.text[end:])), "")
        following = self.words[last + 1].stem if last + 1 < len(self.words) else ""

        def rate(column: int) -> float:
            gaps = [
                (link.first - last if link.first > last else 1.5 * (first - link.last), link.share)
                for link in self.columns
                if link.column == column
            ]
            score = max((share + 2 / (1 + max(gap, 0)) for gap, share in gaps), default=0.0)
            spec = self.table.columns[column]
            is_time = unit.startswith(("minute", "second", "hour", "menit", "detik", "jam"))
            score += 2 * (spec.kind == "duration" and is_time)
            score += bool(unit) and following in {unit, spec.unit.lower(), spec.unit.lower() + "s"}
            return score - spec.is_order * 0.5 + self._fits_range(column, bound) * 0.3

        if not numeric or self._is_counted(last + 1):
            return None
        best = max(sorted(numeric), key=rate)
        plain = [at for at in numeric if not self.table.columns[at].is_order]
        if rate(best) >= 0.7:
            return best
        # A bound on something else, such as a number of occurrences, rarely fits the values.
        return plain[0] if len(plain) == 1 and self._fits_range(plain[0], bound) else None

    def _is_counted(self, at: int) -> bool:
        """Return whether a word is the whole name of a column of texts, as in "over two ports"."""
        return any(
            link.first == at == link.last
            and link.share >= 0.99
            and self.table.columns[link.column].kind == "text"
            for link in self.columns
        )

    def _fits_range(self, column: int, bound: float) -> bool:
        """Return whether a bound lies between the least and the largest value of a column."""
        content = self.table.contents[column]
        is_plain = self.table.columns[column].kind == "number"
        values = content.numbers if is_plain else [cell.duration for cell in content.cells]
        numbers = [value for value in values if value is not None]
        return bool(numbers) and min(numbers) <= bound <= max(numbers)

    def _find_times(self, taken: frozenset[int]) -> Iterator[Condition]:
        """Yield the conditions on time, with the column -1 for a time that no column can hold.

        Args:
            taken: The places of words that other conditions have used.
        """
        closed = [Span(self.words[at].start, self.words[at].end) for at in taken]
        for match in _DECADE.finditer(self.text):
            start = float(match[1])
            closed.append(Span(*match.span()))
            yield self._build_time("..", [match[1], f"{start + 9:.0f}"], match)
        for sign, pattern in _PERIODS:
            for match in pattern.finditer(self.text):
                span = Span(*match.span())
                if any(span.start < other.end and other.start < span.end for other in closed):
                    continue
                closed.append(span)
                yield self._build_time(sign, list(match.groups()), match)

    def _build_time(self, sign: str, dates: Sequence[str], match: re.Match[str]) -> Condition:
        """Return the condition that a time states; its column is -1 if no column can be meant.

        Args:
            sign: The comparison; `..` is between two dates.
            dates: The dates as text, two for `..`, else one.
            match: The match in the question.
        """
        places = self.list_places(Span(*match.span()))
        day_first = self.table.day_first
        periods = [parse_period(date.replace(" of ", " "), day_first=day_first) for date in dates]
        column = self._choose_time_column(places)
        bounds = [period for period in periods if period]
        if column is None or not bounds:
            return Condition(-1, frozenset(), "", places if len(places) > 1 else frozenset())
        rows = self.table.contents[column].select_rows(
            lambda cell: _meets_time(cell, sign, bounds[0][0], bounds[-1][1])
        )
        if not rows and sign == "=":
            return Condition(-1, frozenset(), "", frozenset())
        name = self.table.columns[column].name
        shown = f" {sign} ".join(dates) if sign == ".." else f"{sign} {dates[0]}"
        return Condition(column, rows, f"{name} {shown}", places)

    def _choose_time_column(self, places: frozenset[int]) -> int | None:
        """Return the column of dates whose name is nearest to some words, else the first one.

        `None` if there is no column of dates.
        """
        dated = [at for at, column in enumerate(self.table.columns) if column.kind == "date"]
        if not dated:
            return None

        def rate(column: int) -> float:
            gaps = [
                min(abs(link.first - max(places)), abs(min(places) - link.last)) - link.share
                for link in self.columns
                if link.column == column
            ]
            return min(gaps, default=99.0)

        return min(dated, key=rate)


def _read_number(text: str, *, decimal_comma: bool = False) -> float | None:
    """Return the value of a number in digits or in words; `None` if it cannot be read."""
    if text in {"once", "twice"}:
        return 1.0 if text == "once" else 2.0
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return next(iter(parse_numbers(text)), None)
    value = read_digits(match["digits"], decimal_comma=decimal_comma)
    return round(value * read_scale(match["rest"], match["currency"]), 9)


def _read_stated_scale(text: str) -> float:
    """Return the factor of the scale in a number such as "2 million"; 1 without one."""
    match = _AMOUNT.fullmatch(text)
    return read_scale(match["rest"], match["currency"]) if match else 1.0


def _compare_with_zero(sign: str, value: float) -> bool:
    """Return whether the comparison of a value with zero holds."""
    return _TESTS[sign](value, 0.0)


def find_result_column(content: TableWords) -> int | None:
    """Return the only column of profits, incomes or the like that has amounts below zero.

    `None` if there is none or there are several.
    """
    columns = [
        at
        for at, column in enumerate(content.table.columns)
        if column.kind == "number"
        and not _RESULT_STEMS.isdisjoint(content.names[at])
        and any((number or 0) < 0 for number in content.table.contents[at].numbers)
    ]
    return columns[0] if len(columns) == 1 else None


def _begins_with(words: frozenset[str], stems: Sequence[str]) -> bool:
    """Return whether the first stem of a cell is one of some words."""
    return bool(stems) and stems[0] in words


def _meets_time(cell: Cell, sign: str, start: Date, end: Date) -> bool:
    """Return whether the time of a cell meets a bound.

    A year, month or day that one of the two leaves open counts as equal.

    Args:
        cell: The cell.
        sign: The comparison; `..` is between two dates.
        start: The date, or the first one.
        end: The last one for `..`, or the end of the period that the date names.
    """
    if cell.period is None:
        return False
    first, last = cell.period
    if sign == "=":
        return _compare_open(first, end) <= 0 <= _compare_open(last, start)
    if sign == "..":
        return _compare_open(first, start) >= 0 and _compare_open(first, end) <= 0
    order = _compare_open(first, start)
    return {"<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[sign]


def _compare_open(one: Date, other: Date) -> int:
    """Return -1, 0 or 1 if one date is before, equal to or after another, as far as both are given.

    A component that is 0 in one of them is left open and not compared.
    """
    for left, right in zip(one, other, strict=True):
        if left and right and left != right:
            return -1 if left < right else 1
    return 0


def find_count_bound(text: str) -> tuple[_Test, float] | None:
    """Return the bound of a question on a number of occurrences, as a test and a number.

    `None` if there is none.
    """
    for sign, pattern in (*_BOUNDS, _EXACTLY):
        match = pattern.search(text)
        number = _read_number(match["number"]) if match else None
        if number is not None:
            return _TESTS[sign], number
    return None
