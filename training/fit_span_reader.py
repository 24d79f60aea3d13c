"""The `ReaderLaw` of a language: PYTHONPATH=. python training/fit_span_reader.py en.

Needs the cross-readers and the evaluation data (`SHARED_DATA`, default ../shared/data). Questions
that no cross-reader was made with, and that no table reports as clean, are asked of an index of
their own corpus, and all hits are read. `fall` is the largest one (with it the fewest hits need be
read) whose mean F1 over the sets is within half a point of the best, `sureness` a logistic fit of
"the quote holds an accepted answer" on the sets of `SURE` (those without an answer count as not
right), every set with the same weight.
"""

import argparse
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from training.cross_reader.lines import read_lines
from training.cross_reader.ranked import is_training
from training.cross_reader.rows import hash_to_number

from fathom.agents.reader.base import ReadHit, compute_logit
from fathom.agents.reader.candidates import Candidate, group_candidates
from fathom.agents.reader.local import LAWS, MOST_SPANS, ReaderLaw, compute_trust
from fathom.engine import Engine
from fathom.evaluation.calibration_metrics import auroc, calibration_error
from fathom.evaluation.datasets import Dataset, DatasetQuestion, load
from fathom.question.question import Question
from fathom.settings import IndexSettings, Settings
from fathom.settings.tree import ModelSettings
from fathom.text.answer_scores import is_right, score_f1

SETS = {
    "en": ("squad-retrieval", "hotpotqa-200", "covid-qa", "written-en"),
    "id": ("idk-mrc-retrieval", "facqa-id", "written-id"),
}
SURE = {"en": ("squad-retrieval", "written-en"), "id": SETS["id"]}
"""English sets without an unanswerable question teach that being answerable says nothing; of the
Indonesian ones the first alone would withhold most of what is known of news."""
DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
FALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2)
_NEAR = 0.005
# No cross-reader learned from SQuAD articles whose number leaves this rest: these are fitted on.
_UNSEEN = (16, 12)


def choose_questions(dataset: Dataset, count: int, *, fitted: bool) -> list[DatasetQuestion]:
    """Return up to `count` questions that their cross-reader was not trained on, reproducibly.

    Args:
        dataset: Of squad-retrieval, questions on development articles; of other sets, a half.
        count: At most so many, with known answers or known to have none.
        fitted: Those that laws are fitted on, or those that are reported.
    """
    if dataset.name == "squad-retrieval":
        rows = read_lines(dataset.corpus.parent / "queries.jsonl.gz")
        articles = {row["_id"]: row["metadata"]["article"].replace("_", " ") for row in rows}
        numbers = {title_: hash_to_number(title) for title_, title in articles.items()}
        questions = [
            question
            for question in dataset.questions
            if fitted and numbers[question.id] % _UNSEEN[0] == _UNSEEN[1]
        ]
    else:
        questions = [
            question for question in dataset.questions if is_training(question.id) == fitted
        ]
    return random.Random(1).sample(questions, min(count, len(questions)))


Read = tuple[DatasetQuestion, tuple[ReadHit, ...]]


def read_all(engine: Engine, questions: Sequence[DatasetQuestion]) -> list[Read]:
    """Read every question with all its hits; trust is not set yet."""
    reads = []
    for question in questions:
        hits = engine.search(question.text, k=engine.settings.ask.chunks)
        asking = engine.assembly.cross_reader.open_session(question.text, spans=MOST_SPANS)
        read = asking.read([hit.chunk for hit in hits])
        looks = (ReadHit(hit=h, reading=r, trust=1.0) for h, r in zip(hits, read, strict=True))
        reads.append((question, tuple(looks)))
    return reads


def find_best(looks: Sequence[ReadHit], fall: float) -> Candidate | None:
    """Return the best answer under this trust of hits."""
    trusted = [
        ReadHit(hit=look.hit, reading=look.reading, trust=compute_trust(place, fall))
        for place, look in enumerate(looks, start=1)
    ]
    return next(iter(group_candidates(trusted)), None)


def compute_f1(read: Sequence[Read], fall: float) -> float:
    """Return the mean F1 of the answerable questions."""
    values = []
    for question, looks in read:
        if question.answerable:
            best = find_best(looks, fall)
            values.append(score_f1(best.text if best else "", question.answers))
    return fmean(values)


def label_answers(read: Sequence[Read], fall: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the input of the confidence law, and whether the best answer's quote is right."""
    rows, right = [], []
    for question, looks in read:
        best = find_best(looks, fall)
        answerable = best.places[0].answerable if best else 0.0
        rows.append((compute_logit(best.score if best else 0.0), compute_logit(answerable), 1.0))
        quote = best.places[0].evidence.quote if best else ""
        right.append(question.answerable and is_right(quote, question.answers))
    return np.asarray(rows), np.asarray(right, dtype=float)


def fit_logistic(rows: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fit logistic regression by Newton's method, with a small ridge."""
    law = np.zeros(rows.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-rows @ law))
        gradient = rows.T @ (weights * (right - p)) - 0.1 * law
        curvature = (rows * (weights * p * (1 - p))[:, None]).T @ rows + 0.1 * np.eye(len(law))
        law += np.linalg.solve(curvature, gradient)
    return law


def fit_law(rows: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fit the confidence law; a likelier answer is never less likely right."""
    law = fit_logistic(rows, right, weights)
    return law if law[0] >= 0 else np.array([0.0, *fit_logistic(rows[:, 1:], right, weights)])


def describe_law(rows: np.ndarray, right: np.ndarray, law: np.ndarray) -> str:
    """Describe in figures how well a law separates right from wrong."""
    p = 1 / (1 + np.exp(-rows @ law))
    area, error = auroc(p, right > 0), calibration_error(p, right > 0)
    return f"n={len(p)} right={right.mean():.3f} AUROC={area:.3f} ECE={error:.3f}"


def describe_shipped(read: Sequence[Read], law: ReaderLaw) -> str:
    """Return the shares of the questions under the shipped law, for the log."""
    rows, right = label_answers(read, law.fall)
    accepted = 1 / (1 + np.exp(-rows @ np.asarray(law.sureness))) >= Settings().ask.min_confidence
    vectors = np.array([question.answerable for question, _ in read])
    best = (find_best(looks, law.fall) for _, looks in read)
    scores = [
        score_f1(look.text, question.answers) if look and question.answerable else 0.0
        for look, (question, _) in zip(best, read, strict=True)
    ]
    wrong = (accepted & (right == 0))[vectors].mean()
    falsely = accepted[~vectors].mean() if not vectors.all() else 0.0
    overall = np.where(vectors, np.asarray(scores) * accepted, ~accepted).mean()
    return f"F1={overall:.3f} wrong={wrong:.3f} of the others falsely={falsely:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=SETS)
    parser.add_argument("--sets", nargs="*", help="by default those of the language")
    parser.add_argument("--questions", type=int, default=200, help="of each set")
    parser.add_argument("--indexes", type=Path, help="folder with an index of each set in it")
    parser.add_argument("--model", default="shipped", help="shipped, or a folder")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    read: dict[str, list[Read]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.sets or SETS[arguments.language]:
            dataset = load(DATA / name)
            place = (arguments.indexes or Path(folder)) / name
            models = ModelSettings(threads=arguments.threads, cross_reader=arguments.model)
            with Engine(Settings(index=IndexSettings(directory=place), models=models)) as engine:
                if not place.exists():
                    engine.ingest([dataset.corpus])
                questions = [
                    candidate
                    for candidate in choose_questions(dataset, arguments.questions, fitted=True)
                    if Question(candidate.text).form == "one"
                    and (candidate.answers or not candidate.answerable)
                ]
                read[name] = read_all(engine, questions)
            print(
                name, {fall: round(compute_f1(read[name], fall), 3) for fall in FALLS}, flush=True
            )
    means = {
        fall: fmean(compute_f1(own_reads, fall) for own_reads in read.values()) for fall in FALLS
    }
    fall = max(
        candidate for candidate, mean in means.items() if mean >= max(means.values()) - _NEAR
    )
    parts = {name: label_answers(own_reads, fall) for name, own_reads in read.items()}
    sure = [parts[name] for name in SURE[arguments.language] if name in parts]
    rows, right = (np.concatenate([part[side] for part in sure]) for side in (0, 1))
    weights = np.concatenate([np.full(len(x), 200 / len(x)) for x, _ in sure])
    law = fit_law(rows, right, weights)
    for name, (own_reads, held_out) in parts.items():
        print(name.ljust(20), describe_law(own_reads, held_out, law))
        print("  as shipped:".ljust(20), describe_shipped(read[name], LAWS[arguments.language]))
    sureness = ", ".join(f"{candidate:.2f}" for candidate in law)
    print(f'"{arguments.language}": Law(fall={fall}, sureness=({sureness}), rival=...),')


if __name__ == "__main__":
    main()
