"""Questions that a sentence answers, by rules for its pattern; English and Indonesian."""

from collections.abc import Collection

from fathom.question_maker.asking import english, indonesian
from fathom.question_maker.asking.base import Posed
from fathom.text.language import Language

__all__ = ["Posed", "posed"]


def posed(sentence: str, language: Language, common: Collection[str] = ()) -> list[Posed]:
    """The questions that `sentence` answers by itself; none where no pattern fits.

    Deterministic. What a question asks for is the text of its span, verbatim.

    Args:
        sentence: One, as a document has it.
        language: `id`; anything else is taken for English.
        common: Words that the document has in small letters too, so that they are no names.
    """
    rules = indonesian.posed if language == "id" else english.posed
    return [each for each in rules(sentence, common) if each.answer.cut(sentence).strip()]
