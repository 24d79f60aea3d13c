"""Budget, usage and prices of a run."""

from dataclasses import asdict, dataclass
from math import isfinite
from sys import float_info

PER_MILLION = 1_000_000
LARGEST_LIMIT = float_info.max
"""The largest limit of a budget; larger whole numbers cannot be converted to a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The resources that were spent.

    Attributes:
        llm_calls: The number of calls of language models, including those without a reply.
        prompt_tokens: The number of tokens that were sent to language models.
        completion_tokens: The number of tokens that language models wrote.
        retrievals: The number of searches of the index and of the web.
        seconds: The time of the run in seconds.
        cost_usd: The cost in USD; `None` if it is unknown. A sum is unknown if a part of it is.
    """

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retrievals: int = 0
    seconds: float = 0.0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """The prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        is_cost_known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            llm_calls=self.llm_calls + other.llm_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            retrievals=self.retrievals + other.retrievals,
            seconds=self.seconds + other.seconds,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if is_cost_known else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of the resources that may be spent; `None` means no limit, 0 allows nothing.

    Attributes:
        tokens: The number of tokens that are sent to language models or written by them.
        calls: The number of calls of language models.
        seconds: The time of the run in seconds.
        cost_usd: The cost in USD.
        retrievals: The number of searches of the index and of the web.

    Raises:
        ValueError: If a limit is negative, infinite or not a number.
    """

    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    retrievals: int | None = None

    def __post_init__(self) -> None:
        for name, limit in asdict(self).items():
            # NaN compares as false with every expense, so it would never stop a run.
            if limit is not None and not 0 <= limit <= LARGEST_LIMIT:
                raise ValueError(
                    f"budget {name}: give a number from 0 to {LARGEST_LIMIT:g}, "
                    "or None for no limit"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a model, in USD per million tokens.

    Attributes:
        prompt: The price of prompt tokens.
        completion: The price of completion tokens.

    Raises:
        ValueError: If a price is negative or not finite.
    """

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        for name, price in (("prompt", self.prompt), ("completion", self.completion)):
            if not (isfinite(price) and price >= 0):
                raise ValueError(f"price {name} = {price}: must be at least 0 USD per million")

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost in USD of a number of tokens, which never falls when a count grows."""
        spent = self.prompt * prompt_tokens + self.completion * completion_tokens
        return spent / PER_MILLION


FREE = Price(prompt=0.0, completion=0.0)
"""The price of a local model."""
