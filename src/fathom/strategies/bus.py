"""The message bus of `hybrid` and `rrf`: messages of parallel agents, failures included."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from fathom.agents.complexity import Complexity
from fathom.errors import RunError
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.types import Hit, Scalar

T = TypeVar("T")
CONFIDENCE_HITS = 10
"""The number of best hits from which a branch's confidence is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessage:
    """The message of one agent to the others.

    Attributes:
        hits: The hits that the agent ranked or kept, best first.
        confidence: The confidence in these hits, in [0, 1]; `None` if it has none.
        complexity: The rating of the question; only in messages of the analyser.
        flags: Further values for the trace, such as the strictness of a filter.
        failed: Whether it failed; the reason is in its step.
        final: Whether it failed because the budget is spent, so that a retry is useless.
    """

    hits: tuple[Hit, ...] = ()
    confidence: float | None = None
    complexity: Complexity | None = None
    flags: Mapping[str, Scalar] = field(default_factory=dict)
    failed: bool = False
    final: bool = False

    def describe(self) -> dict[str, object]:
        """Return the message for the trace, with the number of hits instead of the hits."""
        errors = {"failed": self.failed, "final": self.final}
        if self.complexity is not None:
            question = {"type": self.complexity.level, "entities": list(self.complexity.entities)}
            return {**question, **errors}
        return {"hits": len(self.hits), "confidence": self.confidence, **self.flags, **errors}


AgentMessages = Mapping[str, AgentMessage]
"""The last message of each agent, by its name."""


def merge_messages(old: AgentMessages, new: AgentMessages) -> AgentMessages:
    """Merge two sets of messages; the newer message of an agent replaces the older.

    The result is sorted by name.
    """
    # Sorted, because branches end in any order and a replay must merge in the same way.
    return dict(sorted({**old, **new}.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Generic[T]):
    """The outcome of an agent's work.

    Attributes:
        value: What the agent returned; `None` after a failure.
        failed: Whether it failed.
        final: Whether it failed because the budget is spent.
    """

    value: T | None
    failed: bool
    final: bool

    def to_message(self: "Attempt[tuple[Hit, ...]]", **flags: Scalar) -> AgentMessage:
        """Return the outcome as a message to the other agents."""
        return AgentMessage(
            hits=self.value or (), flags=flags, failed=self.failed, final=self.final
        )


def measure_confidence(
    question: Question, hits: Sequence[Hit], extract_terms: Callable[[str], frozenset[str]]
) -> float | None:
    """Return the largest share of the question's content words in one of the best hits.

    This share serves as confidence because scores of different retrievers cannot be compared.

    Returns:
        The share in [0, 1]; `None` without hits or words.
    """
    words = extract_terms(question.text)
    if not hits or not words:
        return None
    held = (len(words & extract_terms(hit.chunk.context)) for hit in hits[:CONFIDENCE_HITS])
    return round(max(held) / len(words), 6)


async def attempt_work(
    name: str, work: Callable[[RunContext], Awaitable[T]], context: RunContext
) -> Attempt[T]:
    """Run an agent's work in a branch of its own, so that its failure does not end the run.

    Raises:
        FathomError: As from `RunContext.run_branches`.
    """
    # A separate list of refusals shows whether this agent failed because of the budget.
    branch = replace(context, refusals=[])
    values = await branch.run_branches({name: work})
    context.refusals.extend(branch.refusals)
    return Attempt(value=values.get(name), failed=name not in values, final=bool(branch.refusals))


def check_messages(messages: AgentMessages) -> None:
    """Raise an error if every retriever failed for a reason other than the budget.

    Raises:
        RunError: If all failed that way: something is broken that no agent can replace.
    """
    broken = [name for name, message in messages.items() if message.failed and not message.final]
    if broken and len(broken) == len(messages):
        names = ", ".join(broken)
        raise RunError(f"every retriever failed ({names}); the log has the reason")
