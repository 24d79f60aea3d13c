"""The question cleaner: drops politeness, corrects typing errors and adds the question mark.

It runs before everything else, so that a greeting or a typing error affects neither the search nor
the answer.
"""

import re
from dataclasses import dataclass

from fathom.agents.rewriter import drop_politeness
from fathom.jsonable import Json
from fathom.question.incomplete import has_question_word
from fathom.question.question import Question
from fathom.question.spelling import Speller, apply_corrections
from fathom.runs.context import RunContext

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class QuestionCleaner:
    """A role that tidies a question before the search.

    Attributes:
        speller: The speller that looks words up in the index; it is not called in a replay.
    """

    speller: Speller

    async def clean(self, question: Question, context: RunContext) -> Question:
        """Return the cleaned question; records a step only if the text differs."""
        text = add_question_mark(drop_politeness(question.text))

        async def look_up() -> Json:
            return {
                "words": await context.run_in_thread(lambda: self.speller.find_corrections(text))
            }

        # The words of the index are an outside event: a replay must not depend on a changed index.
        words = (await context.ask_outside("spelling", text, look_up))["words"]
        text = apply_corrections(text, words)
        # No step for an unchanged question, so that most traces stay short.
        if text != question.text:
            with context.step("clean", agent="cleaner") as step:
                changes = ", ".join(f"{typed} read as {meant}" for typed, meant in words.items())
                step.set_outcome(outputs={"question": text}, reason=changes or "tidied")
        return Question(text)


def add_question_mark(text: str) -> str:
    """Return a text with a question mark added if it has a question word and lacks the mark."""
    bare = text.rstrip(" .!")
    return f"{bare}?" if has_question_word(bare) and "?" not in bare[-3:] else text


def adds_no_words(one: str, other: str) -> bool:
    """Return whether every word of the second text is in the first."""
    words = set(_WORD.findall(one.casefold()))
    return all(word in words for word in _WORD.findall(other.casefold()))
