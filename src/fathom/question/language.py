"""The language of a question, which is often too short for the words of a text alone to tell."""

import re
from typing import Literal

from fathom.text.language import detect_language

QuestionLanguage = Literal["en", "id"]

_ASKS = re.compile(
    r"\b(?:apa|siapa|kapan|di ?mana|ke ?mana|berapa|bagaimana|mengapa|kenapa|sebutkan|jelaskan|"
    r"\w{2,}kah)\b",
    re.IGNORECASE,
)


def detect_question_language(question: str) -> QuestionLanguage:
    """Return the language of a question: Indonesian where its words or question words say so."""
    language = detect_language(question)
    if language == "und":
        return "id" if _ASKS.search(question) else "en"
    return language
