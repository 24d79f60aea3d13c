"""The effect of ranking definitions first for questions that ask for one.

    python -m experiments.definitions FOLDER... --indexes PLACE

Each folder is a retrieval set; its index lies below PLACE by its name, or is made there. Every
judged question that asks what a term means is searched with `retrieval.definitions` and without.
"""

import argparse
from pathlib import Path
from statistics import fmean

from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.ir_metrics import ndcg
from fathom.question.question import Question
from fathom.settings import IndexSettings, Settings

DEPTH = 10
HEAD = "| set | questions | nDCG@10 without | with | better | worse |\n|---|---|---|---|---|---|"


def score_questions(dataset: Dataset, index: Path, hits: int) -> list[float]:
    """Return nDCG@10 of each question that asks for a definition."""
    settings = Settings(index=IndexSettings(directory=index))
    retrieval = settings.retrieval.model_copy(update={"definitions": hits})
    engine = Engine(settings.model_copy(update={"retrieval": retrieval}))
    with prepare_engine(engine, dataset) as ready:
        values = []
        for question in dataset.judged_questions:
            if Question(question.text).term:
                names = [hit.chunk.document_id for hit in ready.search(question.text, k=4 * DEPTH)]
                grades = dataset.qrels[question.id]
                values.append(ndcg(DEPTH, list(dict.fromkeys(names)), grades))
        return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--indexes", type=Path, required=True)
    arguments = parser.parse_args()
    print(HEAD)
    for folder in arguments.folders:
        dataset = load(folder)
        before = score_questions(dataset, arguments.indexes / dataset.name, 0)
        after = score_questions(
            dataset, arguments.indexes / dataset.name, Settings().retrieval.definitions
        )
        if not before:
            print(f"| {dataset.name} | 0 | | | | |", flush=True)
            continue
        better = sum(new > old for old, new in zip(before, after, strict=True))
        worse = sum(new < old for old, new in zip(before, after, strict=True))
        means = f"{fmean(before):.3f} | {fmean(after):.3f}"
        print(f"| {dataset.name} | {len(before)} | {means} | {better} | {worse} |", flush=True)


if __name__ == "__main__":
    main()
