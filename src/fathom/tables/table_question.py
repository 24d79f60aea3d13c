"""A question that is read over a table: the column that it asks for and the rows that it means."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from fathom.question.anchors import Anchor, find_missing
from fathom.question.question import Question
from fathom.tables.computation import Computation, Condition, Operation
from fathom.tables.conditions import ConditionFinder, Conditions
from fathom.tables.links import ColumnLink, StemmedWord, TableWords, split_words
from fathom.tables.table import Table
from fathom.tables.values import fold_text
from fathom.text.dates import parse_month
from fathom.text.language import load_stop_words, split_set


class Superlative(NamedTuple):
    """The meaning of a superlative or a comparative, which refers to an order of values.

    Attributes:
        highest: Whether it asks for the highest value, or else the lowest.
        hint: Words in the names of columns by whose values it orders; empty without any.
        kind: The kind of these columns; empty if the word does not tell it.
    """

    highest: bool
    hint: str = ""
    kind: str = ""


SUPERLATIVES = {
    **dict.fromkeys(split_set("most highest largest greatest biggest maximum top terbanyak "
                              "tertinggi terbesar"), Superlative(True)),
    **dict.fromkeys(split_set("least fewest lowest smallest minimum tersedikit terendah terkecil"),
                    Superlative(False)),
    "best": Superlative(True, "points score"), "worst": Superlative(False, "points score"),
    "longest": Superlative(True, "length duration time years term", "duration"),
    "shortest": Superlative(False, "length duration time years height", "duration"),
    "oldest": Superlative(False, "date year built founded established born", "date"),
    "earliest": Superlative(False, "date year", "date"),
    "youngest": Superlative(True, "date year born", "date"),
    "newest": Superlative(True, "date year", "date"),
    "latest": Superlative(True, "date year", "date"),
    "recent": Superlative(True, "date year", "date"),
    "tallest": Superlative(True, "height elevation"),
    "deepest": Superlative(True, "depth"),
    "heaviest": Superlative(True, "weight displacement"),
    "cheapest": Superlative(False, "price cost fee"),
    "dearest": Superlative(True, "price cost fee"),
    "lightest": Superlative(False, "weight"),
    "fastest": Superlative(False, "time", "duration"),
    "slowest": Superlative(True, "time", "duration"),
    "closest": Superlative(True), "terlama": Superlative(True, "length duration", "duration"),
    "tertua": Superlative(False, "tahun year", "date"),
}  # fmt: skip
COMPARATIVES = {
    **dict.fromkeys(split_set("more higher larger greater bigger over above better lebih"),
                    Superlative(True)),
    **dict.fromkeys(split_set("less fewer lower smaller below under kurang"), Superlative(False)),
    "longer": Superlative(True, "length duration time years", "duration"),
    "shorter": Superlative(False, "length duration time height", "duration"),
    "older": Superlative(False, "date year born", "date"),
    "younger": Superlative(True, "date year born", "date"),
    "earlier": Superlative(False, "date year from", "date"),
    "first": Superlative(False, "date year from", "date"),
    "later": Superlative(True, "date year from", "date"),
    "last": Superlative(True, "date year from", "date"),
    "faster": Superlative(False, "time", "duration"),
    "slower": Superlative(True, "time", "duration"),
    "taller": Superlative(True, "height"), "deeper": Superlative(True, "depth"),
    "heavier": Superlative(True, "weight"), "weigh": Superlative(True, "weight"),
}  # fmt: skip
ENDS = {
    "first": ("first", 0), "last": ("last", 0), "final": ("last", 0), "second": ("first", 1),
    "third": ("first", 2), "fourth": ("first", 3), "fifth": ("first", 4), "bottom": ("last", 0),
    "top": ("first", 0), "pertama": ("first", 0), "terakhir": ("last", 0), "kedua": ("first", 1),
    "ketiga": ("first", 2),
}  # fmt: skip
_SIZES = split_set("largest biggest highest greatest smallest lowest terbesar tertinggi terkecil "
                   "terendah")  # fmt: skip
"""Superlatives of size, which order things by their only amount."""
_CUES = split_set(
    "how many much which what who whom whose where when is are was were do does did has have had "
    "total number numbers amount count sum average mean difference between combined altogether "
    "list name tell me give times most least next previous prior after before following only more "
    "less than there table chart listed according this that these those all each every other same "
    "long year years besides berapa jumlah siapa apa mana kapan rata selisih paling banyak total "
    "yang the "
    "listing in of per persen add adding dijumlahkan jumlahkan tambahkan digabung"
)
"""Words that ask for an operation or have no content; a phrase of cells has none at its ends."""
_BREAKS = split_set(
    "is was were are did does do has have had of in that with who which the to for by on at from "
    "came won can could will be been when where if it they he she his her their its not there than "
    "between before after during received scored made took listed adalah yang di pada dengan "
    "memiliki and or as also only ever"
)
_UNORDERED: frozenset[Operation] = frozenset(
    {"sum", "mean", "ratio", "share", "growth", "count", "distinct"}
)
"""Operations that do not explain a word for an order."""
_TOTAL_STEMS = ("total", "subtot", "jumlah")
_INDONESIAN_SUPERLATIVES = (
    # Before a number these words state a bound: "paling sedikit 3" is "at least 3".
    (re.compile(r"\bpaling (?:banyak|tinggi|besar)\b(?! \d)"), "terbanyak"),
    (re.compile(r"\bpaling (?:sedikit|rendah|kecil)\b(?! \d)"), "tersedikit"),
)
_WHOLE = 0.99
"""The least share of a column's name at which a link counts as the whole name."""
_PART = 0.3
"""The least share of a column's name at which a link to a measure counts."""
_JOINTS = split_set("and dan dengan plus to from ditambah dikurangi")
"""Words between two measures that are to be added or compared."""
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w'\u2019-]{2,}")
_CODE = re.compile(r"\b(?!\d+(?:st|nd|rd|th|s)\b)(?:\d+[^\W\d_]|[^\W\d_]+\d)\w*")
"""A word of letters and digits, such as "5k" or "b12", but for ordinals and decades."""
_ASKS_ROLE = re.compile(
    r"who(?:'s| is| was| are| were) (?:(?:the )?(?P<before>[\w ]{1,40}) (?:of|for)\b"
    r"|[\w .-]{1,40}['\u2019]s? (?P<behind>[\w ]{1,40}))"
)
"""A question for a person in a role: "Who is the manager of Aldby?", "Who is Aldby's manager?"."""
_ASKED_YEAR = re.compile(r"\b(?:which|what|tahun berapa) ?year\b|\btahun berapa\b")
_TOTAL_ROW = re.compile(r"(?:[\w ]{0,15} )?totals?\b.{0,12}|sum|overall|jumlah", re.IGNORECASE)


@dataclass(frozen=True)
class TableQuestion:
    """A question with the links of its words to a table.

    Attributes:
        text: The question, folded.
        words: The words of the question, with corrected spelling.
        content: The table with its words.
        columns: The columns that the question names, the surest first, then those that it names by
            other words.
        unknown_names: The names in the question that are neither in the table nor above it.
        topic: The title, the headings and the file name above the table, folded.
        is_indonesian: Whether the question is Indonesian, in which a noun's head comes first.
        wants_several: Whether the question asks for several things.
    """

    text: str
    words: tuple[StemmedWord, ...]
    content: TableWords
    columns: tuple[ColumnLink, ...]
    unknown_names: tuple[str, ...] = ()
    topic: str = ""
    is_indonesian: bool = False
    wants_several: bool = False

    @classmethod
    def of(cls, question: Question, content: TableWords, topic: str = "") -> "TableQuestion":
        """Read a question over a table.

        Args:
            question: The question.
            content: The words of the table.
            topic: The title, the headings and the file name above the table.
        """
        text = re.sub(r"\s+", " ", fold_text(question.text)).strip()
        for pattern, word in _INDONESIAN_SUPERLATIVES:
            text = pattern.sub(word, text)
        words = tuple(content.correct_spelling(split_words(text)))
        named = content.link_columns(words)
        columns = (*named, *content.link_aliases(words))
        return cls(
            text,
            words,
            content,
            columns,
            unknown_names=_find_unknown_names(question.text, content, topic),
            topic=fold_text(f"{content.table.title} {topic}"),
            is_indonesian=question.language == "id",
            wants_several=question.form == "several",
        )

    @property
    def table(self) -> Table:
        """The table."""
        return self.content.table

    @cached_property
    def data_rows(self) -> tuple[int, ...]:
        """The rows; the first one and the last two are left out if they only total the others."""
        count = self.table.row_count
        ends = {0, count - 2, count - 1} if count > 2 else set[int]()
        totals = {
            at
            for at in ends
            if any(
                _TOTAL_ROW.fullmatch(cell.text)
                for cell in self.table.list_cells(at, self.table.key)
            )
        }
        return tuple(at for at in range(count) if at not in totals)

    @cached_property
    def total_rows(self) -> frozenset[int]:
        """The rows that may total others, by a word in their cells up to the key column."""
        codes: dict[int, set[int]] = defaultdict(set)
        for stem in _TOTAL_STEMS:
            for column, code in self.content.places.get(stem, ()):
                codes[column].add(code)
        rows = (
            self.table.contents[column].list_rows(cells)
            for column, cells in codes.items()
            if column <= self.table.key
        )
        return frozenset[int]().union(*rows)

    @cached_property
    def asked_words(self) -> range:
        """The places of the noun that the question asks for; empty without one."""
        for at, word in enumerate(self.words):
            follows = {"how": ("many", "much"), "number": ("of",), "amount": ("of",)}
            if word.text == "berapa" and at + 1 == len(self.words):
                return range(max(at - 2, 0), at)
            if word.text in {"which", "what", "whose", "berapa", "list", "name"}:
                begin = at + 1
            elif word.text in follows and self.get_text(at + 1) in follows[word.text]:
                begin = at + 2
            else:
                continue
            return self._extend_noun(begin)
        return range(0)

    def _extend_noun(self, begin: int) -> range:
        """Return the places of the noun that begins at or soon after a word."""
        skipped = {"is", "was", "are", "were", "s", "the", "a", "an", "of", "these", "those", "all",
                   "each", "other", "total", "number", "in", "apa", "name", "names", "different",
                   "two", "one", "many", "following"}  # fmt: skip
        while self.get_text(begin) in skipped or self.get_text(begin) in SUPERLATIVES:
            begin += 1
        end = begin
        while end < min(len(self.words), begin + 5) and not self._ends_noun(end, begin):
            end += 1
        return range(begin, end)

    def _ends_noun(self, at: int, begin: int) -> bool:
        """Return whether a noun that begins at `begin` ends before the word at `at`.

        This is so if the word is a small word or a verb in the past tense.
        """
        text = self.words[at].text
        return text in _BREAKS or (at > begin and text.endswith("ed"))

    def get_text(self, at: int) -> str:
        """Return the text of the word at a place; empty if the place is outside of the question."""
        return self.words[at].text if 0 <= at < len(self.words) else ""

    @cached_property
    def asked_column(self) -> ColumnLink | None:
        """The column that the wanted noun names, or whose cells hold it; `None` without one."""
        inside = [
            link
            for link in self.columns
            if link.first in self.asked_words
            and (link.last in self.asked_words or link.share >= _WHOLE)
        ]

        def rate(link: ColumnLink) -> tuple[float, int, int]:
            # The last word of a noun is its head; in Indonesian it is the first.
            if self.is_indonesian:
                return link.share - 0.4 * (link.first - self.asked_words[0]), 0, -link.column
            return link.share + 0.4 * (link.last == self.asked_words[-1]), link.last, -link.column

        return max(inside, key=rate, default=None) or self._find_typed_column()

    def _find_typed_column(self) -> ColumnLink | None:
        """Return the key column if many of its cells hold the wanted noun, such as "lake".

        `None` if they do not.
        """
        if not self.asked_words:
            return None
        head = self.asked_words[-1]
        key = self.table.key
        holding = {
            code
            for column, code in self.content.places.get(self.words[head].stem, ())
            if column == key
        }
        rows = self.table.contents[key].list_rows(holding)
        is_name = len(rows) > max(1, 0.1 * self.table.row_count) and not any(
            len(self.content.stems[key][code]) == 1 for code in holding
        )
        return ColumnLink(key, head, head, 0.4) if is_name else None

    @cached_property
    def asked_role(self) -> int | None:
        """The column of persons that "Who is the manager of Aldby?" names; else `None`."""
        match = _ASKS_ROLE.match(self.text)
        if match is None:
            return None
        ends = [span for span in (match.span("before"), match.span("behind")) if span[0] >= 0]
        return next(
            (
                link.column
                for link in self.columns
                for start, end in ends
                if link.share >= _WHOLE
                and self.words[link.first].start >= start
                and self.words[link.last].end <= end
                and self.table.columns[link.column].kind == "text"
            ),
            None,
        )

    @cached_property
    def joined_measures(self) -> tuple[int, ...]:
        """The columns of amounts that the question joins by a word such as "and".

        They are in the question's order; empty if it joins no two.
        """
        joints = [at for at, word in enumerate(self.words) if word.text in _JOINTS]
        measures: dict[int, ColumnLink] = {}
        for link in self.columns:
            if self.is_measured(link.column) and link.share >= _PART:
                measures.setdefault(link.column, link)
        ends = sorted((link.first, link.last, column) for column, link in measures.items())
        is_joined = len(ends) > 1 and any(ends[0][1] < at < ends[-1][0] for at in joints)
        are_apart = all(one[1] < other[0] for one, other in pairwise(ends))
        return tuple(column for *_, column in ends) if is_joined and are_apart else ()

    @cached_property
    def rival_measures(self) -> tuple[int, ...]:
        """The columns of amounts that the same words name equally well; empty if they name one."""
        best = next((link for link in self.columns if self.is_measured(link.column)), None)
        if best is None:
            return ()
        rivals = [
            link.column
            for link in self.columns
            if self.is_measured(link.column)
            and link[1:] == best[1:]
            and self.words[link.first].stem in self.content.names[link.column]
        ]
        names = {self.content.names[column] for column in rivals}
        return tuple(rivals) if len(names) > 1 else ()

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions that the question states on the rows."""
        cues = frozenset(
            at
            for at, word in enumerate(self.words)
            if word.text in _CUES or (word.text in SUPERLATIVES and word.text not in ENDS)
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
        return finder.find(cues, named, self.asked_role)

    def select(self, conditions: Sequence[Condition]) -> tuple[int, ...]:
        """Return the data rows that meet all conditions, in order."""
        if not conditions:
            return self.data_rows
        # The smallest set first, because a table may have many rows and most conditions few.
        first, *others = sorted((condition.rows for condition in conditions), key=len)
        return tuple(sorted(self._data_set & first.intersection(*others)))

    @cached_property
    def _data_set(self) -> frozenset[int]:
        return frozenset(self.data_rows)

    @cached_property
    def kept(self) -> tuple[Condition, ...]:
        """The conditions to apply, the surest first.

        A condition is dropped if no row meets it together with those before it, bounds on amounts
        and exclusions excepted. The conditions of a group are joined by "or".
        """
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
        # A phrase in nearly all cells, such as a unit, selects nothing.
        most = max(0.9 * len(self.data_rows), 5)
        singles = [condition for condition in self.conditions.single if len(condition.rows) <= most]
        firm = (*self.conditions.amounts, *self.conditions.exclusions)
        for condition in [*self.conditions.times, *firm, *singles, *joined]:
            if self.select([*kept, condition]) or condition in firm:
                kept.append(condition)
        return tuple(kept)

    def is_measured(self, column: int) -> bool:
        """Return whether a column holds amounts and does not only number or rank the rows."""
        spec = self.table.columns[column]
        return spec.kind in {"number", "duration"} and not spec.is_order

    def is_name(self, column: int) -> bool:
        """Return whether a column of texts names the rows: each row has another text."""
        codes = [self.table.contents[column].codes[row] for row in self.data_rows]
        is_text = self.table.columns[column].kind == "text"
        return is_text and len(set(codes)) == len(codes) > 1

    def find_column(
        self,
        words: range,
        *,
        kinds: frozenset[str] = frozenset(),
        skip: frozenset[int] = frozenset(),
    ) -> int | None:
        """Return the column that some words name best; `None` if they name none.

        Args:
            words: The places of the words.
            kinds: The kinds that the column may have; empty for any.
            skip: The columns that are not meant.
        """
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

    def list_columns_behind(self, pattern: re.Pattern[str]) -> frozenset[int]:
        """Return the columns whose names stand right behind a match, as in "average profit"."""
        ends = {match.end() + 1 for match in pattern.finditer(self.text)}
        return frozenset(
            link.column for link in self.columns if self.words[link.first].start in ends
        )

    @cached_property
    def target(self) -> int:
        """The column from which the answer is taken."""
        if self.asked_column is not None:
            return self.asked_column.column
        if self.asked_role is not None:
            return self.asked_role
        if re.search(r"\bwho(?:se|m)?\b|\bsiapa\b", self.text):
            person = self.find_by_hint(
                "name player driver winner athlete coach artist contestant rider wrestler champion "
                "person nama", "text",
            )  # fmt: skip
            return person if person is not None else self.table.key
        if re.search(r"\bwhen\b|\bkapan\b|\bwhat date\b|\byear\b|\btahun\b", self.text):
            dated = self.find_dated()
            if dated is not None:
                return dated
        if re.search(r"\bwhere\b|\bdi mana\b", self.text):
            place = self.find_by_hint("location venue place city country hometown school", "")
            return place if place is not None else self.table.key
        return self.table.key

    def find_dated(self) -> int | None:
        """Return the column of dates that is named, else the first one; `None` without any."""
        everywhere = range(len(self.words))
        named = self.find_column(everywhere, kinds=frozenset({"date"}))
        dated = [at for at, column in enumerate(self.table.columns) if column.kind == "date"]
        return named if named is not None else next(iter(dated), None)

    def find_by_hint(self, hint: str, kind: str) -> int | None:
        """Return the column whose name has one of some words; `None` if there is none.

        Args:
            hint: The words, of which earlier ones win.
            kind: The kind that the column must have; empty for any.
        """
        for word in split_words(hint):
            for at, name in enumerate(self.content.names):
                if word.stem in name and (not kind or self.table.columns[at].kind == kind):
                    return at
        return None

    def find_order(self, at: int, word: Superlative) -> int | None:
        """Return the column by whose values a superlative or comparative orders; else `None`.

        Args:
            at: The place of the word.
            word: The meaning of the word.
        """
        measured = frozenset({"number", "duration", "date"})
        skip = frozenset({self.asked_column.column} if self.asked_column else ())
        behind = range(at + 1, min(at + 7, len(self.words)))
        column = self.find_column(behind, kinds=measured, skip=skip)
        if column is None and word.hint:
            column = self.find_by_hint(word.hint, word.kind)
            column = self.find_by_hint(word.hint, "") if column is None else column
            if column is not None and self.table.columns[column].kind not in measured:
                column = None
        if column is None and word.kind:
            kinds = [spec.kind for spec in self.table.columns]
            column = kinds.index(word.kind) if word.kind in kinds else None
        if column is None:
            column = self.find_column(range(at), kinds=measured - {"date"}, skip=skip)
        amounts = [at for at in range(len(self.table.columns)) if self.is_measured(at)]
        if column is None and self.words[at].text in _SIZES and len(amounts) == 1:
            # "The largest invoice" has the largest amount.
            return amounts[0]
        return column

    def list_orders(self, at: int, word: Superlative) -> tuple[int | None, ...]:
        """Return the columns of amounts that a word such as "longest" may order by, the best first.

        The first one is that of `find_order`; the others fit the word's hint as well, but only if
        the question names no column.

        Args:
            at: The place of the word.
            word: The meaning of the word.
        """
        best = self.find_order(at, word)
        hints = {hint.stem for hint in split_words(word.hint)}
        is_named = best in {link.column for link in self.columns}
        if best is None or is_named or not self.is_measured(best):
            return (best,)
        asked = {self.asked_column.column} if self.asked_column else set[int]()
        rivals = (
            column
            for column, name in enumerate(self.content.names)
            if column not in asked | {best}
            and self.is_measured(column)
            and not hints.isdisjoint(name)
        )
        return (best, *rivals)

    @cached_property
    def base(self) -> Computation:
        """The lookup of the target in the rows that meet the conditions; rules change it."""
        return Computation(
            operation="lookup",
            rows=self.select(self.kept),
            target=self.target,
            conditions=self.kept,
            wants="year" if _ASKED_YEAR.search(self.text) else "cell",
        )

    def find_unknown_noun(self, plan: Computation) -> str:
        """Return the head of the wanted noun if a computation does not explain it; else empty."""
        # The head of an Indonesian noun stands first.
        nouns = [at for at in self.asked_words if self.words[at].text not in _CUES]
        heads = nouns[:1] if self.is_indonesian else nouns[-1:]
        open_words = self._find_open_words(plan)
        return next((self.words[at].text for at in heads if at in open_words), "")

    def is_open(self, start: int, plan: Computation) -> bool:
        """Return whether a computation does not explain the word at an offset of the question."""
        explained = self._list_explained_words(plan)
        return any(
            word.start == start and at not in explained for at, word in enumerate(self.words)
        )

    def find_unknown_code(self, plan: Computation) -> str:
        """Return a word of letters and digits that neither a computation nor the topic explains.

        Such a word names a thing, as "the 5k" does, so a computation over other rows is no answer.
        The text is empty without one.
        """
        explained = self._list_explained_words(plan)
        topic = frozenset(_CODE.findall(self.topic))
        for match in _CODE.finditer(self.text):
            parts = range(*match.span())
            places = {at for at, word in enumerate(self.words) if word.start in parts}
            if match[0] not in topic and explained.isdisjoint(places):
                return match[0]
        return ""

    def list_unknown_words(self, plan: Computation) -> list[str]:
        """Return the words beside a computation's measure that the computation does not explain.

        Such words may name another measure: "ferry traffic income" is not the column "traffic".
        """
        open_words = self._find_open_words(plan)
        # The head of an Indonesian noun names the measure.
        if self.is_indonesian and self.asked_words and self.asked_words[0] in open_words:
            return [self.words[self.asked_words[0]].text]
        link = next((link for link in self.columns if link.column == plan.target), None)
        if link is None or not self.is_measured(plan.target):
            return []
        beside = {link.first - 1, link.last + 1} & open_words & set(self.asked_words)
        return [self.words[at].text for at in sorted(beside)]

    def rate(self, plan: Computation, sureness: float) -> float:
        """Return the score of a computation, in [0, 1].

        Args:
            plan: The computation.
            sureness: The sureness of the rule that made it, which is the score if the computation
                explains all content words; with none explained, it is 35 % of that.
        """
        content = self._list_content_words()
        open_words = self._find_open_words(plan)
        # A sum takes all rows, so it does not explain "first" in "the total of the first three".
        ordering = set() if plan.operation in _UNORDERED else SUPERLATIVES | COMPARATIVES | ENDS
        open_words = {at for at in open_words if self.words[at].text not in ordering}
        share = 1 - len(open_words) / max(len(content), 1)
        return sureness * (0.35 + 0.65 * share)

    def _list_content_words(self) -> list[int]:
        """Return the places of the content words: no stop words, cues or single letters."""
        stop_words = load_stop_words("en") | load_stop_words("id")
        return [
            at
            for at, word in enumerate(self.words)
            if word.text not in stop_words | _CUES and len(word.text) > 1
        ]

    def _find_open_words(self, plan: Computation) -> set[int]:
        """Return the places of the content words that a computation does not explain."""
        explained = self._list_explained_words(plan)
        return {at for at in self._list_content_words() if at not in explained}

    def _list_explained_words(self, plan: Computation) -> set[int]:
        """Return the places of the words that a computation explains."""
        explained = set[int]().union(*(condition.words for condition in plan.conditions))
        columns = {plan.target, plan.order, self.table.key}
        columns |= {condition.column for condition in plan.conditions}
        for link in self.columns:
            if link.column in columns:
                explained |= set(range(link.first, link.last + 1))
        return explained


def _find_unknown_names(text: str, content: TableWords, topic: str) -> tuple[str, ...]:
    """Return the names in a question that are neither in the table nor in its topic.

    Args:
        text: The question as it was asked.
        content: The table with its words.
        topic: The title, the headings and the file name above the table.
    """
    names = [match[0] for match in _NAME.finditer(text) if not _holds_name(topic, text, match)]
    words = [(name, content.correct_spelling(split_words(name))) for name in names]
    heads = {stem for name in content.names for stem in name}
    heads |= {word.stem for word in split_words(content.table.title)}
    return tuple(
        name
        for name, parts in words
        if parts
        and not any(part.stem in content.places or part.stem in heads for part in parts)
        and parse_month(name) is None
    )


def _holds_name(topic: str, text: str, match: re.Match[str]) -> bool:
    """Return whether a topic has a name of a question.

    The name may be joined with the capitalised word before it, as "El Nino" is in "elnino.csv".

    Args:
        topic: The topic.
        text: The question.
        match: The match of the name in the question.
    """
    before = text[: match.start()].rsplit(maxsplit=1)[-1]
    names = [match[0], f"{before}{match[0]}"] if before[0].isupper() else [match[0]]
    return any(
        not find_missing([Anchor(kind="entity", text=name, score=1.0)], topic) for name in names
    )
