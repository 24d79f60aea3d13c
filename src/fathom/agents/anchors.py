"""Anchors: the parts of a question that its evidence must hold (anchor paper, section 1).

Rules only, English and Indonesian; no model, no clock.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fathom.text.dates import MONTH, YEAR
from fathom.text.entities import common, names
from fathom.text.language import stop_words
from fathom.types import Span

AnchorKind = Literal[
    "quoted", "identifier", "date", "quarter", "scoreline", "year", "category", "entity", "unit"
]

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
            r"|(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])\w+(?:[.-]\w+)*|v?\d+(?:\.\d+){2,})(?!\w)"
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
_LONG = 7
_PLAIN: frozenset[AnchorKind] = frozenset({"year", "unit", "scoreline"})
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
    """Share of the anchors whose every word the text holds; 1 without anchors."""
    if not wanted:
        return 1.0
    return (len(wanted) - len(missing(wanted, text))) / len(wanted)


def missing(wanted: Sequence[Anchor], text: str) -> tuple[Anchor, ...]:
    """The anchors that the text does not hold."""
    held = frozenset(_words(text))
    return tuple(each for each in wanted if not all(_holds(held, word) for word in _needed(each)))


def _holds(held: frozenset[str], word: str) -> bool:
    """Whether a word is held; a long one also with another ending, as after a slip of the pen."""
    if word in held:
        return True
    stem = word[:-2]
    return len(word) >= _LONG and any(other.startswith(stem) for other in held)


def _needed(anchor: Anchor) -> frozenset[str]:
    """The words of an anchor; small ones count only where there are no others."""
    words = frozenset(_words(anchor.text))
    dropped = _FILLERS | stop_words("en") | stop_words("id")
    return words if anchor.kind in _PLAIN else words - dropped or words


def _words(text: str) -> Iterator[str]:
    """The words in small letters, without possessive endings, what a dash joins each for itself."""
    for match in _WORD.finditer(text):
        word = match.group().casefold()
        for ending in ("'s", "\u2019s"):
            word = word.removesuffix(ending)
        yield from (_SAME.get(part, part) for part in _JOINT.split(word))
