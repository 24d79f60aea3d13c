"""Rules that turn a sentence into questions that it answers; English and Indonesian."""

from collections.abc import Collection

from fathom.question_maker.asking import english, indonesian
from fathom.question_maker.asking.base import PosedQuestion
from fathom.text.language import Language

__all__ = ["PosedQuestion", "pose_questions"]


def pose_questions(
    sentence: str, language: Language, common: Collection[str] = ()
) -> list[PosedQuestion]:
    """Return the questions that `sentence` answers by itself; none where no pattern fits.

    Deterministic. The answer to a question is the text of its span, verbatim.

    Args:
        sentence: One sentence of a document.
        language: `id`; anything else counts as English.
        common: Words that the document has in small letters too, so that they are no names.
    """
    rules = indonesian.pose_questions if language == "id" else english.pose_questions
    return [
        question for question in rules(sentence, common) if question.answer.cut(sentence).strip()
    ]
