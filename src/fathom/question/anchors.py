"""Anchors: the parts of a question that its evidence must contain (anchor study, section 1).

An anchor is a name, a time, a quotation, an identifier, a category, a score or a unit. Regular
expressions find the anchors in English and Indonesian; no model is used.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from fathom.text.dates import MONTH, YEAR, parse_date, parse_month
from fathom.text.entities import find_names, is_common_word, list_names
from fathom.text.language import load_stop_words, split_set
from fathom.types import Span

AnchorKind = Literal[
    "quoted", "identifier", "date", "quarter", "scoreline", "year", "category", "entity", "unit"
]


_NTH = (
    r"first|second|third|fourth|[1-4](?:st|nd|rd|th)|pertama|kedua|ketiga|keempat|[1-4]|iv|i{1,3}"
)
_PERIODS = r"quarter|kuartal|triwulan|caturwulan|semester|half"
_UNITS = (
    "games?|match(?:es)?|person|capita|kapita|year|month|week|day|hour|minute|second|share|unit|"
    "pertandingan|laga|orang|tahun|bulan|minggu|hari|jam|menit|detik|lembar"
)
_MEASURES = (
    "percent|per ?cent|persen|km/h|km|kilomet(?:er|re)s?|met(?:er|re)s?|miles?|feet|kg|kilograms?|"
    "tons?|ton|litres?|liters?|liter|hectares?|hektare?|usd|eur|idr|rupiah|dollars?|dolar|euros?|"
    "million|billion|juta|mili?ar|triliun|ribu"
)
_HONOURS = r"(?:Best|Outstanding|Most Valuable|Top|Album|Song|Record|Rookie) (?:of the )?"

# The kind, the score in [0, 1] and the pattern of each rule. The order matters: later rules find
# nothing within a span that an earlier rule has taken.
_RULES: tuple[tuple[AnchorKind, float, re.Pattern[str]], ...] = (
    ("quoted", 1.0, re.compile(r"[\"“«„]([^\"“”«»„]{2,100})[\"”»]")),
    ("quoted", 1.0, re.compile(r"(?<!\w)['\u2018]([^'\u2018\u2019]{2,100})['\u2019](?!\w)")),
    (
        "identifier",
        1.0,
        re.compile(
            r"\b(?:(?:UU|PP|Perpres|Permen\w*|Perda|Keppres|Inpres|Undang-Undang|Peraturan \w+)\s+"
            r"(?:Nomor|No\.?)?\s*\d+(?:/\d+)*(?:\s+(?:Tahun\s+)?\d{4})?"
            r"|(?:RFC|ISO|IEC|IEEE|DIN|EN|SNI|CVE|KB)[ -]?\d[\w.:-]*)",
            re.IGNORECASE,
        ),
    ),
    (
        "date",
        0.6,
        re.compile(
            rf"\b(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}"
            rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH}(?:,?\s+{YEAR})?"
            rf"|{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+{YEAR})?"
            rf"|{MONTH}\s+{YEAR})\b",
            re.IGNORECASE,
        ),
    ),
    (
        "quarter",
        0.6,
        re.compile(
            rf"\b(?:Q[1-4]|H[12]|(?:{_NTH})\s+(?:{_PERIODS})|(?:{_PERIODS})\s+(?:{_NTH}))\b"
            rf"(?:\s*(?:of\s+|tahun\s+|,\s*)?{YEAR})?",
            re.IGNORECASE,
        ),
    ),
    ("scoreline", 0.6, re.compile(r"(?<![\w-])\d{1,3}\s?[-\u2013:]\s?\d{1,3}(?![\w-])")),
    ("year", 0.4, re.compile(rf"\b{YEAR}(?:s|[-\u2013/]\d{{2,4}})?\b")),
    (
        "identifier",
        0.9,
        re.compile(
            r"(?<![\w.])(?:--?[a-z][\w-]+|\w+(?:_\w+)+|[A-Z][a-z]+-[A-Z][A-Za-z]+[a-z]"
            r"|(?=[\w.-]{0,99}\d)(?=[\w.-]{0,99}[A-Za-z])\w+(?:[.-]\w+)*|v?\d+(?:\.\d+){2,})(?!\w)"
        ),
    ),
    (
        "category",
        0.8,
        re.compile(_HONOURS + r"(?:[A-Z][\w-]+)(?:\s+(?:in a |in |or )?[A-Z][\w-]+)*"),
    ),
    ("category", 0.6, re.compile(r"\b(?:kategori|category)\s+((?:[A-Z][\w-]+\s?)+)")),
    ("unit", 0.3, re.compile(rf"\b(?:per|tiap|setiap)\s+(?:{_UNITS})\b", re.IGNORECASE)),
    ("unit", 0.3, re.compile(rf"%|\b(?:{_MEASURES})\b", re.IGNORECASE)),
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|an|-an)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[-'\u2019&][^\W_]+)*|%")
_JOINT = re.compile(r"[-'\u2019&]")
_LEAST_COMPARED = 5
"""The smallest number of letters of a word whose inflections and misspellings are accepted."""
_LEAST_INFLECTED = 7
"""The smallest number of letters of a word whose last two letters may differ."""
_LEAST_SIMILARITY = 0.8
"""The lowest similarity of two spellings of one word, in [0, 1], as `SequenceMatcher.ratio`."""
_ORIGIN = re.compile(
    r"[A-Z][a-z]+(?:ish|ese|[^aeiou]ian|ean|ican|ench|utch|reek|wiss)s?|German|Italian|Asian|"
    r"Jew|Roman|Arab|Mongol|Turk|Dane|Swede|Pole|Scot"
)
_YEAR_DIGITS = 4
_YEARS = re.compile(
    rf"\b({YEAR})\s?(?:[-\u2013/]|to|and|until|sampai|hingga|dan)\s?(\d\d(?:\d\d)?)\b"
)
_NAME_JOINT = re.compile(r"(?<!\s)\s+(?:and|dan|&)\s+")
"""The word between two names that are both required: "Oslo and Bergen"."""
_TITLE_CASE = re.compile(
    r"[A-Z]\w{0,40}(?:[ ](?:(?:of|and|the|for|in|dan|di|untuk) ){0,2}[A-Z]\w*)+"
)
_RANK_WORDS = split_set(
    "prof dr drs dra jr ir kh haji jenderal letjen raja ratu king queen emperor prince president "
    "presiden menteri minister gubernur governor bupati walikota kota kabupaten kecamatan desa "
    "provinsi pulau gunung sungai danau negara pt tbk cv mr mrs ms sir lord lady saint st "
    "pangeran sultan tahun distrik republik the"
)
"""Words of names for a title or a kind of thing, which do not identify it: "Dr", "river"."""
_WEEKDAYS = split_set(
    "monday tuesday wednesday thursday friday saturday sunday "
    "senin selasa rabu kamis jumat sabtu minggu"
)
_LITERAL_KINDS: frozenset[AnchorKind] = frozenset({"year", "unit", "scoreline"})
"""The kinds of which every word must be in a text, stop words included."""
TIMES: frozenset[AnchorKind] = frozenset({"date", "quarter", "year"})
"""The kinds that are a time."""
_CANONICAL = {
    **dict.fromkeys(("first", "1st", "pertama", "i", "q1", "h1"), "1"),
    **dict.fromkeys(("second", "2nd", "kedua", "ii", "q2", "h2"), "2"),
    **dict.fromkeys(("third", "3rd", "ketiga", "iii", "q3"), "3"),
    **dict.fromkeys(("fourth", "4th", "keempat", "iv", "q4"), "4"),
    **dict.fromkeys(("percent", "persen", "cent"), "%"),
}
_FILLERS = frozenset({"quarter", "kuartal", "triwulan", "semester", "half", "no", "nomor"})
MOST_ANCHORS = 6
"""The largest number of anchors of a question."""
_STRONG_SCORE = 0.5
"""The score from which an anchor is strong; without one, lower-case words become entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A part of a question that its evidence should contain.

    Attributes:
        kind: The kind of part, such as a date or an entity (a name).
        text: The words of the question, with single blanks and without quotation marks.
        score: The importance of the anchor, in [0, 1]; larger is more important.
    """

    kind: AnchorKind
    text: str
    score: float


def find_anchors(question: str) -> tuple[Anchor, ...]:
    """Return the best anchors of a question, by falling score and then by position.

    If a question has no names and no anchor of at least `_STRONG_SCORE`, such as one typed without
    capitals, its runs of content words become entities with low scores.

    Args:
        question: The text of the question.

    Returns:
        At most `MOST_ANCHORS` anchors, no two with the same text.
    """
    taken: list[tuple[Span, Anchor]] = []
    for kind, score, rule in _RULES:
        for match in rule.finditer(question):
            group = 1 if rule.groups else 0
            whole, inner = Span(*match.span()), match.group(group)
            # "1st" has a digit and a letter like an identifier, but identifies nothing.
            if _is_free(whole, taken) and not (kind == "identifier" and _ORDINAL.fullmatch(inner)):
                taken.append((whole, _make_anchor(kind, inner, score)))
    times = [span for span, anchor in taken if anchor.kind in TIMES]
    entities = [
        (span, anchor) for span, anchor in _find_entities(question, times) if _is_free(span, taken)
    ]
    if not entities and all(anchor.score < _STRONG_SCORE for _, anchor in taken):
        entities = list(_find_lowercase_entities(question, taken))
    ranked = sorted(taken + entities, key=lambda item: (-item[1].score, item[0].start))
    # Reversed, so that of equal texts the one with the best score is kept.
    unique = {first.text.casefold(): first for _, first in reversed(ranked)}
    return tuple(anchor for _, anchor in ranked if unique[anchor.text.casefold()] is anchor)[
        :MOST_ANCHORS
    ]


def _make_anchor(kind: AnchorKind, text: str, score: float) -> Anchor:
    """Return an anchor with single blanks and without punctuation at the ends of its text."""
    return Anchor(kind=kind, text=" ".join(text.split()).strip(" ,;:?"), score=score)


def _is_free(span: Span, taken: Sequence[tuple[Span, Anchor]]) -> bool:
    """Return whether a span overlaps no span that a rule has taken."""
    return all(span.end <= other.start or other.end <= span.start for other, _ in taken)


def _find_entities(question: str, times: Sequence[Span]) -> Iterator[tuple[Span, Anchor]]:
    """Yield the names of a question as anchors, with the parts of dates cut out.

    The score is 0.7 for one word, 0.1 more for each further word up to 0.9, and 0.4 for a single
    word that begins the question.
    """
    for span in (
        part for name in find_names(question) for part in _cut_name(question, name, times)
    ):
        text = span.cut(question)
        words = len(text.split())
        lone = words == 1 and not question[: span.start].strip(" \"'“\u2018(¿¡")
        # Every first word has a capital, so a single one may be no name.
        score = 0.4 if lone and not text.isupper() else min(7 + words - 1, 9) / 10
        if len(text) > 1:
            yield span, _make_anchor("entity", text, score)


def _cut_name(question: str, name: Span, times: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a name around the times in it: "Apple" of "Apple Q1 2024"."""
    inner = [time for time in times if time.start < name.end and name.start < time.end]
    if not inner:
        yield name
        return
    start = name.start
    for time in (*sorted(inner, key=lambda time: time.start), Span(name.end, name.end)):
        # Find the names again, because a preposition before the time ("in") belongs to none.
        for part in find_names(question[start : time.start]):
            span = Span(start + part.start, start + part.end)
            if not _is_day_or_month(span.cut(question)):
                yield span
        start = time.end


def _is_day_or_month(text: str) -> bool:
    """Return whether a text is the name of a day of the week or of a month."""
    return text.lower() in _WEEKDAYS or parse_month(text) is not None


def _find_lowercase_entities(
    question: str, taken: Sequence[tuple[Span, Anchor]]
) -> Iterator[tuple[Span, Anchor]]:
    """Yield the runs of content words outside taken spans, for questions without capitals."""
    run: list[Span] = []
    for match in _WORD.finditer(question):
        span = Span(*match.span())
        is_content = _is_free(span, taken) and not is_common_word(match.group())
        # Punctuation between two words ends a run as a stop word does.
        if run and not (is_content and question[run[-1].end : span.start] == " "):
            yield _join_run(question, run)
            run = []
        run += [span] if is_content else []
    if run:
        yield _join_run(question, run)


def _join_run(question: str, run: Sequence[Span]) -> tuple[Span, Anchor]:
    """Return a run of words as one entity; its score is 0.3 for one word and 0.5 for several."""
    whole = Span(run[0].start, run[-1].end)
    score = 0.3 if len(run) == 1 else 0.5
    return whole, _make_anchor("entity", whole.cut(question), score)


def find_missing(anchors: Sequence[Anchor], text: str) -> tuple[Anchor, ...]:
    """Return the anchors that a text does not contain, in their order.

    A text contains a name if it has the words of the name, up to small misspellings, or a shorter
    form of the name ("Mubarak" for "Hosni Mubarak"), or its initials; initials in the question are
    also matched by a full name in the text ("EU"). A text contains a year if the year is in it or
    is part of a decade ("1990s") or of a period ("1990-1995") in it.
    """
    if not anchors:
        return ()
    content = TextContent(text)
    return tuple(anchor for anchor in anchors if not content.holds(anchor))


def find_contradicted(anchors: Sequence[Anchor], text: str) -> tuple[Anchor, ...]:
    """Return the anchors that a text does not contain but replaces by something else.

    A time is replaced if the text has other years only, an entity if the text has a name that
    differs in one word: "Mill Bridge" for "Harbour Bridge".
    """
    if not anchors:
        return ()
    content = TextContent(text)
    return tuple(
        anchor for anchor in anchors if not content.holds(anchor) and content.contradicts(anchor)
    )


def select_required(anchors: Sequence[Anchor], least: float) -> tuple[Anchor, ...]:
    """Return the anchors that the evidence must contain: times, and those with a high score.

    Units are left out, because a measure can be given in another unit. A single word of origin
    ("Italian") and a mere title ("Dr") are left out too.

    Args:
        anchors: The anchors of a question.
        least: The lowest score of an anchor that is not a time, in [0, 1].
    """
    return tuple(
        anchor
        for anchor in anchors
        if anchor.kind in TIMES
        or (
            anchor.score >= least
            and anchor.kind != "unit"
            and not _ORIGIN.fullmatch(anchor.text)
            and not frozenset(_normalize_words(anchor.text)) <= _RANK_WORDS
        )
    )


@dataclass(frozen=True)
class TextContent:
    """The words, names and initials of a text, for comparison with anchors.

    Attributes:
        text: The text itself.
    """

    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        """All words, in lower case and without accents."""
        return frozenset(_normalize_words(self.text))

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The words of each name in order, without titles and stop words."""
        # Line by line, because a name ends with its heading or list item.
        full_names = [name for line in self.text.splitlines() for name in list_names(line)]
        return tuple(_list_name_words(name) for name in full_names)

    @cached_property
    def initials(self) -> frozenset[str]:
        """The initials of names of several words, in lower case."""
        return frozenset(_read_initials(run.group()) for run in _TITLE_CASE.finditer(self.text))

    def holds(self, anchor: Anchor) -> bool:
        """Return whether the text contains an anchor, as `find_missing` defines it."""
        needed = _select_words(anchor)
        if all(map(self._has_word, needed)):
            return True
        if anchor.kind in TIMES:
            return self._holds_time(anchor, needed)
        return anchor.kind == "entity" and self._holds_variant(anchor, needed)

    def contradicts(self, anchor: Anchor) -> bool:
        """Return whether the text has something else in place of an anchor, if it lacks it."""
        if anchor.kind in TIMES:
            years = {word for word in _normalize_words(anchor.text) if _is_year(word)}
            return bool(years) and any(map(_is_year, self.words)) and not years & self.words
        return anchor.kind == "entity" and any(self._list_exchanged(_select_words(anchor)))

    def _list_exchanged(self, words: frozenset[str]) -> Iterator[frozenset[str]]:
        """Yield the shared words of each name, or part of one, that differs in one word.

        A name that shares no word is not yielded: it is about something else.
        """
        for name in self.names:
            for start in range(len(name) - len(words) + 1):
                part = frozenset(name[start : start + len(words)])
                if len(part) == len(words) and len(part - words) == 1 and part & words:
                    yield part & words

    def _holds_time(self, anchor: Anchor, needed: frozenset[str]) -> bool:
        """Return whether the text has a time in another form.

        The year may be in a decade or period of the text; a date may be in figures, day first
        ("8/9"), or without its year.
        """
        if all(self._has_word(word) or self._covers_year(word) for word in needed):
            return True
        _, month, day = parse_date(anchor.text) or (0.0, 0.0, 0.0)
        if not (month and day):
            return False
        # A further figure would be a year, perhaps a different one.
        figures = rf"\b{day:.0f} ?[/.-] ?0?{month:.0f}\b(?! ?[/.-] ?\d)"
        # Empty for a date in figures ("2016-01-10"), which has no name of a month.
        names = (word for word in anchor.text.split() if parse_month(word.strip(",")) == month)
        words = (rf"\b{day:.0f}\w*\s+(?:of\s+)?{name}\b(?!,?\s*\d{{4}})" for name in names)
        return bool(re.search("|".join([figures, *words]), self.text, re.IGNORECASE))

    def _holds_variant(self, anchor: Anchor, needed: frozenset[str]) -> bool:
        """Return whether the text has a name as initials, in full, or in a shorter form."""
        if anchor.text.isupper():
            letters = _fold_word(anchor.text).replace("&", "")
            if any(initials.startswith(letters) for initials in self.initials):
                return True
        if _read_initials(anchor.text) in self.words:
            return True
        halves = _NAME_JOINT.split(anchor.text)
        if len(halves) > 1:
            return all(self.holds(replace(anchor, text=half)) for half in halves)
        shorter = {frozenset(name) for name in self.names if name and frozenset(name) < needed}
        # The kind of thing alone ("Jembatan") is no short form if the text names another such
        # thing.
        first = frozenset([next(_normalize_words(anchor.text))])
        return bool(shorter - {first & common for common in self._list_exchanged(needed)})

    def _has_word(self, word: str) -> bool:
        """Return whether the text has a word or, for a long word, a similar one."""
        if word in self.words:
            return True
        return len(word) >= _LEAST_COMPARED and any(_are_alike(word, other) for other in self.words)

    def _covers_year(self, word: str) -> bool:
        """Return whether a word is a year that is part of a decade or of a period in the text."""
        if not _is_year(word):
            return False
        if f"{word[:3]}0s" in self.words:
            return True
        return any(
            int(period[1]) <= int(word) <= int(period[2].rjust(4, period[1][0])[-4:])
            if len(period[2]) == _YEAR_DIGITS
            # In "1990-95" the end takes the century of the start.
            else period[1] <= word <= period[1][:2] + period[2]
            for period in _YEARS.finditer(self.text)
        )


def _is_year(word: str) -> bool:
    """Return whether a word is a year of four digits, 1000 to 2099."""
    return len(word) == _YEAR_DIGITS and re.fullmatch(YEAR, word) is not None


def _are_alike(word: str, other: str) -> bool:
    """Return whether two words are equal except for an ending or a small misspelling."""
    if other.startswith(word[:-2]) and len(word) >= _LEAST_INFLECTED:
        return True
    # Letters only, because numbers and identifiers that differ in one character are different.
    near = abs(len(word) - len(other)) <= 1 and word[0] == other[0] and word.isalpha()
    return near and SequenceMatcher(None, word, other, autojunk=False).ratio() >= _LEAST_SIMILARITY


def _list_name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in order, without titles and stop words if others remain."""
    words = tuple(_normalize_words(name))
    small = _RANK_WORDS | load_stop_words("en") | load_stop_words("id")
    return tuple(word for word in words if word not in small) or words


def _read_initials(name: str) -> str:
    """Return the initials of a name in lower case; empty if fewer than two words have a capital."""
    letters = [word[0] for word in _WORD.findall(name) if word[0].isupper() and word != "The"]
    return _fold_word("".join(letters)) if len(letters) > 1 else ""


def _select_words(anchor: Anchor) -> frozenset[str]:
    """Return the words of an anchor that a text must have.

    Stop words, titles and words such as "quarter" are left out if other words remain; all words of
    `_LITERAL_KINDS` count.
    """
    words = frozenset(_normalize_words(anchor.text))
    if anchor.kind in _LITERAL_KINDS:
        return words
    return words - _FILLERS - load_stop_words("en") - load_stop_words("id") - _RANK_WORDS or words


def _normalize_words(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case, split at hyphens, apostrophes and ampersands.

    Possessive endings are dropped, and words for the same ordinal or for per cent become one.
    """
    for match in _WORD.finditer(text):
        word = _fold_word(match.group())
        for ending in ("'s", "\u2019s"):
            word = word.removesuffix(ending)
        yield from (_CANONICAL.get(part, part) for part in _JOINT.split(word) if part)


def _fold_word(word: str) -> str:
    """Return a word in lower case without accents."""
    folded = word.casefold()
    # ASCII has no accents to remove, and nearly all words are ASCII.
    if folded.isascii():
        return folded
    decomposed = unicodedata.normalize("NFD", folded)
    return "".join(char for char in decomposed if not unicodedata.combining(char))
