"""The question cleaner: a question as a careful person would have typed it.

Before anything else works on it, so that a greeting or a slip of the fingers changes neither what
is found nor what is decided.
"""

import re
from dataclasses import dataclass

from fathom.agents.rewriter import without_politeness
from fathom.jsonable import Json
from fathom.question.followup import asks
from fathom.question.spelling import Speller, corrected
from fathom.runs.context import RunContext

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class QuestionCleaner:
    """Drops politeness, mends slips of the fingers, and ends a question as one.

    Attributes:
        speller: Looks words up in the index; not called in a replay.
    """

    speller: Speller

    async def clean(self, question: str, context: RunContext) -> str:
        """The question to be answered instead; a step of the run where it is another text."""
        text = punctuated(without_politeness(question))

        async def ask() -> Json:
            return {"words": await context.thread(lambda: self.speller.corrections(text))}

        words = (await context.outside("spelling", text, ask))["words"]
        text = corrected(text, words)
        if text != question:
            with context.step("clean", agent="cleaner") as here:
                mended = ", ".join(f"{typed} read as {meant}" for typed, meant in words.items())
                here.done(outputs={"question": text}, reason=mended or "tidied")
        return text


def punctuated(text: str) -> str:
    """A text that asks, with its question mark."""
    bare = text.rstrip(" .!")
    return f"{bare}?" if asks(bare) and "?" not in bare[-3:] else text


def says_the_same(one: str, other: str) -> bool:
    """Whether the second text has no word that the first has not."""
    known = set(_WORD.findall(one.casefold()))
    return all(word in known for word in _WORD.findall(other.casefold()))
