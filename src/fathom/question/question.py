"""A question as a value, with everything that rules derive from its words.

The rules are for English and Indonesian; no model is used.
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
# An Indonesian question word at the start decides the language alone, because an English title
# after it may have more words than the rest. "APA" in capitals is a name.
_OPENS_INDONESIAN = re.compile(
    r"\W*(?!APA\b)(?i:apa|siapa|kapan|di ?mana|ke ?mana|(?:se)?berapa|bagaimana|mengapa|kenapa|"
    r"gimana|sebutkan|jelaskan)(?i:kah)?\b"
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

    Whoever gets a text as a question (asked, rewritten or split off another one) makes a `Question`
    of it once and hands that on, because each property is computed on first use and kept.

    Attributes:
        text: The question as it was written.
    """

    text: str

    @cached_property
    def language(self) -> Literal["en", "id"]:
        """The language, by the opening question word or else by all words; English in doubt."""
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
        """Return whether the question asks how something is done."""
        return asks_steps(self.text)

    @cached_property
    def asks_items(self) -> bool:
        """Return whether a list of a document may be the answer: "Which papers do I need?"."""
        return asks_items(self.text)

    @cached_property
    def count(self) -> int | None:
        """The number of items that a question for a list asks for, 2 to 50; `None` without one."""
        return parse_count(self.text)

    @cached_property
    def counted_noun(self) -> str:
        """The counted noun: "branches" in "How many branches are there?"; else empty."""
        return extract_counted_noun(self.text)

    @cached_property
    def answer_type(self) -> AnswerType:
        """The type of answer asked for; `any` if the words do not say."""
        return detect_answer_type(self.text)

    @cached_property
    def expected_value(self) -> ExpectedValue | None:
        """The kind of value asked for, finer than `answer_type`; `None` if the words do not say."""
        return detect_expected_value(self.text)

    @cached_property
    def anchors(self) -> tuple[Anchor, ...]:
        """The parts that the evidence should contain, at most six, by falling score."""
        return find_anchors(self.text)

    @cached_property
    def mentions(self) -> tuple[Span, ...]:
        """The spans of names, quoted words and slots (`#1`), in order."""
        return tuple(find_mentions(self.text))

    @cached_property
    def source(self) -> str:
        """The source asked for: "Treasury" in "according to the Treasury"; else empty."""
        match = _ACCORDING.search(self.text)
        if match is None:
            return ""
        # Only a name directly after "according to" is the source.
        name = next((span for span in find_names(self.text) if span.end > match.end()), None)
        is_next = name is not None and name.start <= match.end()
        return self.text[match.end() : name.end] if name is not None and is_next else ""

    @cached_property
    def term(self) -> str:
        """The term whose meaning is asked for: "quay" in "What is a quay?"; else empty."""
        return extract_term(self.text)

    @cached_property
    def lookup(self) -> Lookup | None:
        """The entry of a manual that the question looks up; `None` if it looks up none."""
        return parse_lookup(self.text)

    @cached_property
    def statement(self) -> Statement | None:
        """The statement that a yes/no question asks about; `None` if its form is unknown."""
        return parse_statement(self.text)

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The options of an offered choice: "Which is cheaper, a skip or a cart?"; else empty."""
        return list_options(self.text)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The comparison of several things; `None` if the rules find none."""
        return parse_comparison(self.text)

    def split_chain(self, most: int) -> "tuple[Question, ...]":
        """Return the questions to ask one after another; this question alone if it is not nested.

        Args:
            most: The largest number of questions.

        Returns:
            The questions; later ones have `#1`, `#2`, ... in place of the answers to earlier ones.
        """
        return tuple(map(Question, build_chain(self.text, most)))

    def split_joined(self, most: int) -> "tuple[Question, ...]":
        """Return the questions to ask independently; this question alone if there is only one.

        They are the questions about the options of a comparison, or those that "and" joins.

        Args:
            most: The largest number of questions; further ones are dropped.
        """
        compared = self.comparison.keep_first(most) if self.comparison else None
        # The comparison comes first, because no "and" separates the questions that it implies.
        if compared is not None and len(compared.questions) > 1:
            return tuple(map(Question, compared.questions))
        return tuple(map(Question, split_questions(self.text, most)))

    def choose_word(self, *, yes: bool) -> str:
        """Return "yes" or "no" in the language of the question."""
        return _YES_NO_WORDS[self.language][yes]

    def is_repeated_by(self, short: str) -> bool:
        """Return whether a short answer only repeats content words of the question.

        False for a question that offers options, compares, or asks for a list or for yes or no,
        because its answer may well be in it.
        """
        is_open = self.form == "one" and not self.options and self.comparison is None
        terms = _EXTRACT_TERMS(short) if is_open else frozenset()
        return bool(terms) and terms <= _EXTRACT_TERMS(self.text)

    def can_answer(self, text: str, span: Span) -> bool:
        """Return whether the text at a span can be of the type asked for.

        Only an answer to "who" can be refused: if it has no letters, or if it is a whole name after
        a preposition of place ("in Indonesia").

        Args:
            text: A text.
            span: The span of the answer in it.
        """
        if self.answer_type != "name" or _WHOSE.search(self.text):
            return True
        if not any(map(str.isalpha, span.cut(text))):
            return False
        return not (_LOCATED.search(text[: span.start]) and span in find_names(text))

    def find_spans(self, text: str) -> list[Span] | None:
        """Return the spans in a text that are of the type asked for.

        `None` for the type `any`, which no rule can find.
        """
        return find_spans(self.answer_type, text, self.text)

    def answers_match(self, one: str, other: str) -> bool:
        """Return whether two answers to this question say the same.

        They do if one contains the other, or if they differ in blanks only ("3, 7 km"). If a time
        or number is asked for, the answers must have equal amounts; otherwise most of their words
        must be equal, and all words with digits. An empty answer matches none.
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
        """Group the answers that say the same.

        An answer joins the first group that has a matching answer. Empty answers are left out.

        Returns:
            The indices of the answers of each group; the groups in the order of their first answer.
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
