"""The stability of decisions: python -m experiments.decisions --data DATA --indexes DIR.

`adaptive` is asked each question as it stands, with a slip of the fingers, and in other words
(`experiments/lab/rephrase.py`). Printed is the share of variants on which other executors work, or
it ends otherwise, with its interval.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from experiments.lab.rephrase import add_slip, rephrase

from fathom.engine import Engine
from fathom.engine.request import AskRequest
from fathom.evaluation.datasets import DatasetQuestion, load
from fathom.evaluation.runner import build_filters
from fathom.evaluation.statistics import bca_interval
from fathom.runs.concurrency import run_in_loop

VARIANTS: Mapping[str, Callable[[str], str]] = {
    "slip": add_slip,
    "other words": rephrase,
}
SETS = ("hotpotqa-200", "musique-300", "squad-fresh", "facqa-id", "idk-mrc-retrieval", "ramdocs")


def decide(engine: Engine, question: DatasetQuestion, text: str) -> tuple[str, ...]:
    """Return the actions of `adaptive` on a question in these words."""
    run = engine.arun(AskRequest.parse(text, strategy="adaptive", filters=build_filters(question)))
    steps = run_in_loop(run).trace.steps
    return tuple(str(step.outputs["action"]) for step in steps if step.agent == "planner")


def list_changes(
    engine: Engine, questions: Sequence[DatasetQuestion]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield each variant that differs from the question: its name, and both decisions."""
    for question in questions:
        plain = decide(engine, question, question.text)
        for name, vary in VARIANTS.items():
            text = vary(question.text)
            if text != question.text:
                yield name, plain, decide(engine, question, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--indexes", type=Path, required=True, help="an index of each data set")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=20, help="of each data set")
    parser.add_argument("--policy", default="", help="adaptive.policy; by default the default")
    arguments = parser.parse_args()
    settings = {"trace.enabled": False}
    if arguments.policy:
        settings["adaptive.policy"] = arguments.policy
    shares: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for name in arguments.sets:
        dataset = load(arguments.data / name)
        questions = dataset.sample(arguments.queries, seed=1)
        with Engine.open(arguments.indexes / name, settings) as engine:
            differences = [
                (kind, original != other)
                for kind, original, other in list_changes(engine, questions)
            ]
        for kind, changed in differences:
            shares[kind].append(float(changed))
        print(
            f"{name}: {fmean(changed for _, changed in differences):.3f} of {len(differences)}",
            flush=True,
        )
    together = [value for values in shares.values() for value in values]
    for kind, values in {**shares, "together": together}.items():
        low, high = bca_interval(values, bounds=(0.0, 1.0))
        print(f"{kind}: {fmean(values):.3f} [{low:.3f}, {high:.3f}] of {len(values)}")


if __name__ == "__main__":
    main()
