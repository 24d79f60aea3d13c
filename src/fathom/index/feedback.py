"""Feedback of people on answers, stored with the traces until a cited text changes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Self
from unicodedata import normalize

from fathom.jsonable import Json, dump_canonical, hash_text
from fathom.types import Filter

FeedbackKind = Literal["right", "wrong", "answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Feedback of a person on an answer.

    Attributes:
        trace_id: The id of the run's trace.
        key: The key of the question, from `compute_question_key`.
        strategy: The strategy that answered.
        said: The kind of feedback: the answer was right, it was wrong, or another answer is right.
        answer: The right answer, if the person gave it.
        right: Whether the run's answer was right; `None` if the run gave none.
        signals: The signals of the run.
        made_for: The hash of everything that the run's strategy depended on, from
            `assembly.calibrations`.
        again: The verified answer to give to the same question from now on, as JSON; `None` if
            there is none, for example because the documents do not contain the right answer.
        note: Further remarks, for people.
        counts: Whether the feedback may change the answers that others get. Feedback that does not
            count is an opinion, kept for people: it is never given as an answer, nothing is learned
            from it, and it replaces no other feedback.
    """

    trace_id: str
    key: str
    question: str
    strategy: str
    said: FeedbackKind
    answer: str = ""
    right: bool | None = None
    signals: Mapping[str, float] = field(default_factory=dict)
    made_for: str = ""
    again: Json = None
    note: str = ""
    counts: bool = True

    def to_json(self) -> Json:
        """Return the feedback as an object that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Json) -> Self:
        """Build the feedback from an object."""
        return cls(**fields)


def compute_question_key(question: str, filters: Sequence[Filter] = ()) -> str:
    """Compute the key of a question with its filters, 32 hexadecimal digits.

    Capitals, extra spaces, closing marks (`?.!`), the order of the filters, and whether accents are
    composed in Unicode do not count.
    """
    return _hash_key(normalize("NFC", _fold_words(question)), filters)


def list_question_keys(question: str, filters: Sequence[Filter] = ()) -> tuple[str, ...]:
    """Return all keys under which feedback on a question may be stored, without repetitions.

    The first is that of `compute_question_key`. The others are those of releases in which a
    question with composed accents had another key than the same one with decomposed accents.
    """
    typed = (question, normalize("NFC", question), normalize("NFD", question))
    older = (_hash_key(_fold_words(text), filters) for text in typed)
    return tuple(dict.fromkeys((compute_question_key(question, filters), *older)))


def _fold_words(question: str) -> str:
    """Return the words of a question without capitals, extra spaces and closing marks."""
    # Casefolded, since people type the same question with and without capitals.
    return " ".join(question.casefold().split()).rstrip(" ?.!")


def _hash_key(words: str, filters: Sequence[Filter]) -> str:
    """Return the key of folded words with filters in any order."""
    conditions = sorted(
        dump_canonical([filter_.key, filter_.op, filter_.value]) for filter_ in filters
    )
    return hash_text(dump_canonical([words, conditions]))[:32]
