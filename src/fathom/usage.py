"""What a run has spent and what it may spend."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was spent; `+` adds.

    Attributes:
        seconds: Wall time.
        cost_usd: Money; `None` is unknown, and unknown plus anything stays unknown.
    """

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retrievals: int = 0
    seconds: float = 0.0
    cost_usd: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            llm_calls=self.llm_calls + other.llm_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            retrievals=self.retrievals + other.retrievals,
            seconds=self.seconds + other.seconds,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent; `None` is without limit.

    Attributes:
        tokens: Prompt and completion tokens together.
        calls: Calls of language models.
        seconds: Wall time.
    """

    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None
