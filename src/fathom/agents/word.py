"""What a language model says in a role, or why it says nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from fathom.context import RunContext
from fathom.ledger import BudgetRefused
from fathom.llm.base import Message
from fathom.llm.faults import CallFailed
from fathom.llm.role import RoleModel
from fathom.llm.structured import ask_for
from fathom.usage import Usage

Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Generic[Reply]):
    """A reply, or none.

    Attributes:
        value: `None` where the model could not or might not answer: the local mind decides then.
        usage: What it cost all the same.
        reason: Why there is no value, or that it took a repair; else empty.
    """

    value: Reply | None
    usage: Usage | None
    reason: str = ""


async def word_of(
    model: RoleModel, kind: type[Reply], messages: Sequence[Message], context: RunContext
) -> Word[Reply]:
    """Ask `model` for a `kind`; no budget and no usable reply are a word without value."""
    try:
        reply = await ask_for(
            kind,
            model.within(context),
            messages,
            max_tokens=model.max_tokens,
            deadline=context.deadline,
        )
    except (BudgetRefused, CallFailed) as failed:
        return Word(value=None, usage=getattr(failed, "usage", None), reason=str(failed))
    reason = "after one repair" if reply.repaired else ""
    return Word(value=reply.value, usage=reply.usage, reason=reason)
