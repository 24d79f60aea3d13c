"""A reply as a pydantic model: the first JSON object in it, with at most one repair."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from fathom.llm.base import Call, ChatModel, Completion, Message, OnText
from fathom.llm.faults import CallFailed, ReplyGarbled
from fathom.llm.prompt import Asked
from fathom.llm.schema import schema_of, within
from fathom.runs.ledger import BudgetRefused
from fathom.usage import Usage

Reply = TypeVar("Reply", bound=BaseModel)

_MOST_STARTS = 50
_LONGEST_COMPLAINT = 400
_LONGEST_SAID = 1_200
# Prose has four characters a token, JSON some three; digits and nonsense have one.
_CHARACTERS_A_TOKEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Structured(Generic[Reply]):
    """What a model answered, as a value.

    Attributes:
        value: Fits the type that was asked for; whether it is true is another question.
        usage: Of both calls, when it took a repair.
        repaired: Whether the first reply could not be used.
    """

    value: Reply
    usage: Usage
    repaired: bool


async def ask_for(
    kind: type[Reply],
    model: ChatModel,
    asked: Asked,
    *,
    max_tokens: int,
    deadline: float,
    on_text: OnText | None = None,
) -> Structured[Reply]:
    """Ask `model` for an object of type `kind`.

    The schema leaves room for as much as `max_tokens` hold. A reply that does not fit is sent back
    once with what is wrong with it; where it repeats the example of its prompt, it is asked once
    more without. The second one may be no longer than surely ends in time. `on_text` gets the
    first one as it comes, JSON and all.

    Raises:
        MalformedReply: If the second reply does not fit either, or there was no budget for it.
        ModelUnavailable: If there was no answer in time.
        ModelRefused: If the model or its server declined.
        BudgetRefused: If the budget does not allow the first call.
    """
    schema = within(schema_of(kind, asked.choices), max_tokens * _CHARACTERS_A_TOKEN)

    async def call(turns: Sequence[Message], on_text: OnText | None = None) -> Completion:
        wanted = Call(
            turns, schema=schema, max_tokens=max_tokens, deadline=deadline, on_text=on_text
        )
        return await model.complete(wanted)

    first = await call(_opening(asked, schema), on_text)
    try:
        value = _own(kind, asked, first.text)
        return Structured(value=value, usage=first.usage, repaired=False)
    except ValueError as wrong:
        schema = within(schema, max_tokens)
        asked, turns = _repaired(asked, schema, first, wrong)
    try:
        second = await call(turns)
    except BudgetRefused:
        _give_up(model, kind, first.usage)
    except CallFailed as failed:
        failed.usage = first.usage + failed.usage
        raise
    usage = first.usage + second.usage
    try:
        return Structured(value=_own(kind, asked, second.text), usage=usage, repaired=True)
    except ValueError:
        _give_up(model, kind, usage)


class _Copied(ValueError):
    """A reply repeats the example of the prompt."""


def _own(kind: type[Reply], asked: Asked, text: str) -> Reply:
    """The object in a reply, if it is one to what was asked."""
    value = read(kind, text)
    if copied := asked.copied(value.model_dump(mode="json")):
        raise _Copied(f"{copied!r} is not about what is asked; it is copied from the example")
    return value


def _opening(asked: Asked, schema: dict[str, Any]) -> list[Message]:
    """What is asked, the shape of the reply told where the rest is told."""
    told, *rest = asked.messages
    return [Message(told.role, f"{told.text}\n{_instruction(schema)}"), *rest]


def _repaired(
    asked: Asked, schema: dict[str, Any], said: Completion, wrong: ValueError
) -> tuple[Asked, list[Message]]:
    """What is asked after a reply that is of no use.

    That is the same without the example that it repeats, or with what is wrong with the reply.
    """
    plain = asked.without_example
    if isinstance(wrong, _Copied) and plain != asked:
        return plain, _opening(plain, schema)
    reply = Message("assistant", _shortened(said.text) or "(nothing)")
    if said.finish == "length":
        wrong = ValueError("it did not come to its end; be brief")
    return asked, [*_opening(asked, schema), reply, Message("user", _complaint(wrong))]


def read(kind: type[Reply], text: str) -> Reply:
    """The first JSON object in `text` that fits `kind`, be it in prose or between fences.

    Raises:
        ValueError: If there is none; says what is wrong with the first object.
    """
    complaint: ValueError | None = None
    for value in _objects(text):
        try:
            return kind.model_validate(value)
        except ValidationError as wrong:
            complaint = complaint or wrong
    raise complaint or ValueError("there is no JSON object in it")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in `text`, outermost ones, from the first brace on."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_without_twins, parse_constant=_refuse, parse_float=_finite
    )
    at = text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
            json.dumps(value, ensure_ascii=False).encode()  # half a character cannot be shown
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def _instruction(schema: dict[str, Any]) -> str:
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{text}"


def _complaint(wrong: ValueError) -> str:
    if isinstance(wrong, ValidationError):
        reasons = "; ".join(
            f"{'.'.join(map(str, error['loc'])) or 'object'}: {error['msg']}"
            for error in wrong.errors(include_url=False, include_input=False)
        )
    else:
        reasons = str(wrong)
    reasons = reasons[:_LONGEST_COMPLAINT]
    return f"That cannot be used: {reasons}. Send the corrected JSON object and nothing else."


def _shortened(text: str) -> str:
    """A reply as it is shown again: one that never ended is not worth its tokens."""
    return text if len(text) <= _LONGEST_SAID else f"{text[:_LONGEST_SAID]} ..."


def _give_up(model: ChatModel, kind: type[BaseModel], usage: Usage) -> NoReturn:
    reason = f"{model.name} gave no usable {kind.__name__}, also after a repair; try another model"
    raise ReplyGarbled(reason, usage) from None
