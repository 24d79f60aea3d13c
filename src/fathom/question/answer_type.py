"""The kind of answer that a question asks for, by its words; English and Indonesian."""

import re

from fathom.text.answer_type import AnswerType
from fathom.text.entities import find_names
from fathom.types import Span

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
_WHOSE = re.compile(r"\b(?:whose|whom)\b", re.IGNORECASE)
_LOCATED = re.compile(r"\b(?:in|at|near|di|ke)\s+(?:the\s+)?$", re.IGNORECASE)


def detect_answer_type(question: str) -> AnswerType:
    """Return the kind of answer that a question asks for; `any` where its words do not tell."""
    return next((kind for kind, cue in _CUES if cue.search(question)), "any")


def can_answer(question: str, text: str, span: Span) -> bool:
    """Return whether the text at a span can be of the kind that the question asks for.

    Only what surely cannot is refused: a person needs letters, and is not a place where something
    is ("in Indonesia").
    """
    if detect_answer_type(question) != "name" or _WHOSE.search(question):
        return True
    if not any(map(str.isalpha, span.cut(text))):
        return False
    return not (_LOCATED.search(text[: span.start]) and span in find_names(text))
