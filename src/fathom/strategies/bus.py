"""The bus: what agents that work side by side tell each other, also that one of them failed."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from fathom.errors import RunError
from fathom.runs.context import RunContext
from fathom.types import Hit, Scalar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessage:
    """What one agent tells the others.

    Attributes:
        hits: Partial scores: what it ranked or kept, best first.
        flags: The context it worked in.
        failed: The error signal; its step says why.
        final: Whether it failed for want of budget, so that it is of no use to ask it again.
    """

    hits: tuple[Hit, ...] = ()
    flags: Mapping[str, Scalar] = field(default_factory=dict)
    failed: bool = False
    final: bool = False


AgentMessages = Mapping[str, AgentMessage]
"""The last message of each agent, by its name."""


def merged(old: AgentMessages, new: AgentMessages) -> AgentMessages:
    """Both, the newer message of an agent instead of the older; the same whoever came first."""
    return dict(sorted({**old, **new}.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Generic[T]):
    """What an agent's work came to; see `AgentMessage` for what is said of a failure."""

    value: T | None
    failed: bool
    final: bool

    def message(self: "Attempt[tuple[Hit, ...]]", **flags: Scalar) -> AgentMessage:
        """What the others are told."""
        return AgentMessage(
            hits=self.value or (), flags=flags, failed=self.failed, final=self.final
        )


async def attempt(
    name: str, work: Callable[[RunContext], Awaitable[T]], context: RunContext
) -> Attempt[T]:
    """Let an agent work, as one step of the run that it cannot end: a branch of its own.

    Raises:
        FathomError: See `RunContext.branches`.
    """
    own = replace(context, refusals=[])
    found = await own.branches({name: work})
    context.refusals.extend(own.refusals)
    return Attempt(value=found.get(name), failed=name not in found, final=bool(own.refusals))


def check_heard(messages: AgentMessages) -> None:
    """Accept messages of which at least one brought something, or failed for want of budget.

    Raises:
        RunError: If all failed: then something is broken that no other agent makes good.
    """
    broken = [name for name, message in messages.items() if message.failed and not message.final]
    if broken and len(broken) == len(messages):
        names = ", ".join(broken)
        raise RunError(f"every retriever broke off ({names}); the log has the reason")
