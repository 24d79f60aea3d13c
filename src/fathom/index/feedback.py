"""What people said of answers; kept beside the traces, for as long as the documents cited stand."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Self

from fathom.jsonable import Json, canonical, digest
from fathom.types import Filter

Said = Literal["right", "wrong", "answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What a person said of an answer.

    Attributes:
        trace_id: Of the run.
        key: See `key_of`.
        said: That it was right, that it was wrong, or what the right answer is.
        answer: The right answer, where it was told.
        right: Whether the run's answer was right; `None` where it gave none.
        signals: Those of the run.
        made_for: The hash of what the run's strategy depended on; see `assembly.calibrations`.
        again: The answer to be given to the same question, as JSON; `None` where there is none
            that stands in the documents.
        note: What else they said, for people.
        counts: Whether it may change what others are answered. What does not is an opinion, kept
            for people: never given again, never learned from, and no other word gives way to it.
    """

    trace_id: str
    key: str
    question: str
    strategy: str
    said: Said
    answer: str = ""
    right: bool | None = None
    signals: Mapping[str, float] = field(default_factory=dict)
    made_for: str = ""
    again: Json = None
    note: str = ""
    counts: bool = True

    def to_json(self) -> Json:
        """As `from_json` takes it."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """The feedback of an object."""
        return cls(**given)


def key_of(question: str, filters: Sequence[Filter] = ()) -> str:
    """The same for the same question, whatever its capitals, spaces and last mark."""
    words = " ".join(question.casefold().split()).rstrip(" ?.!")
    conditions = sorted(canonical([each.key, each.op, each.value]) for each in filters)
    return digest(canonical([words, conditions]))[:32]
