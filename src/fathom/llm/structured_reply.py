"""The request of a reply as a pydantic model, with at most one repair."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from fathom.llm.base import Call, ChatModel, Completion, Message, OnText
from fathom.llm.faults import CallFailure, ReplyGarbled
from fathom.llm.prompt import ModelRequest
from fathom.llm.schema import build_schema, shrink_schema
from fathom.runs.ledger import BudgetRefused
from fathom.usage import Usage

Reply = TypeVar("Reply", bound=BaseModel)

_MOST_STARTS = 50
_LONGEST_COMPLAINT = 400
_LONGEST_REPLY = 1_200
# Prose has about four characters a token, JSON about three, and digits or nonsense only one.
_CHARACTERS_A_TOKEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredReply(Generic[Reply]):
    """A model's answer as a value.

    Attributes:
        value: The value; it fits the requested type, but its content may be wrong.
        usage: The usage, of both calls if a repair was needed.
        repaired: Whether the first reply was unusable and the value is that of a second one.
    """

    value: Reply
    usage: Usage
    repaired: bool


async def request_object(
    kind: type[Reply],
    model: ChatModel,
    request: ModelRequest,
    *,
    max_tokens: int,
    deadline: float,
    on_text: OnText | None = None,
) -> StructuredReply[Reply]:
    """Ask `model` for an object of type `kind`.

    The bounds of the schema are lowered until a reply fits into `max_tokens`. After an unusable
    reply there is one second call, with lower bounds still. It shows the model its reply and the
    fault; if the reply repeats the example of its prompt, it leaves the example out instead.

    Args:
        kind: The type of the reply.
        model: The model.
        request: The request.
        max_tokens: The largest number of completion tokens of each call.
        deadline: The instant of `time.monotonic` at which both calls must be over.
        on_text: A function that receives the text of the first reply, which is JSON, while it
            arrives.

    Raises:
        MalformedReply: If the second reply does not fit either, or there was no budget for it.
        ModelUnavailable: If there was no answer in time.
        ModelRefused: If the model or its server declined.
        BudgetRefused: If the budget does not allow the first call.
    """
    schema = shrink_schema(build_schema(kind, request.choices), max_tokens * _CHARACTERS_A_TOKEN)

    async def call(turns: Sequence[Message], on_text: OnText | None = None) -> Completion:
        one_call = Call(
            turns, schema=schema, max_tokens=max_tokens, deadline=deadline, on_text=on_text
        )
        return await model.complete(one_call)

    first = await call(_build_opening(request, schema), on_text)
    try:
        value = _parse_answer(kind, request, first.text)
        return StructuredReply(value=value, usage=first.usage, repaired=False)
    except ValueError as fault:
        # The second reply must end within its tokens even in the worst case, one character a token.
        schema = shrink_schema(schema, max_tokens)
        request, turns = _build_repair(request, schema, first, fault)
    try:
        second = await call(turns)
    except BudgetRefused:
        _give_up(model, kind, first.usage)
    except CallFailure as failure:
        failure.usage = first.usage + failure.usage
        raise
    usage = first.usage + second.usage
    try:
        return StructuredReply(
            value=_parse_answer(kind, request, second.text), usage=usage, repaired=True
        )
    except ValueError:
        _give_up(model, kind, usage)


class _CopiedExample(ValueError):
    """A reply that repeats the example of its prompt."""


def _parse_answer(kind: type[Reply], request: ModelRequest, text: str) -> Reply:
    """Return the object in a reply.

    Raises:
        ValueError: If there is none that fits, or it repeats the example of the prompt.
    """
    value = parse_reply(kind, text)
    if phrase := request.find_copied_phrase(value.model_dump(mode="json")):
        raise _CopiedExample(
            f"{phrase!r} is not about what is asked; it is copied from the example"
        )
    return value


def _build_opening(request: ModelRequest, schema: dict[str, Any]) -> list[Message]:
    """Return the messages of a request.

    The schema is added to the first message unless that states the form of the reply.
    """
    if request.states_form:
        return list(request.messages)
    instructions, *rest = request.messages
    return [
        Message(instructions.role, f"{instructions.text}\n{_format_instruction(schema)}"),
        *rest,
    ]


def _build_repair(
    request: ModelRequest, schema: dict[str, Any], first: Completion, fault: ValueError
) -> tuple[ModelRequest, list[Message]]:
    """Return the request and the messages of the second call.

    Either the example that the reply repeats is left out, or the reply follows with its fault.

    Args:
        request: The first request.
        schema: The schema of the second reply.
        first: The unusable reply.
        fault: The fault of the reply.
    """
    plain = request.without_example
    if isinstance(fault, _CopiedExample) and plain != request:
        return plain, _build_opening(plain, schema)
    reply = Message("assistant", _shorten_reply(first.text) or "(nothing)")
    if first.finish == "length":
        fault = ValueError("it did not come to its end; be brief")
    return request, [
        *_build_opening(request, schema),
        reply,
        Message("user", _format_complaint(fault)),
    ]


def parse_reply(kind: type[Reply], text: str) -> Reply:
    """Return the first JSON object in `text` that fits `kind`; other text may surround it.

    Raises:
        ValueError: If there is none; the message names the fault of the first object, if any.
    """
    first_fault: ValueError | None = None
    for value in _iterate_objects(text):
        try:
            return kind.model_validate(value)
        except ValidationError as fault:
            first_fault = first_fault or fault
    raise first_fault or ValueError("there is no JSON object in it")


def _iterate_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in `text` that can be read.

    An object with a key twice, a number that is not finite, or a lone surrogate cannot be read; the
    objects within it are tried instead.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_build_object, parse_constant=_refuse_constant, parse_float=_parse_finite
    )
    start = text.find("{")
    # Bounded, because a text of many braces would otherwise take quadratic time.
    for _ in range(_MOST_STARTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
            json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some members.

    Raises:
        ValueError: If a key occurs twice.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key occurs twice")
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def _format_instruction(schema: dict[str, Any]) -> str:
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{text}"


def _format_complaint(fault: ValueError) -> str:
    """Return the message that tells a model the fault of its reply, in at most 500 characters."""
    if isinstance(fault, ValidationError):
        reasons = "; ".join(
            f"{'.'.join(map(str, error['loc'])) or 'object'}: {error['msg']}"
            for error in fault.errors(include_url=False, include_input=False)
        )
    else:
        reasons = str(fault)
    reasons = reasons[:_LONGEST_COMPLAINT]
    return f"That cannot be used: {reasons}. Send the corrected JSON object and nothing else."


def _shorten_reply(text: str) -> str:
    """Return a reply for the second call, cut to `_LONGEST_REPLY` characters to save tokens."""
    return text if len(text) <= _LONGEST_REPLY else f"{text[:_LONGEST_REPLY]} ..."


def _give_up(model: ChatModel, kind: type[BaseModel], usage: Usage) -> NoReturn:
    """Raise the error that no reply was usable.

    Raises:
        ReplyGarbled: Always, with the usage of all calls.
    """
    reason = f"{model.name} gave no usable {kind.__name__}, also after a repair; try another model"
    raise ReplyGarbled(reason, usage) from None
