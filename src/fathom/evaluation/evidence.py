"""The evidence of a run and the workflows of its planner, read from its trace."""

from collections.abc import Iterator, Sequence

from fathom.jsonable import Json
from fathom.runs.trace import Step, Trace

READERS = ("reader", "summarizer", "aggregator")
"""The agents whose steps have the chunks that they read in `inputs["chunks"]`."""


def collect_evidence(trace: Trace) -> tuple[str, ...]:
    """Return the documents of all chunks of a run, best evidence first.

    First come the documents that were read: those of the last reading, in its order, then those of
    the reading before it, and so on. Then come the documents that were only retrieved, in the order
    of the searches and by rank.
    """
    steps = sorted(trace.steps, key=lambda step: (step.started_at, step.id))
    read = [_list_chunk_ids(step) for step in reversed(steps) if step.agent in READERS]
    retrieved = [_list_hit_ids(step) for step in steps if step.agent == "retriever"]
    # The last reading comes first, because the final answer depends on it.
    chunks = (chunk for group in (*read, *retrieved) for chunk in group)
    # The id of a chunk is that of its document, `#` and its number.
    return tuple(dict.fromkeys(chunk.rpartition("#")[0] for chunk in chunks))


def _list_chunk_ids(step: Step) -> Sequence[str]:
    return list(_filter_chunk_ids(step.inputs.get("chunks")))


def _list_hit_ids(step: Step) -> Sequence[str]:
    hits = step.outputs.get("hits")
    return (
        list(_filter_chunk_ids([hit[0] for hit in hits if isinstance(hit, list) and hit]))
        if hits
        else []
    )


def _filter_chunk_ids(value: Json) -> Iterator[str]:
    """Yield the chunk ids of a list, without the mark by which a trace replaces cut items."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str) and "#" in item:
            yield item


def collect_workflows(trace: Trace) -> tuple[str, ...]:
    """Return the workflows that a planner chose, legal or not, in order.

    Returns:
        The workflows, spelled as in `mao.policy` (`R,DS,AG`); empty for a run without a planner.
    """
    steps = sorted(trace.steps, key=lambda step: (step.started_at, step.id))
    workflows = [step.outputs.get("workflow") for step in steps if step.agent == "planner"]
    return tuple(
        ",".join(map(str, workflow)) for workflow in workflows if isinstance(workflow, list)
    )
