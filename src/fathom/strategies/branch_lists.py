"""The hit lists of `hybrid` before the comparison, from which branch weights are learned."""

from concurrent.futures import Executor
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from fathom.agents.complexity import ComplexityLevel, RetrieverWeights
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin
from fathom.strategies.bus import check_messages, merge_messages
from fathom.strategies.hybrid import KEYWORD, SEMANTIC, Hybrid
from fathom.types import Filter, Hit
from fathom.usage import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchLists:
    """The hit lists of a question before the comparison; pairs are (keyword, semantic).

    Attributes:
        level: The complexity of the question.
        usual: The weights by the strategy's settings.
        lists: The filtered hits of each branch.
        factors: The factor by which the supervisor changes the weight of each branch.
    """

    level: ComplexityLevel
    usual: RetrieverWeights
    lists: tuple[tuple[Hit, ...], tuple[Hit, ...]]
    factors: tuple[float, float]


async def collect_lists(
    strategy: Hybrid, question: Question, executor: Executor, filters: tuple[Filter, ...] = ()
) -> BranchLists:
    """Run the graph's nodes up to the supervisor's first decision, without a budget.

    Args:
        strategy: The strategy; both branches of the paper must have a weight.
        question: The question.
        executor: The executor that runs synchronous work.
        filters: The conditions on the documents that may be used.

    Raises:
        RunError: If every search fails.
    """
    recorder = Recorder(Origin(question=question.text, strategy=strategy.name))
    context = RunContext(ledger=Ledger(Budget()), scope=recorder, executor=executor)
    runtime = Runtime(context=context)
    state = await strategy.analyse(strategy.start(question, filters), runtime)
    usual = (state.weights[KEYWORD], state.weights[SEMANTIC])
    for branch in strategy.branches:
        for node in (strategy.search, strategy.filter):
            update = await node(branch, state, runtime)
            state = replace(state, messages=merge_messages(state.messages, update["messages"]))
    check_messages({name: state.messages[f"search {name}"] for name in (KEYWORD, SEMANTIC)})
    state = await strategy.supervise(state, runtime)
    relax, doubted = strategy.supervisor.relax, state.doubted
    complexity = state.messages["analyse"].complexity
    return BranchLists(
        level=complexity.level if complexity else "moderate",
        usual=usual,
        lists=(
            state.messages[f"filter {KEYWORD}"].hits,
            state.messages[f"filter {SEMANTIC}"].hits,
        ),
        factors=(
            relax if KEYWORD in doubted else 1.0,
            relax if SEMANTIC in doubted else 1.0,
        ),
    )
