"""What a strategy promises, and which there are."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fathom.run import Run
from fathom.strategies.anchor import AnchorGate
from fathom.strategies.hybrid import Hybrid
from fathom.strategies.maf import Maf
from fathom.strategies.mao import Mao
from fathom.strategies.naive import Naive
from fathom.strategies.rrf import Rrf
from fathom.strategies.tools import Tools
from fathom.types import Answer, Query

Graph = Any
"""A graph of LangGraph over a strategy's own state, compiled."""


class Strategy(Protocol):
    """Answers a question as one graph; every one passes `tests/conformance/test_strategy.py`.

    It keeps nothing from one question to the next, and may answer several at once.
    Its state is a frozen dataclass with at least the fields `query`, `draft` (the best so far)
    and `answer` (`None` until the last node has set it).
    """

    @property
    def name(self) -> str:
        """As in `--strategy`."""
        ...

    def graph(self) -> Any:  # noqa: ANN401 - a StateGraph of the strategy's own state
        """The graph, not compiled; its context is the `Run`."""
        ...

    def start(self, query: Query) -> Any:  # noqa: ANN401 - the strategy's own state
        """The state in which the graph begins."""
        ...

    async def finish(self, state: Any, run: Run) -> Answer:  # noqa: ANN401
        """Answer from a state, also one in which the graph was cut; costs nothing but time."""
        ...


STRATEGIES: Mapping[str, Callable[[Tools], Strategy]] = {
    "naive": Naive.of,
    "maf": Maf.of,
    "anchor": AnchorGate.of,
    "rrf": Rrf.of,
    "hybrid": Hybrid.of,
    "mao": Mao.of,
}
