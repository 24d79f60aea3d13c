"""A question as a value: all that its words tell, each thing read off them once and in one place.

Rules only, for English and Indonesian; no model, no clock.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fathom.question.anchors import Anchor, find_anchors
from fathom.question.answer_kind import ExpectedValue, detect_expected_value
from fathom.question.answer_type import can_answer, detect_answer_type
from fathom.question.clauses import build_chain, find_mentions
from fathom.question.comparison import Comparison, list_options, parse_comparison, split_questions
from fathom.question.definition import extract_term
from fathom.question.form import (
    Form,
    asks_items,
    asks_steps,
    detect_form,
    extract_counted_noun,
    parse_count,
)
from fathom.question.language import QuestionLanguage, detect_question_language
from fathom.question.statement import Statement, parse_statement
from fathom.text.answer_match import answers_match, cluster_answers
from fathom.text.answer_type import AnswerType, find_spans
from fathom.text.entities import find_names
from fathom.text.language import detect_language
from fathom.types import Span

_ACCORDING = re.compile(
    r"\b(?:according to|as stated by|as reported by|menurut)\s+(?:the\s+)?", re.IGNORECASE
)
_YES_NO_WORDS = {"en": ("no", "yes"), "id": ("tidak", "ya")}


@dataclass(frozen=True)
class Question:
    """A question; equal texts are equal questions.

    It is made once where a text enters as a question: asked, rewritten, or split off another one.
    Each property is computed on first use and kept.

    Attributes:
        text: The question as it was written.
    """

    text: str

    @cached_property
    def language(self) -> QuestionLanguage:
        """The language, in which yes and no are said too."""
        return detect_question_language(self.text)

    @cached_property
    def is_foreign(self) -> bool:
        """Return whether its frequent words are Indonesian, whatever its question word is."""
        return detect_language(self.text) == "id"

    @cached_property
    def form(self) -> Form:
        """The form of answer asked for; a choice asks for one answer."""
        return detect_form(self.text)

    @cached_property
    def asks_steps(self) -> bool:
        """Return whether it asks how something is done."""
        return asks_steps(self.text)

    @cached_property
    def asks_items(self) -> bool:
        """Return whether a list of a document may be the answer: "Which papers do I need?"."""
        return asks_items(self.text)

    @cached_property
    def count(self) -> int | None:
        """The number of things that a question for a list asks for; `None` if it gives none."""
        return parse_count(self.text)

    @cached_property
    def counted_noun(self) -> str:
        """The things whose number is asked for: "How many branches are there?"; else empty."""
        return extract_counted_noun(self.text)

    @cached_property
    def answer_type(self) -> AnswerType:
        """The kind of answer asked for; `any` where the words do not tell."""
        return detect_answer_type(self.text)

    @cached_property
    def expected_value(self) -> ExpectedValue | None:
        """The kind of value asked for, finer than `answer_type`; `None` if no word tells it."""
        return detect_expected_value(self.text)

    @cached_property
    def anchors(self) -> tuple[Anchor, ...]:
        """The best parts that its evidence should hold, at most six, by falling score."""
        return find_anchors(self.text)

    @cached_property
    def mentions(self) -> tuple[Span, ...]:
        """The places of names, quoted words and slots, in order."""
        return tuple(find_mentions(self.text))

    @cached_property
    def source(self) -> str:
        """The source that the answer shall come from, "according to the Treasury"; else empty."""
        match = _ACCORDING.search(self.text)
        if match is None:
            return ""
        # Only a name directly behind "according to" is the source.
        name = next((span for span in find_names(self.text) if span.end > match.end()), None)
        is_next = name is not None and name.start <= match.end()
        return self.text[match.end() : name.end] if name is not None and is_next else ""

    @cached_property
    def term(self) -> str:
        """The term whose meaning is asked for, "quay" of "What is a quay?"; else empty."""
        return extract_term(self.text)

    @cached_property
    def statement(self) -> Statement | None:
        """The statement that a yes/no question asks about; `None` where its form is unknown."""
        return parse_statement(self.text)

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The options of an offered choice: "Which is cheaper, a skip or a cart?"; often none."""
        return list_options(self.text)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The comparison of several things; `None` where the rules see none."""
        return parse_comparison(self.text)

    def split_chain(self, most: int) -> "tuple[Question, ...]":
        """Return at most `most` questions to ask in turn; the question alone if it is not nested.

        Later ones hold `#1`, `#2`, ... in the place of the answers to earlier ones.
        """
        return tuple(map(Question, build_chain(self.text, most)))

    def split_joined(self, most: int) -> "tuple[Question, ...]":
        """Return at most `most` questions to ask side by side; the question alone if it is one."""
        compared = self.comparison.keep_first(most) if self.comparison else None
        # A comparison asks one question of each side, which clauses alone do not show.
        if compared is not None and len(compared.questions) > 1:
            return tuple(map(Question, compared.questions))
        return tuple(map(Question, split_questions(self.text, most)))

    def choose_word(self, *, yes: bool) -> str:
        """Return "yes" or "no" in the language of the question."""
        return _YES_NO_WORDS[self.language][yes]

    def can_answer(self, text: str, span: Span) -> bool:
        """Return whether the text at a span can be of the kind asked for."""
        return can_answer(self.text, text, span)

    def find_spans(self, text: str) -> list[Span] | None:
        """Return the spans of the kind asked for; `None` for a kind that rules cannot see."""
        return find_spans(self.answer_type, text, self.text)

    def answers_match(self, one: str, other: str) -> bool:
        """Return whether two answers to the question say the same."""
        return answers_match(self.answer_type, one, other)

    def cluster_answers(self, answers: Sequence[str]) -> list[list[int]]:
        """Return the places of answers that say the same, in the order of their first ones."""
        return cluster_answers(self.answer_type, answers)
