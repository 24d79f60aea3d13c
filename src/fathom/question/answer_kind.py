"""The kind of value that a question asks for, and checks of values against it.

The kinds are finer than `AnswerType`: a number may be money, a percentage, a count or a measure
with its unit. A question can ask for money without naming a currency: "Berapa pendapatan ...?" is
answered with money only. English and Indonesian.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from fathom.text import english, indonesian
from fathom.text.answer_type import AnswerType
from fathom.text.numbers import NUMBER_WORDS, parse_quantities
from fathom.types import Span

AnswerKind = Literal["date", "money", "percentage", "count", "measure", "place", "person"]

_LANGUAGES = (english, indonesian)
_CURRENCY = re.compile(
    r"[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9]|\bRp\b\.?|\bRp(?=\d)"
    r"|(?<![^\W\d_])"
    rf"(?:{'|'.join(word for language in _LANGUAGES for word in language.CURRENCIES)})\b",
    re.IGNORECASE,
)
_NEAR_NUMBER = rf"(?:\d|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b)"
_PRICED = re.compile(
    rf"{_NEAR_NUMBER}[\W_]{{0,2}}(?:{_CURRENCY.pattern})|(?:{_CURRENCY.pattern})[\W_]{{0,2}}\d",
    re.IGNORECASE,
)
"""A sum of money: a currency next to a number; not "Four schools of the Yuan"."""
_SHARE = re.compile(
    rf"%|\b(?:{'|'.join(word for language in _LANGUAGES for word in language.SHARES)})\b",
    re.IGNORECASE,
)
_MONEY_ASKED = re.compile(
    rf"\b(?:{'|'.join(word for language in _LANGUAGES for word in language.PRICES)})\b",
    re.IGNORECASE,
)
_SHARE_ASKED = re.compile(
    r"\b(?:what|which|how (?:many|much)) (?:percent(?:age)?|per cent|proportion|share)\b"
    r"|\bwhat (?:is|was|are|were) [^?,;]{1,60}\bpercentage\b"
    r"|\bberapa(?:kah)? (?:persen(?:tase)?|%)|\bpersentase\b",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\bhow much\b(?! (?:of|time|older|younger|more|less)\b)", re.IGNORECASE)
_BERAPA = re.compile(r"\bberapa(?:kah)?\b", re.IGNORECASE)
_NO_MONEY = re.compile(
    r"\b(?:nomor|pasal|ayat|tanggal|tahun|jam|pukul|angka)\s+berapa"
    r"|\bberapa(?:kah)?\s+(?:kali|banyak|orang|hari|lama)\b",
    re.IGNORECASE,
)
_COUNT_ASKED = re.compile(
    r"\bhow many\s+(?P<en>(?:[^\W\d_]+\s+){0,2}[^\W\d_]+)"
    r"|\bberapa(?:kah)?\s+(?:banyak\s+|jumlah\s+)?(?P<id>[^\W\d_]+)",
    re.IGNORECASE,
)
_HOW = re.compile(r"\bhow\b|\b(?:se)?berapa(?:kah)?\b", re.IGNORECASE)
_WHEN_LATER = re.compile(
    r"^(?!.*\b(?:what|which) (?:year|date|day|month|century|time)\b)"
    r".*?\b(?:what|which|who|whom|how|where|why)\b.*\bwhen\b",
    re.IGNORECASE,
)
"""Questions with another question word before "when": "What was built when ...?"."""
_WHEN_ASIDE = re.compile(
    r"^\W*when\s+(?!(?:is|are|was|were|did|does|do|has|have|had|will|would|can|could|should)\b)\w",
    re.IGNORECASE,
)
"""Questions that begin with a clause: "When the mill closed, who bought it?"."""
_TELLS_TIME, _TELLS_AMOUNT = (
    re.compile(rf"\d|\b(?:[IVXL]{{2,}}|(?i:{'|'.join([*words, *NUMBER_WORDS])}))\b")
    for words in (
        [
            word
            for language in _LANGUAGES
            for word in (*language.TIMES, *(name for names in language.MONTHS for name in names))
        ],
        [word for language in _LANGUAGES for word in language.AMOUNTS],
    )
)
_CLOCK_ASKED = re.compile(
    r"\bwhat (?:time|hour) (?:do|does|can|may|must|should|will)\b|\b(?:jam|pukul) berapa(?:kah)?\b",
    re.IGNORECASE,
)
"""Questions for a time of day. "What time did" is left out, because it often asks for an age."""
_TELLS_CLOCK = re.compile(
    r"\d{1,2}[:.]\d\d(?![\d.])|\b\d{1,2}\s*(?:[ap]\.?\s?m\b|o['\u2019]?clock)"
    r"|\b(?:noon|midday|midnight|dawn|dusk|sunrise|sunset|morning|afternoon|evening|night|hours?"
    r"|pagi|siang|sore|malam|subuh|jam|pukul)\b",
    re.IGNORECASE,
)
_FULL_SHARE = 100
"""The largest share of a whole, in per cent; larger bare numbers are no percentages."""
_ERA = re.compile(r"(?<=\d)\s?S?M\b")
"""Indonesian for AD and BC ("M", "SM"), not a unit of length."""
_EXACT, _LOOSE = (
    tuple((re.compile(rf"\b(?:{cue})\b", re.IGNORECASE), kinds) for cue, kinds in cues)
    for cues in (
        [pair for language in _LANGUAGES for pair in language.MEASURES.items()],
        [pair for language in _LANGUAGES for pair in language.LOOSE_MEASURES.items()],
    )
)
_PRICE_ASKED = re.compile(
    r"^\W*what (?:(?:does|do|did|will)\b.*\bcosts?\b"
    r"|(?:is|was|are|were) (?:the|its|their)(?: \w+)? (?:price|cost|fee|fine|fare|salary|wage)"
    r"(?: (?:for|of|to|per|in|on|at|by)\b|\s*\?|$))",
    re.IGNORECASE,
)
_KINDS: dict[str, AnswerKind] = {"time": "date", "place": "place", "name": "person"}
# In order of precedence: the first kind whose cue matches decides.
_QUESTION_CUES: tuple[tuple[AnswerType, str], ...] = (
    (
        "time",
        r"(?:^(?:(?:and|since|until|by|from) )?when|"
        r"when (?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should|to))|"
        r"(?:what|which) (?:year|date|day|month|century|time)|(?:birth|release) date|"
        r"kapan(?:kah)?|(?:tahun|tanggal|jam|pukul|abad) (?:ke ?)?berapa(?:kah)?|"
        r"(?:hari|bulan|tahun|abad) (?:apa|mana)(?:kah)?",
    ),
    (
        "number",
        r"how (?:many|much|long|old|tall|far|fast|large|big|high|deep|often)|population|"
        r"median age|length|(?:what|which) (?:percentage|percent|number|amount|fee|price|cost)|"
        r"(?:se)?berapa(?:kah)?|jumlah penduduk|panjang",
    ),
    (
        "place",
        r"where|(?:what|which) (?:city|country|state|county|town|village|province)|"
        r"(?:di|ke|dari) ?mana(?:kah)?|(?:kota|negara|provinsi|kabupaten) (?:apa|mana)(?:kah)?",
    ),
    ("sport", r"(?:what|which) sports?|olahraga apa"),
    ("party", r"(?:what|which) (?:political )?party|partai (?:politik )?apa"),
    ("name", r"who|whom|whose|which (?:person|company)|siapa(?:kah)?"),
)
_CUES = tuple((kind, re.compile(rf"\b(?:{cue})\b", re.IGNORECASE)) for kind, cue in _QUESTION_CUES)


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """The kind of value that a question asks for.

    Attributes:
        kind: The kind.
        units: The kinds of measure that are accepted, as in `text.numbers.Quantity.kind`; empty for
            other kinds than measures and percentages.
        exact: Whether only an amount is an answer: true for "how high", false for "how far". For a
            date: whether only a time of day is an answer.
    """

    kind: AnswerKind
    units: frozenset[str] = frozenset()
    exact: bool = False


def detect_answer_type(question: str) -> AnswerType:
    """Return the type of answer that a question asks for; `any` if its words do not say."""
    return next((kind for kind, cue in _CUES if cue.search(question)), "any")


def detect_expected_value(question: str) -> ExpectedValue | None:
    """Return the kind of value that a question asks for; `None` if its words do not say."""
    kind = detect_answer_type(question)
    if kind == "time" and (_WHEN_LATER.search(question) or _WHEN_ASIDE.search(question)):
        return None
    if kind in _KINDS:
        return ExpectedValue(_KINDS[kind], exact=_CLOCK_ASKED.search(question) is not None)
    # Percentages come before numbers, because "how many percent" matches both.
    if _SHARE_ASKED.search(question):
        return ExpectedValue("percentage", frozenset({"share"}))
    if kind == "any" and _PRICE_ASKED.search(question):
        return ExpectedValue("money")
    return _detect_number(question) if kind == "number" else None


def _detect_number(question: str) -> ExpectedValue | None:
    """Return the kind of number that a question asks for; `None` if its words do not say.

    A unit ("how many metres") gives a measure, a word for a price money, a property such as
    "height" a measure, and a counted noun a count; the first of these decides.
    """
    counted = _COUNT_ASKED.search(question)
    things = (counted["en"] or counted["id"] or "").lower() if counted else ""
    # A unit names a measure ("how many metres"), any other noun a count ("how many bridges").
    unit = next((kind for word in _list_phrases(things) if (kind := _look_up_kind(word))), "")
    if unit:
        return ExpectedValue("measure", frozenset({unit}), exact=True)
    if _asks_money(question):
        return ExpectedValue("money")
    # A cue such as "tinggi" (high) names a measure only if the question asks how much.
    asks = bool(counted) or _HOW.search(question)
    exact, loose = (
        [kinds for cue, kinds in cues if asks and cue.search(question)] for cues in (_EXACT, _LOOSE)
    )
    if exact or loose:
        units = frozenset(" ".join(exact + loose).split())
        return ExpectedValue("measure", units, exact=not loose)
    counts = counted and (counted["en"] or things in indonesian.COUNTED)
    return ExpectedValue("count", exact=True) if counts else None


def _asks_money(question: str) -> bool:
    """Return whether a question asks how much and has a word for a price or an income."""
    asks = _HOW_MUCH.search(question) or _BERAPA.search(question)
    return bool(asks and _MONEY_ASKED.search(question) and not _NO_MONEY.search(question))


def _list_phrases(things: str) -> list[str]:
    """Return each pair of neighbouring words ("square kilometres"), then each word."""
    words = things.split()
    return [*(" ".join(pair) for pair in pairwise(words)), *words]


def _look_up_kind(unit: str) -> str:
    """Return the kind of measure of a unit; empty if the word is no unit."""
    return parse_quantities(f"2 {unit}")[0].kind


def gives_value(expected: ExpectedValue, text: str) -> bool:
    """Return whether a text contains a value of the expected kind.

    Money needs a currency and a number, a percentage its sign or word, a place or person a letter.
    Times, measures and counts have so many forms ("during the war", "several", "(47)") that every
    text that is not empty counts as one; `contradicts_kind` finds those that are surely wrong.
    """
    if expected.kind == "money":
        return has_currency(text) and bool(parse_quantities(text))
    if expected.kind == "percentage":
        return bool(_SHARE.search(text))
    if expected.kind in {"place", "person"}:
        return any(map(str.isalpha, text))
    return bool(text.strip())


def is_plausible(expected: ExpectedValue, value: str) -> bool:
    """Return whether a value can be the time, amount or percentage that is asked for.

    A time needs a word or figure for a time, an exact amount a word or figure for an amount. A
    value with a bare number above 100 is no percentage. Any value is plausible for other kinds. An
    empty value is always plausible.
    """
    if expected.kind == "percentage" and not _SHARE.search(value):
        return not any(quantity.value > _FULL_SHARE for quantity in parse_quantities(value))
    time_signs = _TELLS_CLOCK if expected.exact else _TELLS_TIME
    signs = time_signs if expected.kind == "date" else _TELLS_AMOUNT if expected.exact else None
    return not (signs and value.strip()) or bool(signs.search(value))


def contradicts_kind(expected: ExpectedValue, value: str) -> bool:
    """Return whether a value is surely of another kind: metres for a count, a name for a date."""
    amounts = parse_quantities(_ERA.sub("", value))
    if not is_plausible(expected, value):
        return True
    kinds = {amount.kind for amount in amounts} - {""}
    if expected.kind in {"place", "person"} or not amounts:
        return False
    if expected.kind == "money":
        return not has_currency(value) and bool(kinds)
    accepted = {"count": {"share"}, "date": {"time"}}.get(expected.kind, expected.units)
    # A bare number has no kind and may be of any. A price is none of the kinds that are left here.
    return bool(_PRICED.search(value)) or bool(kinds and not kinds & accepted)


_NUMERIC: frozenset[AnswerKind] = frozenset({"money", "count", "measure", "percentage"})
_BEFORE, _AFTER = (
    re.compile(rf"(?:{_CURRENCY.pattern})[\W_]{{0,2}}$", re.IGNORECASE),
    re.compile(r"\s?%|\s+[^\W\d_]+(?:\s+[^\W\d_]+)?"),
)
"""A currency before a number, and the words after it that may say what it counts."""


def contradicts_in_sentence(expected: ExpectedValue, sentence: str, place: Span) -> bool:
    """Return whether a number in a sentence is surely of another kind, by the words next to it.

    A number that counts something ("6,840 street trees") is no sum of money if its sentence does
    not mention money.

    Args:
        expected: The kind of value that is asked for; only numeric kinds are checked.
        sentence: The sentence.
        place: The span of the number in the sentence.
    """
    if expected.kind not in _NUMERIC:
        return False
    before = _BEFORE.search(sentence[: place.start])
    after = _AFTER.match(sentence, place.end)
    value = (
        f"{before.group() if before else ''}{place.cut(sentence)}{after.group() if after else ''}"
    )
    tells_money = has_currency(sentence) or _MONEY_ASKED.search(sentence)
    counts = after and after.group().strip() != "%"
    return contradicts_kind(expected, value) or bool(
        expected.kind == "money" and counts and not tells_money
    )


def has_currency(text: str) -> bool:
    """Return whether a text names a currency."""
    return bool(_CURRENCY.search(text))
