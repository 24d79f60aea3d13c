"""Rules that turn an English or Indonesian sentence into questions that it answers."""

from collections.abc import Collection

from fathom.question_maker.asking import english, indonesian
from fathom.question_maker.asking.base import PosedQuestion
from fathom.text.language import Language

__all__ = ["PosedQuestion", "pose_questions"]


def pose_questions(
    sentence: str, language: Language, common: Collection[str] = ()
) -> list[PosedQuestion]:
    """Return the questions that a sentence answers by itself; none if no rule matches.

    The answer to a question is the text of its span.

    Args:
        sentence: One sentence of a document.
        language: The language; anything except `id` counts as English.
        common: The words that the document also has in small letters, so that they are no names.
    """
    rules = indonesian.pose_questions if language == "id" else english.pose_questions
    return [
        question for question in rules(sentence, common) if question.answer.cut(sentence).strip()
    ]
