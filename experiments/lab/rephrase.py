"""Questions put a little differently: with a slip of the fingers, or in other words.

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


def with_slip(question: str) -> str:
    """One long word with two letters swapped, one lost, or one struck twice; never its first."""
    words = list(_WORD.finditer(question))
    if not words:
        return question
    word = words[_drawn(question, "word", len(words))]
    at = word.start() + 1 + _drawn(question, "letter", len(word.group()) - 2)
    one, two = question[at], question[at + 1]
    slips = (two + one, two, one + one + two)
    chosen = slips[_drawn(question, "slip", len(slips))]
    return question[:at] + chosen + question[at + 2 :]


def in_other_words(question: str) -> str:
    """Politer, or as typed in haste: without capital and question mark, and shortened."""
    leads: Sequence[str] = _LEADS["id" if Question(question).language == "id" else "en"]
    small = question[:1].lower() + question[1:]
    if _drawn(question, "manner", 2):
        return leads[_drawn(question, "lead", len(leads))] + small
    for pattern, shorter in _SHORTER:
        small = pattern.sub(shorter, small)
    return small.rstrip("? ")


def _drawn(question: str, what: str, among: int) -> int:
    return int(hash_text(f"{what}\n{question}")[:12], 16) % among
