"""A question as a value: all that its words tell, each thing read off them once and in one place.

Rules only, for English and Indonesian; no model, no clock.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from fathom.question.anchors import Anchor, find_anchors
from fathom.question.answer_kind import (
    ExpectedValue,
    detect_answer_type,
    detect_expected_value,
)
from fathom.question.clauses import build_chain, find_mentions
from fathom.question.comparison import Comparison, list_options, parse_comparison
from fathom.question.definition import extract_term
from fathom.question.form import (
    Form,
    asks_items,
    asks_steps,
    detect_form,
    extract_counted_noun,
    parse_count,
)
from fathom.question.joined import split_questions
from fathom.question.lookup import Lookup, parse_lookup
from fathom.question.statement import Statement, parse_statement
from fathom.text.answer_match import (
    contains_answer,
    normalize_answer,
    parse_amount,
    remove_blanks,
    words_overlap,
)
from fathom.text.answer_type import AnswerType, find_spans
from fathom.text.content_words import ContentTerms
from fathom.text.entities import find_names
from fathom.text.language import detect_language
from fathom.types import Span

_ACCORDING = re.compile(
    r"\b(?:according to|as stated by|as reported by|menurut)\s+(?:the\s+)?", re.IGNORECASE
)
_INDONESIAN = re.compile(
    r"\b(?:apa|siapa|kapan|di ?mana|ke ?mana|berapa|bagaimana|mengapa|kenapa|sebutkan|jelaskan|"
    r"\w{2,}kah)\b",
    re.IGNORECASE,
)
# Decides alone: after it an English title may outweigh the few other words. "APA" is a name.
_OPENS_INDONESIAN = re.compile(
    r"\W*(?!APA\b)(?i:apa|siapa|kapan|di ?mana|ke ?mana|berapa|bagaimana|mengapa|kenapa|gimana|"
    r"sebutkan|jelaskan)(?i:kah)?\b"
    r"|.*\b(?i:apakah|siapakah|manakah|berapakah|kapankah|bagaimanakah|mengapakah)\b",
    re.DOTALL,
)
_WHOSE = re.compile(r"\b(?:whose|whom)\b", re.IGNORECASE)
_LOCATED = re.compile(r"\b(?:in|at|near|di|ke)\s+(?:the\s+)?$", re.IGNORECASE)
_YES_NO_WORDS = {"en": ("no", "yes"), "id": ("tidak", "ya")}
_EXTRACT_TERMS = ContentTerms()


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
    def language(self) -> Literal["en", "id"]:
        """The language by the question word that it opens with, or by its words."""
        if _OPENS_INDONESIAN.match(self.text):
            return "id"
        language = detect_language(self.text)
        if language == "und":
            return "id" if _INDONESIAN.search(self.text) else "en"
        return language

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
    def lookup(self) -> Lookup | None:
        """The entry of a manual that it looks up, such as an option; `None` if it looks up none."""
        return parse_lookup(self.text)

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

    def is_repeated_by(self, short: str) -> bool:
        """Return whether an answer only repeats words of the question, which offers no options."""
        is_open = self.form == "one" and not self.options and self.comparison is None
        terms = _EXTRACT_TERMS(short) if is_open else frozenset()
        return bool(terms) and terms <= _EXTRACT_TERMS(self.text)

    def can_answer(self, text: str, span: Span) -> bool:
        """Return whether the text at a span can be of the kind asked for.

        Only what surely cannot is refused: a person needs letters, and is not a place where
        something is ("in Indonesia").
        """
        if self.answer_type != "name" or _WHOSE.search(self.text):
            return True
        if not any(map(str.isalpha, span.cut(text))):
            return False
        return not (_LOCATED.search(text[: span.start]) and span in find_names(text))

    def find_spans(self, text: str) -> list[Span] | None:
        """Return the spans of the kind asked for; `None` for a kind that rules cannot see."""
        return find_spans(self.answer_type, text, self.text)

    def answers_match(self, one: str, other: str) -> bool:
        """Return whether two answers to a question for this kind say the same.

        They do if one holds the other, if only blanks differ ("3, 7 km"), if a date or number is
        asked for and theirs are equal, or if most of their words are the same, with the same
        digits.
        """
        if not one or not other:
            return False
        if contains_answer(one, other) or remove_blanks(one) == remove_blanks(other):
            return True
        if self.answer_type in {"time", "number"}:
            first, second = parse_amount(one), parse_amount(other)
            return first is not None and first == second
        return words_overlap(normalize_answer(one).split(), normalize_answer(other).split())

    def cluster_answers(self, answers: Sequence[str]) -> list[list[int]]:
        """Return the places of answers that say the same, in the order of the first of each group.

        An answer joins the first group that holds a matching one. Empty answers are left out.
        """
        clusters: list[list[int]] = []
        for place, answer in enumerate(answers):
            matching = (
                cluster
                for cluster in clusters
                if any(self.answers_match(answer, answers[member]) for member in cluster)
            )
            if answer:
                home = next(matching, None)
                home.append(place) if home is not None else clusters.append([place])
        return clusters
