"""What a trace tells of a run: the documents it had before it, and what its planner chose."""

from collections.abc import Iterator, Sequence

from fathom.jsonable import Json
from fathom.runs.trace import Step, Trace

READERS = ("reader", "summarizer", "aggregator")
"""The agents whose steps say in `inputs["chunks"]` what they were given to answer from."""


def evidence_documents(trace: Trace) -> tuple[str, ...]:
    """The documents of all hits that the run saw.

    First those that were read, in the order in which they were given to the last reading, then
    to the one before it, and so on; then what was only found, in the order of the searches and
    within each by rank.
    """
    steps = sorted(trace.steps, key=lambda step: (step.started_at, step.id))
    read = [_chunks(step) for step in reversed(steps) if step.agent in READERS]
    found = [_hits(step) for step in steps if step.agent == "retriever"]
    chunks = (chunk for group in (*read, *found) for chunk in group)
    return tuple(dict.fromkeys(chunk.rpartition("#")[0] for chunk in chunks))


def _chunks(step: Step) -> Sequence[str]:
    return list(_ids(step.inputs.get("chunks")))


def _hits(step: Step) -> Sequence[str]:
    listed = step.outputs.get("hits")
    return list(_ids([hit[0] for hit in listed if isinstance(hit, list) and hit])) if listed else []


def _ids(listed: Json) -> Iterator[str]:
    """Chunk ids, without the mark that a trace puts in place of what it cut."""
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, str) and "#" in each:
            yield each


def actions(trace: Trace) -> tuple[str, ...]:
    """The workflows that a planner wanted, legal or not, in the order of their turns.

    Returns:
        One a turn, as `mao.policy` spells it (`R,DS,AG`); nothing where nobody plans.
    """
    steps = sorted(trace.steps, key=lambda step: (step.started_at, step.id))
    wanted = [step.outputs.get("workflow") for step in steps if step.agent == "planner"]
    return tuple(",".join(map(str, each)) for each in wanted if isinstance(each, list))
