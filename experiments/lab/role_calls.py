"""The calls of one role, extracted from the traces of whole runs.

In such a run the role has the language model and all others are local, so each `ask` step is one
of its calls: with at most one repair inside it. What it was worth is seen by asking the same
question with the local role too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.agents.reader.citations import locate_quote
from fathom.agents.reader.reply_forms import ReaderReply
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
    """One request of a role to its model.

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
class GivenAnswer:
    """The compared parts of an answer, without any text of the documents.

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
    local: GivenAnswer
    model: GivenAnswer
    same: bool
    overshoot: bool = False

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "AskedTwice":
        """Restore the record from the output of `asdict`."""
        answers = {"local": GivenAnswer(**stored["local"]), "model": GivenAnswer(**stored["model"])}
        return cls(
            **{**stored, "calls": tuple(RoleCall(**call) for call in stored["calls"]), **answers}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReader:
    """Extracts the calls of a run from its trace.

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
                yield self._read_call(step, steps[step.parent], requests)

    def _read_call(self, ask: Step, asker: Step, requests: Sequence[Event]) -> RoleCall:
        reply = ask.outputs.get("reply")
        named, count_found = self._count_quotes(reply, asker, requests[-1]) if reply else (0, 0)
        return RoleCall(
            requests=len(requests),
            valid=reply is not None,
            repaired=reply is not None and len(requests) > 1,
            used=reply is not None and asker.verdict not in LOCAL,
            named=named,
            found=count_found,
            prompt_tokens=ask.usage.prompt_tokens,
            completion_tokens=ask.usage.completion_tokens,
            seconds=ask.seconds,
            failure="" if reply else ask.reason,
        )

    def _count_quotes(self, reply: Json, asker: Step, request: Event) -> tuple[int, int]:
        """Return the numbers of quotes or sentences named, and of those found."""
        if asker.agent == "reader" and self.quotes:
            reader_reply = ReaderReply.model_validate(reply).answer
            hits = self.chunks(asker.inputs["chunks"])
            copied = (
                [quote for sentence in reader_reply.sentences for quote in sentence.quotes]
                if reader_reply
                else []
            )
            places = [locate_quote(copy.quote, hits, chunk=copy.chunk) for copy in copied]
            return len(copied), sum(place is not None for place in places)
        allowed = set(_list_numbers(request.request["schema"]))
        named = list(_list_numbers(reply))
        return len(named), sum(number in allowed for number in named)


def describe_answer(
    answer: Answer, question: DatasetQuestion, document: Callable[[str], Document]
) -> GivenAnswer:
    """Return the compared parts of an answer."""
    quotes = [citation for citation in answer.citations if citation.source == "corpus"]
    texts = [document(quote.document).text for quote in quotes]
    verbatim = [
        text[span.start : span.end] == span.quote for span, text in zip(quotes, texts, strict=True)
    ]
    return GivenAnswer(
        status=answer.status,
        right=_is_right(answer, question),
        quotes=len(quotes),
        verbatim=sum(verbatim),
    )


def are_same(first: Answer, other: Answer) -> bool:
    """Return whether two answers say the same in the same words."""
    return (first.status, first.answer, first.short_answer) == (
        other.status,
        other.answer,
        other.short_answer,
    )


def _is_right(answer: Answer, question: DatasetQuestion) -> bool:
    if answer.status != "answered":
        return answer.status == "abstained" and not question.answerable
    text = answer.short_answer or strip_markers(answer.answer)
    return question.answerable and is_right(text, question.answers, question.wrong or ())


def _list_numbers(value: Json) -> Iterator[int]:
    """Yield the numbers of evidence in a reply, or those that its schema allows."""
    if isinstance(value, list):
        for part in value:
            yield from _list_numbers(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _list_integers(part) if name in NUMBERS else _list_numbers(part)


def _list_integers(value: Json) -> Iterator[int]:
    """Yield all whole numbers of a field, of a reply or of a schema."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _list_integers(part)
    elif isinstance(value, dict):
        yield from _list_integers(value.get("enum", value.get("items")))
