"""Links between the words of a question and the columns and cells of a table."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from fathom.tables.table import Table
from fathom.tables.values import fold_text
from fathom.text.analyzer import Analyzer
from fathom.text.language import load_stop_words, split_set

_WORD = re.compile(r"\d+(?:st|nd|rd|th)\b|\d+(?:[.,]\d+)*(?:[:/]\d+)*(?:\.\d+)?|[^\W\d_][^\W_]*|%")
_BELONGING = re.compile(r"(?<=\w{3})nya$")
"""The Indonesian ending "-nya", which means "its"."""
_UNIT = re.compile(r"(?<=\w) \([^()]*\)$")
"""The unit at the end of a head, which does not belong to the column's name."""
_PLAIN_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20})?")
"""A number that is its own stem."""
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POSSESSIVE = re.compile(r"['\u2019`]s?\b(?=\W|$)")
_ALIASES: Mapping[str, str] = {
    "nation": "country nationality", "country": "nation nationality location origin",
    "film": "title movie", "movie": "film title", "show": "title series program",
    "song": "title single track", "album": "title", "book": "title", "game": "title name",
    "track": "title song", "episode": "title", "work": "title", "team": "club opponent name",
    "opponent": "opposition opponent team", "person": "name", "people": "name", "player": "name",
    "man": "name", "woman": "name", "city": "location place venue", "place": "location venue",
    "location": "venue place site city", "venue": "location stadium site place", "stadium": "venue",
    "athlete": "name player", "driver": "name", "rider": "name", "cyclist": "name winner",
    "actor": "name cast", "winner": "champion winning", "race": "event tournament",
    "time": "length duration", "length": "time duration", "party": "affiliation",
    "attendance": "crowd spectators", "crowd": "attendance", "fan": "attendance crowd",
    "college": "school university", "school": "college university", "year": "date season",
    "date": "year day", "season": "year", "points": "pts score", "point": "pts score total",
    "score": "points result", "result": "score", "position": "place pos rank", "rank": "position",
    "population": "people inhabitants", "size": "area", "money": "prize earnings",
    "genre": "type", "type": "class kind", "kind": "type", "language": "tongue",
    "competition": "tournament event", "tournament": "championship competition event",
    "role": "character", "character": "role", "negara": "country nation", "tahun": "year",
    "nama": "name", "tanggal": "date", "kota": "city", "penduduk": "population",
    "release": "date year", "medal": "total gold silver bronze", "coach": "name",
    "club": "team", "model": "name",
    "name": "title", "band": "artist", "artist": "name", "writer": "written",
    "director": "directed",
    "network": "channel station", "wife": "spouse", "birth": "born", "win": "won", "loss": "lost",
    "draw": "drawn", "goal": "goals", "elevation": "height altitude", "height": "elevation",
    "tall": "height", "deep": "depth", "heavy": "weight", "weigh": "weight", "fast": "speed",
    "old": "age",
    "phone": "telephone tel mobile", "telephone": "phone tel mobile", "mobile": "phone telephone",
    "email": "mail", "job": "role position", "boss": "manager supervisor",
    "manage": "manager", "supply": "supplier vendor", "teach": "teacher instructor",
    "earn": "salary pay wage", "salary": "pay wage", "wage": "pay salary",
    "cost": "price fee", "price": "cost fee", "fee": "price cost", "expensive": "price cost fee",
    "cheap": "price cost fee", "cheapest": "price cost fee",
}  # fmt: skip
"""For a word of a question, the words that heads of columns use for the same thing."""
_LONGEST_PHRASE = 9
"""The largest number of words that are compared with a cell."""
_LEAST_CORRECTED = 5
"""The least number of letters of a word whose spelling is corrected."""
_ORDINALS = split_set("first second third fourth fifth last next")


class StemmedWord(NamedTuple):
    """A word of a text.

    Attributes:
        text: The word in lower case, without accents.
        stem: The stem of the word.
        start: The offset of the word in the folded text.
        end: The offset behind the word.
    """

    text: str
    stem: str
    start: int
    end: int


class ColumnLink(NamedTuple):
    """A run of words of a question that names a column.

    Attributes:
        column: The column, from 0.
        first: The place of the first of the words, from 0.
        last: The place of the last of the words.
        share: The share of the words of the column's name that the run has, in (0, 1]; at most 0.5
            for another word for the name.
    """

    column: int
    first: int
    last: int
    share: float


class CellLink(NamedTuple):
    """A run of words of a question that cells hold.

    Attributes:
        first: The place of the first of the words, from 0.
        last: The place of the last of the words.
        rows: For each column with such cells, the rows of these cells.
        exact: The columns in which some cell is just these words.
    """

    first: int
    last: int
    rows: Mapping[int, frozenset[int]]
    exact: frozenset[int]


_ANALYZER = Analyzer()
_MOST_STEMS = 20_000
"""The number of words whose stems are cached."""


@lru_cache(_MOST_STEMS)
def _stem_word(word: str) -> str:
    terms = _ANALYZER.list_document_terms(word, "en")
    return terms[0] if terms else word


_ALIASES_BY_STEM = {_stem_word(word): aliases for word, aliases in _ALIASES.items()}


def split_words(text: str) -> list[StemmedWord]:
    """Return the words and numbers of a text in order, without marks between thousands."""
    folded = _POSSESSIVE.sub(lambda match: " " * len(match[0]), fold_text(text))
    words = []
    for match in _WORD.finditer(folded):
        word = match.group()
        if "," in word and _GROUPS.fullmatch(word):
            word = word.replace(",", "")
        stem = word if _PLAIN_NUMBER.fullmatch(word) else _stem_word(word)
        words.append(StemmedWord(word, stem, match.start(), match.end()))
    return words


def split_cells(table: Table) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return the stems of the words of each distinct cell, column by column."""
    return tuple(
        tuple(tuple(word.stem for word in split_words(cell.text)) for cell in content.cells)
        for content in table.contents
    )


def list_long_stems(stems: Iterable[str]) -> tuple[str, ...]:
    """Return the stems that a misspelt word may be corrected to, each once."""
    return tuple(
        stem for stem in dict.fromkeys(stems) if len(stem) >= _LEAST_CORRECTED and stem.isalpha()
    )


@dataclass(frozen=True, slots=True)
class TableWords:
    """A table with the words of its heads and cells, for comparisons with questions.

    Attributes:
        table: The table.
        names: The stems of each column's name.
        stems: For each column, the stems of each distinct cell.
        places: For each stem, the distinct cells that hold it, as pairs of the column and the code
            of the cell (`CellColumn`).
        long_stems: The stems that a misspelt word may be corrected to.
    """

    table: Table
    names: tuple[tuple[str, ...], ...]
    stems: Sequence[Sequence[tuple[str, ...]]]
    places: Mapping[str, frozenset[tuple[int, int]]]
    long_stems: tuple[str, ...]

    @classmethod
    def of(cls, table: Table) -> "TableWords":
        """Split the heads and cells of a table into words."""
        stems = split_cells(table)
        places: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for column, cells in enumerate(stems):
            for code, cell_stems in enumerate(cells):
                for stem in cell_stems:
                    places[stem].add((column, code))
        frozen_places = {stem: frozenset(at) for stem, at in places.items()}
        return cls.join(table, stems, frozen_places, list_long_stems(places))

    @classmethod
    def join(
        cls,
        table: Table,
        stems: Sequence[Sequence[tuple[str, ...]]],
        places: Mapping[str, frozenset[tuple[int, int]]],
        long_stems: tuple[str, ...],
    ) -> "TableWords":
        """Build the words of a table whose cells have already been split.

        Args:
            table: The table.
            stems: As the attribute.
            places: As the attribute.
            long_stems: As the attribute.
        """
        names = tuple(
            tuple(word.stem for word in split_words(_UNIT.sub("", column.name)))
            for column in table.columns
        )
        return cls(table, names, stems, places, long_stems)

    def select_rows(self, column: int, test: Callable[[tuple[str, ...]], object]) -> frozenset[int]:
        """Return the rows whose cell in a column has stems that pass a test."""
        codes = {code for code, stems in enumerate(self.stems[column]) if test(stems)}
        return self.table.contents[column].list_rows(codes)

    def link_columns(self, words: Sequence[StemmedWord]) -> list[ColumnLink]:
        """Return the runs of words that name columns, those with the largest share first."""
        links = [
            link for column in range(len(self.names)) for link in self._link_name(words, column)
        ]
        return sorted(links, key=lambda link: (-link.share, link.first, link.column))

    def _link_name(self, words: Sequence[StemmedWord], column: int) -> Iterator[ColumnLink]:
        """Yield the runs of words that name a column."""
        small = _STOP_STEMS | load_stop_words("en")
        name = [stem for stem in self.names[column] if stem not in small]
        if not name:
            return
        at = 0
        while at < len(words):
            end = at
            matched: set[str] = set()
            # Stop words may stand between the words of a name.
            while end < len(words) and (
                (stem := self._match_stem(words[end], name)) or (matched and _is_small(words[end]))
            ):
                matched |= {stem} if stem else set()
                end += 1
            while end > at and _is_small(words[end - 1]):
                end -= 1
            if matched:
                yield ColumnLink(column, at, end - 1, len(matched) / len(set(name)))
            at = max(end, at + 1)

    def _match_stem(self, word: StemmedWord, name: Sequence[str]) -> str:
        """Return the stem of a column's name that a word matches; empty if there is none."""
        if _is_small(word):
            return ""
        return next((stem for stem in name if _are_alike(word.stem, stem)), "")

    def correct_spelling(self, words: Sequence[StemmedWord]) -> list[StemmedWord]:
        """Return the words with corrected stems.

        A long word that neither the table nor the stop words have gets the stem of the table's most
        similar word with the same first letter, if one is similar enough. An Indonesian word loses
        its ending "-nya".
        """
        names = {stem for name in self.names for stem in name}
        corrected = []
        for word in words:
            stem = word.stem
            if _BELONGING.search(word.text) and stem not in self.places:
                stem = _stem_word(_BELONGING.sub("", word.text))
            if (
                len(stem) >= _LEAST_CORRECTED
                and stem.isalpha()
                and not _is_small(word)
                and word.text not in load_stop_words("id")
                and stem not in self.places
                and not any(_are_alike(stem, name) for name in names)
            ):
                alike = [other for other in self.long_stems if other[0] == stem[0]]
                stem = next(iter(get_close_matches(stem, alike, n=1, cutoff=0.8)), stem)
            corrected.append(word._replace(stem=stem))
        return corrected

    def link_aliases(self, words: Sequence[StemmedWord]) -> list[ColumnLink]:
        """Return the words that `_ALIASES` links to a column's name, the surest first."""
        links = []
        for at, word in enumerate(words):
            aliases = _ALIASES_BY_STEM.get(word.stem, "")
            for rank, alias in enumerate(aliases.split()):
                stem = _stem_word(alias)
                links += [
                    ColumnLink(column, at, at, round(0.5 - rank / 20, 3))
                    for column, name in enumerate(self.names)
                    if stem in name or alias in name
                ]
        return sorted(links, key=lambda link: (-link.share, link.first, link.column))

    def link_cells(self, words: Sequence[StemmedWord], closed: frozenset[int]) -> list[CellLink]:
        """Return the runs of words that cells hold, in order and without overlap.

        From the left, the longest run at each word is taken.

        Args:
            words: The words of the question.
            closed: The places of words that cannot begin or end a run.
        """
        links: list[CellLink] = []
        at = 0
        while at < len(words):
            link = self._find_longest(words, at, closed) if at not in closed else None
            if link is None:
                at += 1
            else:
                links.append(link)
                at = link.last + 1
        return links

    def _find_longest(
        self, words: Sequence[StemmedWord], first: int, closed: frozenset[int]
    ) -> CellLink | None:
        """Return the longest run from a word on that cells hold; `None` if there is none."""
        for last in range(min(first + _LONGEST_PHRASE, len(words)) - 1, first - 1, -1):
            if last in closed:
                continue
            phrase = tuple(word.stem for word in words[first : last + 1])
            link = self._link_phrase(phrase, first, last)
            if link is not None and (not self._is_weak(words, link)):
                return link
        return None

    def _is_weak(self, words: Sequence[StemmedWord], link: CellLink) -> bool:
        """Return whether a run is a single small word that is not the whole text of a cell."""
        return link.first == link.last and _is_small(words[link.first]) and not link.exact

    def _link_phrase(self, phrase: tuple[str, ...], first: int, last: int) -> CellLink | None:
        """Return the link of a phrase to the cells that hold it; `None` if no cell does.

        Args:
            phrase: The stems of the phrase.
            first: The place of its first word in the question.
            last: The place of its last word.
        """
        common = frozenset.intersection(*(self.places.get(stem, frozenset()) for stem in phrase))
        holding: dict[int, set[int]] = defaultdict(set)
        exact: dict[int, set[int]] = defaultdict(set)
        for column, code in common:
            stems = self.stems[column][code]
            if _holds_phrase(stems, phrase):
                holding[column].add(code)
                if len(stems) == len(phrase):
                    exact[column].add(code)
        if not holding:
            return None
        # If a number is the whole text of a cell, cells of the same column that only contain the
        # number mean something else.
        is_number = len(phrase) == 1 and phrase[0].isdigit()
        rows = {
            column: self.table.contents[column].list_rows(
                exact[column] if exact[column] and is_number else codes
            )
            for column, codes in holding.items()
        }
        return CellLink(first, last, rows, frozenset(c for c, codes in exact.items() if codes))


_STOP_STEMS = split_set("of the in a an and or for by to at on no number")


def _is_small(word: StemmedWord) -> bool:
    """Return whether a word is an English stop word; words such as "first" are not."""
    return word.text in load_stop_words("en") and word.text not in _ORDINALS


def _are_alike(one: str, other: str) -> bool:
    """Return whether two stems are equal, or one of at least four letters begins the other.

    The shorter one must then have at least 60 % of the other's letters.
    """
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 4:
        return False
    common = len(shorter) if longer.startswith(shorter) else 0
    return common >= 0.6 * len(longer)


def _holds_phrase(stems: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    """Return whether the stems of a cell contain a phrase as a run."""
    return any(stems[at : at + len(phrase)] == phrase for at in range(len(stems) - len(phrase) + 1))
