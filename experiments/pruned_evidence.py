"""Measure how often the answer stands in pruned evidence, beside whole chunks of the same size.

    python -m experiments.pruned_evidence FOLDER... --indexes PLACE [--questions 120]

Each folder is a data set with answers; its index lies below PLACE by its name, or is made there. No
language model is asked: a sentence that is not shown cannot be read, so these shares bound what a
model can answer.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from fathom.engine import Engine
from fathom.evaluation.datasets import DatasetQuestion, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.statistics import bootstrap_interval
from fathom.llm.tokens import count_tokens
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner
from fathom.settings import IndexSettings, Settings
from fathom.text.answer_match import contains_answer
from fathom.types import Hit

CHUNKS = 8
WHOLE = (1, 2, 3, 4, 6, 8)
BUDGETS = (100, 150, 300, 450, 700)
HEAD = "| set | evidence | mean tokens | answer stands in it | 95 % |\n|---|---|---|---|---|"


def iterate_evidence(
    question: DatasetQuestion, hits: Sequence[Hit], engine: Engine
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each kind of evidence."""
    for chunks in WHOLE:
        yield f"{chunks} whole chunks", "\n".join(hit.chunk.context for hit in hits[:chunks])
    for tokens in BUDGETS:
        pruner = EvidencePruner(pairs=engine.assembly.cross_reader, tokens=tokens)
        kept = pruner.prune(Question(question.text), hits)
        yield (
            f"at most {tokens} tokens",
            "\n".join(f"{item.hit.chunk.breadcrumb}\n{item.text}" for item in kept),
        )


def measure_set(folder: Path, index: Path, count: int) -> list[str]:
    """Return the rows of one data set."""
    dataset = load(folder)
    answerable = [question for question in dataset.questions if question.answers]
    sample = answerable[:: max(1, len(answerable) // count)][:count]
    sizes: dict[str, list[int]] = {}
    matches: dict[str, list[bool]] = {}
    engine = Engine(Settings(index=IndexSettings(directory=index)))
    with prepare_engine(engine, dataset) as ready:
        for question in sample:
            hits = ready.search(question.text, k=CHUNKS)
            for name, text in iterate_evidence(question, hits, ready):
                sizes.setdefault(name, []).append(count_tokens(text))
                matches.setdefault(name, []).append(
                    any(contains_answer(text, answer) for answer in question.answers)
                )
    return [format_row(folder.name, name, sizes[name], matches[name]) for name in sizes]


def format_row(dataset: str, evidence: str, sizes: Sequence[int], matches: Sequence[bool]) -> str:
    """Return a row of the table."""
    low, high = bootstrap_interval([float(match) for match in matches])
    return (
        f"| {dataset} | {evidence} | {fmean(sizes):.0f} | {fmean(matches):.3f} | "
        f"{low:.3f} to {high:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=120)
    arguments = parser.parse_args()
    print(HEAD)
    for folder in arguments.folders:
        rows = measure_set(folder, arguments.indexes / folder.name, arguments.questions)
        print("\n".join(rows), flush=True)


if __name__ == "__main__":
    main()
