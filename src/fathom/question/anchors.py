"""Anchors: the parts of a question that its evidence must hold (anchor paper, section 1).

Rules only, English and Indonesian; no model, no clock.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal, Self

from fathom.text.dates import MONTH, YEAR, date_of, month_of
from fathom.text.entities import common, names, texts
from fathom.text.language import stop_words
from fathom.types import Span

AnchorKind = Literal[
    "quoted", "identifier", "date", "quarter", "scoreline", "year", "category", "entity", "unit"
]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NTH = (
    r"first|second|third|fourth|[1-4](?:st|nd|rd|th)|pertama|kedua|ketiga|keempat|[1-4]|iv|i{1,3}"
)
_PARTS = r"quarter|kuartal|triwulan|caturwulan|semester|half"
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

# In this order: what one rule has taken, the next ones leave alone.
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
            rf"\b(?:Q[1-4]|H[12]|(?:{_NTH})\s+(?:{_PARTS})|(?:{_PARTS})\s+(?:{_NTH}))\b"
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
_LONG = 5
_LONGER = 7
_SAME_SPELLING = 0.8
_ORIGIN = re.compile(
    r"[A-Z][a-z]+(?:ish|ese|[^aeiou]ian|ean|ican|ench|utch|reek|wiss)s?|German|Italian|Asian|"
    r"Jew|Roman|Arab|Mongol|Turk|Dane|Swede|Pole|Scot"
)
_YEAR_DIGITS = 4
_YEARS = re.compile(
    rf"\b({YEAR})\s?(?:[-\u2013/]|to|and|until|sampai|hingga|dan)\s?(\d\d(?:\d\d)?)\b"
)
_BETWEEN = re.compile(r"\s+(?:and|dan|&)\s+")
"""What joins two names, each of which is required."""
_TITLED = re.compile(r"[A-Z]\w*(?:[ ](?:(?:of|and|the|for|in|dan|di|untuk) ){0,2}[A-Z]\w*)+")
_EMPTY = _set(
    "prof dr drs dra jr ir kh haji jenderal letjen raja ratu king queen emperor prince president "
    "presiden menteri minister gubernur governor bupati walikota kota kabupaten kecamatan desa "
    "provinsi pulau gunung sungai danau negara pt tbk cv mr mrs ms sir lord lady saint st "
    "pangeran sultan tahun distrik republik the"
)
"""Words of names that tell what somebody or something is, and not which."""
_PLAIN: frozenset[AnchorKind] = frozenset({"year", "unit", "scoreline"})
TIMES: frozenset[AnchorKind] = frozenset({"date", "quarter", "year"})
"""Kinds that say when something was."""
_SAME = {
    **dict.fromkeys(("first", "1st", "pertama", "i", "q1", "h1"), "1"),
    **dict.fromkeys(("second", "2nd", "kedua", "ii", "q2", "h2"), "2"),
    **dict.fromkeys(("third", "3rd", "ketiga", "iii", "q3"), "3"),
    **dict.fromkeys(("fourth", "4th", "keempat", "iv", "q4"), "4"),
    **dict.fromkeys(("percent", "persen", "cent"), "%"),
}
_FILLERS = frozenset({"quarter", "kuartal", "triwulan", "semester", "half", "no", "nomor"})
MOST = 6
_STRONG = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A part of a question that its evidence should hold.

    Attributes:
        text: As it stands in the question, white space made plain, without quotation marks.
        score: How telling it is, in [0, 1].
    """

    kind: AnchorKind
    text: str
    score: float


def anchors(question: str, *, most: int = MOST) -> tuple[Anchor, ...]:
    """The anchors of a question, the most telling first, then in its order; at most `most`.

    A question without capitals has no names to see; its runs of content words stand in for them
    as weak entities.
    """
    taken: list[tuple[Span, Anchor]] = []
    for kind, score, rule in _RULES:
        for match in rule.finditer(question):
            group = 1 if rule.groups else 0
            whole, inner = Span(*match.span()), match.group(group)
            if _free(whole, taken) and not (kind == "identifier" and _ORDINAL.fullmatch(inner)):
                taken.append((whole, _anchor(kind, inner, score)))
    entities = [(span, each) for span, each in _entities(question) if _free(span, taken)]
    if not entities and all(each.score < _STRONG for _, each in taken):
        entities = list(_lower(question, taken))
    ranked = sorted(taken + entities, key=lambda item: (-item[1].score, item[0].start))
    unique = {anchor.text.casefold(): anchor for _, anchor in reversed(ranked)}
    return tuple(each for _, each in ranked if unique[each.text.casefold()] is each)[:most]


def _anchor(kind: AnchorKind, text: str, score: float) -> Anchor:
    return Anchor(kind=kind, text=" ".join(text.split()).strip(" ,;:?"), score=score)


def _free(span: Span, taken: Sequence[tuple[Span, Anchor]]) -> bool:
    return all(span.end <= other.start or other.end <= span.start for other, _ in taken)


def _entities(question: str) -> Iterator[tuple[Span, Anchor]]:
    """Names; longer ones tell more, and a lone word at the beginning little."""
    for span in names(question):
        text = span.cut(question)
        words = len(text.split())
        lone = words == 1 and not question[: span.start].strip(" \"'“\u2018(¿¡")
        score = 0.4 if lone and not text.isupper() else min(7 + words - 1, 9) / 10
        if len(text) > 1:
            yield span, _anchor("entity", text, score)


def _lower(question: str, taken: Sequence[tuple[Span, Anchor]]) -> Iterator[tuple[Span, Anchor]]:
    """Runs of content words, for questions that nobody gave capitals to."""
    run: list[Span] = []
    for match in _WORD.finditer(question):
        span = Span(*match.span())
        kept = _free(span, taken) and not common(match.group())
        if run and not (kept and question[run[-1].end : span.start] == " "):
            yield _run(question, run)
            run = []
        run += [span] if kept else []
    if run:
        yield _run(question, run)


def _run(question: str, run: Sequence[Span]) -> tuple[Span, Anchor]:
    whole = Span(run[0].start, run[-1].end)
    score = 0.3 if len(run) == 1 else 0.5
    return whole, _anchor("entity", whole.cut(question), score)


def coverage(wanted: Sequence[Anchor], text: str) -> float:
    """Share of the anchors that the text holds; 1 without anchors."""
    if not wanted:
        return 1.0
    return (len(wanted) - len(missing(wanted, text))) / len(wanted)


def missing(wanted: Sequence[Anchor], text: str) -> tuple[Anchor, ...]:
    """The anchors that the text does not hold.

    A name is held if its words are, a slip of the pen apart; if the text has a shorter form of it
    ("Mubarak" for "Hosni Mubarak"), or one of the two is the other's initials ("EU"). A year is
    held by itself, by its decade, and by years that it stands between ("1990-1995").
    """
    if not wanted:
        return ()
    held = _Held.of(text)
    return tuple(each for each in wanted if not held.holds(each))


def contradicted(wanted: Sequence[Anchor], text: str) -> tuple[Anchor, ...]:
    """Those of the missing anchors in whose place the text has something else.

    Another year, or a name with one other word: "Mill Bridge" for "Harbour Bridge".
    """
    if not wanted:
        return ()
    held = _Held.of(text)
    return tuple(each for each in wanted if not held.holds(each) and held.contradicts(each))


def required(found: Sequence[Anchor], least: float) -> tuple[Anchor, ...]:
    """The anchors that the evidence must hold: times, and whatever scores at least so much.

    Units are not among them, since what is measured can be told in another one; nor a lone word
    for where somebody or something comes from ("the Italian title"), nor a mere rank ("Dr").
    """
    return tuple(
        each
        for each in found
        if each.kind in TIMES
        or (
            each.score >= least
            and each.kind != "unit"
            and not _ORIGIN.fullmatch(each.text)
            and not frozenset(_words(each.text)) <= _EMPTY
        )
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """What a text holds.

    Attributes:
        words: In small letters, without accents.
        initials: Of its names of several words.
    """

    text: str
    words: frozenset[str]
    names: tuple[frozenset[str], ...]
    initials: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Self:
        named = [each for line in text.splitlines() for each in texts(line)]
        return cls(
            text=text,
            words=frozenset(_words(text)),
            names=tuple(frozenset(_words(each)) - _EMPTY for each in named),
            initials=frozenset(_initials(run.group()) for run in _TITLED.finditer(text)),
        )

    def holds(self, anchor: Anchor) -> bool:
        needed = _needed(anchor)
        if all(map(self._has, needed)):
            return True
        if anchor.kind in TIMES:
            return self._timed(anchor, needed)
        return anchor.kind == "entity" and self._named(anchor, needed)

    def contradicts(self, anchor: Anchor) -> bool:
        """Whether the text has something else in the place of an anchor that it does not hold."""
        if anchor.kind in TIMES:
            own = {word for word in _words(anchor.text) if _is_year(word)}
            return bool(own) and any(map(_is_year, self.words)) and not own & self.words
        words = _needed(anchor)
        return anchor.kind == "entity" and any(
            len(name) == len(words) and len(name - words) == 1 and name & words
            for name in self.names
        )

    def _timed(self, anchor: Anchor, needed: frozenset[str]) -> bool:
        """A date may be written in figures, "8/9" for 8 September, or without its year."""
        if all(self._has(word) or self._dated(word) for word in needed):
            return True
        _, month, day = date_of(anchor.text) or (0.0, 0.0, 0.0)
        if not (month and day):
            return False
        figures = rf"\b{day:.0f} ?[/.-] ?0?{month:.0f}\b(?! ?[/.-] ?\d)"
        name = next(word for word in anchor.text.split() if month_of(word.strip(",")) == month)
        words = rf"\b{day:.0f}\w*\s+(?:of\s+)?{name}\b(?!,?\s*\d{{4}})"
        return bool(re.search(rf"{figures}|{words}", self.text, re.IGNORECASE))

    def _named(self, anchor: Anchor, needed: frozenset[str]) -> bool:
        """Whether the text has another form of a name."""
        if anchor.text.isupper():
            letters = _plain(anchor.text).replace("&", "")
            if any(each.startswith(letters) for each in self.initials):
                return True
        if _initials(anchor.text) in self.words:
            return True
        parts = _BETWEEN.split(anchor.text)
        if len(parts) > 1:
            return all(self.holds(replace(anchor, text=part)) for part in parts)
        return any(name and name < needed for name in self.names)

    def _has(self, word: str) -> bool:
        if word in self.words:
            return True
        return len(word) >= _LONG and any(_alike(word, other) for other in self.words)

    def _dated(self, word: str) -> bool:
        """Whether a year stands between two of the text, or in a decade of it."""
        if not _is_year(word):
            return False
        if f"{word[:3]}0s" in self.words:
            return True
        return any(
            int(found[1]) <= int(word) <= int(found[2].rjust(4, found[1][0])[-4:])
            if len(found[2]) == _YEAR_DIGITS
            else found[1] <= word <= found[1][:2] + found[2]
            for found in _YEARS.finditer(self.text)
        )


def _is_year(word: str) -> bool:
    return len(word) == _YEAR_DIGITS and re.fullmatch(YEAR, word) is not None


def _alike(word: str, other: str) -> bool:
    """Whether two words are the same but for an ending or a slip of the pen."""
    if other.startswith(word[:-2]) and len(word) >= _LONGER:
        return True
    near = abs(len(word) - len(other)) <= 1 and word[0] == other[0] and word.isalpha()
    return near and SequenceMatcher(None, word, other, autojunk=False).ratio() >= _SAME_SPELLING


def _initials(name: str) -> str:
    """Of a name of several words, in small letters; empty where there are no two."""
    found = [word[0] for word in _WORD.findall(name) if word[0].isupper() and word != "The"]
    return _plain("".join(found)) if len(found) > 1 else ""


def _needed(anchor: Anchor) -> frozenset[str]:
    """The words of an anchor; small and empty ones count only where there are no others."""
    words = frozenset(_words(anchor.text))
    if anchor.kind in _PLAIN:
        return words
    return words - _FILLERS - stop_words("en") - stop_words("id") - _EMPTY or words


def _words(text: str) -> Iterator[str]:
    """The words in small letters, without possessive endings, what a dash joins each for itself."""
    for match in _WORD.finditer(text):
        word = _plain(match.group())
        for ending in ("'s", "\u2019s"):
            word = word.removesuffix(ending)
        yield from (_SAME.get(part, part) for part in _JOINT.split(word) if part)


def _plain(word: str) -> str:
    """In small letters without accents."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    apart = unicodedata.normalize("NFD", folded)
    return "".join(each for each in apart if not unicodedata.combining(each))
