"""Questions in a slightly different form: with a typing error, or in other words.

What is asked for stays the same, so a planner should decide the same. Everything follows from a
hash of the question: the same question gives the same variants.
"""

import re
from collections.abc import Sequence

from fathom.jsonable import hash_text
from fathom.question.question import Question

_WORD = re.compile(r"[^\W\d_]{5,}")
_LEADS = {
    "en": ("Please tell me: ", "I would like to know, ", "Can you tell me, "),
    "id": ("Tolong beri tahu, ", "Saya ingin tahu, ", "Mohon info, "),
}
_SHORTER = (
    (re.compile(r"^what is\b", re.IGNORECASE), "what's"),
    (re.compile(r"^who is\b", re.IGNORECASE), "who's"),
    (re.compile(r"^in (?:what|which) year\b", re.IGNORECASE), "what year"),
    (re.compile(r"^apakah\b", re.IGNORECASE), "apa"),
    (re.compile(r"^berapakah\b", re.IGNORECASE), "berapa"),
    (re.compile(r"^siapakah\b", re.IGNORECASE), "siapa"),
)


def add_slip(question: str) -> str:
    """Return the question with a typing error in one long word, never in its first letter."""
    words = list(_WORD.finditer(question))
    if not words:
        return question
    word = words[_draw(question, "word", len(words))]
    at = word.start() + 1 + _draw(question, "letter", len(word.group()) - 2)
    first_letter, two = question[at], question[at + 1]
    slips = (two + first_letter, two, first_letter + first_letter + two)
    chosen = slips[_draw(question, "slip", len(slips))]
    return question[:at] + chosen + question[at + 2 :]


def rephrase(question: str) -> str:
    """Return a politer question, or one typed in haste and shortened."""
    leads: Sequence[str] = _LEADS["id" if Question(question).language == "id" else "en"]
    small = question[:1].lower() + question[1:]
    if _draw(question, "manner", 2):
        return leads[_draw(question, "lead", len(leads))] + small
    for pattern, shorter in _SHORTER:
        small = pattern.sub(shorter, small)
    return small.rstrip("? ")


def _draw(question: str, what: str, among: int) -> int:
    return int(hash_text(f"{what}\n{question}")[:12], 16) % among
