"""What the calls of one role came to, told from the traces of whole runs.

In such a run the role has the language model and all others are local, so each `ask` step is one
of its calls: with at most one repair inside it. What it was worth is seen by asking the same
question with the local role too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.agents.reader.citations import ReaderReply, locate_quote
from fathom.evaluation.datasets import DatasetQuestion
from fathom.jsonable import Json
from fathom.runs.trace import Event, Step, Trace
from fathom.text.answer_scores import is_right, strip_markers
from fathom.types import Answer, Document, Hit

NUMBERS = ("evidence", "quotes", "sentence")
"""Fields of replies that name evidence by number."""
LOCAL = frozenset({"local", "rules"})
"""Verdicts of roles that did not go by a reply."""
ChunkHits = Callable[[Sequence[str]], Sequence[Hit]]
"""The chunks with these ids, as hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCall:
    """One thing that a role asked its model.

    Attributes:
        requests: That it took, the repair included.
        valid: Whether there was a reply of the role's own type.
        repaired: Whether it took the repair.
        used: Whether the role went by the reply, rather than by its local implementation.
        named: Quotes or numbers of evidence in it.
        found: Those that stand in what was shown.
        failure: Why there was no valid reply.
    """

    requests: int
    valid: bool
    repaired: bool = False
    used: bool = False
    named: int = 0
    found: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer, as far as it is compared; without any text of the documents.

    Attributes:
        quotes: Citations of the corpus that were shown.
        verbatim: Those of them that stand in their documents as they were shown.
    """

    status: str
    right: bool
    quotes: int = 0
    verbatim: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTwice:
    """A question, asked with the local role and with the model's.

    Attributes:
        row: The name of the role's row.
        same: Whether both gave the same answer.
        overshoot: Whether it spent more than its budget.
    """

    row: str
    set: str
    question: str
    calls: tuple[RoleCall, ...]
    local: Given
    model: Given
    same: bool
    overshoot: bool = False

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "AskedTwice":
        """What `asdict` made of one."""
        given = {"local": Given(**told["local"]), "model": Given(**told["model"])}
        return cls(**{**told, "calls": tuple(RoleCall(**call) for call in told["calls"]), **given})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsOf:
    """Reads the calls of a run from its trace.

    Attributes:
        quotes: Whether the reader's model copies quotes; else it names numbers.
        chunks: Looks up what the reader was shown.
    """

    quotes: bool
    chunks: ChunkHits

    def __call__(self, trace: Trace) -> Iterator[RoleCall]:
        """All calls, in the order in which they ended."""
        steps = {step.id: step for step in trace.steps}
        for step in trace.steps:
            requests = [event for event in trace.events if event.step == step.id]
            if step.name == "ask" and requests:
                yield self._call(step, steps[step.parent], requests)

    def _call(self, ask: Step, asker: Step, requests: Sequence[Event]) -> RoleCall:
        reply = ask.outputs.get("reply")
        named, found = self._quoted(reply, asker, requests[-1]) if reply else (0, 0)
        return RoleCall(
            requests=len(requests),
            valid=reply is not None,
            repaired=reply is not None and len(requests) > 1,
            used=reply is not None and asker.verdict not in LOCAL,
            named=named,
            found=found,
            prompt_tokens=ask.usage.prompt_tokens,
            completion_tokens=ask.usage.completion_tokens,
            seconds=ask.seconds,
            failure="" if reply else ask.reason,
        )

    def _quoted(self, reply: Json, asker: Step, request: Event) -> tuple[int, int]:
        """Quotes or numbers named, and those found."""
        if asker.agent == "reader" and self.quotes:
            said = ReaderReply.model_validate(reply).answer
            hits = self.chunks(asker.inputs["chunks"])
            copied = (
                [quote for sentence in said.sentences for quote in sentence.quotes] if said else []
            )
            places = [locate_quote(each.quote, hits, chunk=each.chunk) for each in copied]
            return len(copied), sum(place is not None for place in places)
        shown = set(_numbers(request.request["schema"]))
        named = list(_numbers(reply))
        return len(named), sum(number in shown for number in named)


def given(answer: Answer, question: DatasetQuestion, document: Callable[[str], Document]) -> Given:
    """What is compared of an answer."""
    quotes = [citation for citation in answer.citations if citation.source == "corpus"]
    texts = [document(quote.document).text for quote in quotes]
    verbatim = [
        text[each.start : each.end] == each.quote for each, text in zip(quotes, texts, strict=True)
    ]
    return Given(
        status=answer.status,
        right=_right(answer, question),
        quotes=len(quotes),
        verbatim=sum(verbatim),
    )


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers say the same in the same words."""
    return (one.status, one.answer, one.short_answer) == (
        other.status,
        other.answer,
        other.short_answer,
    )


def _right(answer: Answer, question: DatasetQuestion) -> bool:
    if answer.status != "answered":
        return answer.status == "abstained" and not question.answerable
    said = answer.short_answer or strip_markers(answer.answer)
    return question.answerable and is_right(said, question.answers, question.wrong or ())


def _numbers(value: Json) -> Iterator[int]:
    """The numbers of evidence that stand in a reply, or that its schema lets it name."""
    if isinstance(value, list):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _whole(part) if name in NUMBERS else _numbers(part)


def _whole(value: Json) -> Iterator[int]:
    """All whole numbers of a field, be it of a reply or of a schema."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _whole(part)
    elif isinstance(value, dict):
        yield from _whole(value.get("enum", value.get("items")))
