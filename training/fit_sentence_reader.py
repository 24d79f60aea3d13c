"""Fits the sentence reader's weights: python training/fit_sentence_reader.py.

Needs the evaluation data (`SHARED_DATA`, default ../shared/data). Each question is asked of an
index of its own corpus; each sentence of the hits is a row, labelled by whether it comes from a
relevant document and holds an accepted answer. Even questions train, odd ones report: how often
the best sentence is right, and how well its probability knows.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fathom.agents.reader import FEATURES, SentenceReader, candidates_of
from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, Question, load
from fathom.settings import IndexSettings, ModelSettings, Settings

SETS = ("squad-retrieval", "idk-mrc-retrieval", "facqa-id", "covid-qa", "hotpotqa-200")
DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))


def rows_of(
    engine: Engine, dataset: Dataset, questions: Sequence[Question]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Features and labels of every question."""
    reader = engine.evidence_reader
    assert isinstance(reader, SentenceReader)
    rows = []
    for question in questions:
        hits = engine.search(question.text, k=engine.settings.ask.chunks)
        found = list(candidates_of(hits))
        relevant = dataset.qrels.get(question.id, {})
        answers = [answer.casefold() for answer in question.answers if len(answer) > 1]
        labels = [
            hit.chunk.document_id in relevant
            and any(answer in span.cut(hit.chunk.text).casefold() for answer in answers)
            for hit, span in found
        ]
        if found:
            rows.append((np.asarray(reader.features(question.text, found)), np.asarray(labels)))
    return rows


def fit(features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method with a small ridge."""
    beta = np.zeros(features.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-features @ beta))
        gradient = features.T @ (weights * (labels - p)) - 0.1 * beta
        curvature = (features * (weights * p * (1 - p))[:, None]).T @ features
        beta += np.linalg.solve(curvature + 0.1 * np.eye(len(beta)), gradient)
    return beta


def report(name: str, rows: list[tuple[np.ndarray, np.ndarray]], beta: np.ndarray) -> None:
    """Accuracy of the best sentence, mean probability, AUROC of knowing."""
    best = [(float(p.max()), bool(y[p.argmax()])) for p, y in scored(rows, beta)]
    p, y = np.asarray([b[0] for b in best]), np.asarray([b[1] for b in best])
    pairs = (p[y][:, None] > p[~y][None]).mean() + 0.5 * (p[y][:, None] == p[~y][None]).mean()
    bins = np.clip((p * 10).astype(int), 0, 9)
    ece = sum(
        abs(p[bins == b].mean() - y[bins == b].mean()) * (bins == b).mean() for b in set(bins)
    )
    print(
        f"{name:20} n={len(y):5} right={y.mean():.3f} mean p={p.mean():.3f} "
        f"AUROC={pairs:.3f} ECE={ece:.3f}"
    )
    for floor in (0.2, 0.3, 0.4, 0.5, 0.6):
        kept = p >= floor
        if kept.any():
            print(f"    p>={floor}: answers {kept.mean():.2f}, right {y[kept].mean():.2f}")


def scored(
    rows: list[tuple[np.ndarray, np.ndarray]], beta: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Probabilities and labels of each question's sentences."""
    return [(1 / (1 + np.exp(-x @ beta)), y) for x, y in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=500, help="of each set")
    parser.add_argument("--indexes", type=Path, help="keep and reuse the indexes here")
    parser.add_argument("--runtime", default="onnxruntime", choices=["onnxruntime", "openvino"])
    arguments = parser.parse_args()
    models = ModelSettings(runtime=arguments.runtime)
    train, dev = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            dataset = load(DATA / name)
            place = (arguments.indexes or Path(folder)) / name
            with Engine(Settings(index=IndexSettings(directory=place), models=models)) as engine:
                engine.ingest([dataset.corpus])
                generator = np.random.default_rng(0)
                order = generator.permutation(len(dataset.questions))[: arguments.questions]
                rows = rows_of(engine, dataset, [dataset.questions[place] for place in order])
            train += rows[::2]
            dev[name] = rows[1::2]
    features = np.concatenate([x for x, _ in train])
    labels = np.concatenate([y for _, y in train]).astype(float)
    # A question counts the same, however many sentences its hits have.
    weights = np.concatenate([np.full(len(y), 30 / len(y)) for _, y in train])
    beta = fit(features, labels, weights)
    print(", ".join(f"{name}={value:.3f}" for name, value in zip(FEATURES, beta, strict=True)))
    for name, rows in dev.items():
        report(name, rows, beta)


if __name__ == "__main__":
    main()
