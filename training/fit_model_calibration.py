"""The confidence in the answers of known language models: python -m training.fit_model_calibration.

Learns from `experiments/results/model_answers.jsonl.gz`, for each model by itself. First the law of
the confidence in its answers, which is printed and stands in `agents/reader/confidence.py`; then
the calibration of a run's answers: the local one where it is sure enough, or surer than a doubtful
one of the model, else the model's. That law begins with the one of `naive` without a model. Data
sets for reporting are left out, and reported. Writes the part `models` of
`src/fathom/data/calibration.json`.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from research.model_answers import REPORTED, UNGRADED, read_records
from training.fit_answer_confidence import fit_law
from training.fit_calibration import FILE

from fathom.agents.reader.base import compute_logit
from fathom.assembly.calibrations import load_shipped_calibrations
from fathom.calibration.correctness import CorrectnessLaw, Signals
from fathom.calibration.law import Calibration, LabelledAnswer, LearnedLaw, learn_law
from fathom.evaluation.calibration_metrics import auroc, calibration_error
from fathom.jsonable import Json
from fathom.llm.catalogue import identify_model
from fathom.settings import Settings

Law = tuple[float, ...]


def fit_confidence(rows: Sequence[Json]) -> Law:
    """Return the law of the confidence in a model's answers; each data set weighs the same.

    Answers of yes and no are left out, as they have a law of their own.
    """
    fitting = [row for row in rows if row["factors"] and row["form"] != "yes or no"]
    counts = Counter(row["dataset"] for row in fitting)
    return fit_law(
        np.asarray([row["factors"] for row in fitting]),
        np.asarray([row["model_right"] for row in fitting], dtype=float),
        np.asarray([len(fitting) / len(counts) / counts[row["dataset"]] for row in fitting]),
    )


def choose_answer(row: Json, law: Law) -> LabelledAnswer | None:
    """Return the answer of a run with the default settings; `None` if there is none."""
    settings = Settings()
    local = LabelledAnswer(row["local_signals"], row["local_right"])
    if row["local_confidence"] >= settings.llm.choose_skip_confidence("local:"):
        return local
    if not row["has_answer"]:
        return local if row["local_places"] else None
    model = LabelledAnswer(update_confidence(row, law), row["model_right"])
    confidence = 1 / (1 + math.exp(-model.signals["sure"]))
    is_doubtful = confidence < min(settings.ask.min_confidence, row["local_confidence"])
    return local if is_doubtful else model


def update_confidence(row: Json, law: Law) -> Signals:
    """Return the signals of a model's answer with its confidence by a law."""
    signals: dict[str, float] = dict(row["signals"])
    if row["form"] != "yes or no" and row["factors"]:
        logit = math.fsum(map(math.prod, zip(law, row["factors"], strict=True)))
        signals["sure"] = compute_logit(1 / (1 + math.exp(-logit)))
    return signals


def predict(law: CorrectnessLaw, answers: Sequence[LabelledAnswer]) -> list[float]:
    """Return the probability of each answer."""
    return [float(share) for share in law.predict([answer.signals for answer in answers])]


def report(name: str, answers: Sequence[LabelledAnswer], sure: Sequence[float]) -> None:
    """Print how good probabilities are."""
    right = [answer.right for answer in answers]
    separation = auroc(sure, right) if len(set(right)) > 1 else math.nan
    print(
        f"  {name.ljust(22)} {len(right)} answers, {fmean(right):.1%} right, mean "
        f"{fmean(sure):.3f}, ECE {calibration_error(sure, right):.3f} AUROC {separation:.3f}"
    )


def select_complete(rows: Sequence[Json]) -> list[Json]:
    """Return the rows with all signals; those from before a signal was added lack it."""
    most = max(len(row["signals"]) for row in rows)
    return [row for row in rows if len(row["signals"]) == most]


def learn_answers(rows: Sequence[Json], law: Law, before: CorrectnessLaw) -> LearnedLaw:
    """Learn the calibration of a run's answers, so that it serves other data sets too."""
    return learn_law(
        [choose_answer(row, law) for row in rows],
        before=before,
        groups=[row["dataset"] for row in rows],
    )


def report_new_sets(rows: Sequence[Json], before: CorrectnessLaw) -> None:
    """Print the quality on each data set of laws that were fitted to the others, taken together."""
    answers: list[LabelledAnswer] = []
    sure: list[float] = []
    for name in sorted({row["dataset"] for row in rows}):
        others = [row for row in rows if row["dataset"] != name]
        law = fit_confidence(others)
        learned = learn_answers(others, law, before)
        outcomes = [choose_answer(row, law) for row in rows if row["dataset"] == name]
        held_out = [answer for answer in outcomes if answer]
        answers += held_out
        sure += predict(learned.law, held_out)
    report("held out by data set", answers, sure)


def learn_model(model: str, rows: Sequence[Json], before: CorrectnessLaw) -> CorrectnessLaw:
    """Learn the laws of a model, and print the one of its confidence and their quality."""
    chosen = select_complete([row for row in rows if row["dataset"] not in REPORTED])
    law = fit_confidence(chosen)
    print(f'"{model}": {law},')
    outcomes = [choose_answer(row, law) for row in chosen]
    answers = [answer for answer in outcomes if answer]
    learned = learn_answers(chosen, law, before)
    report("held out", answers, learned.held_out)
    if len({row["dataset"] for row in chosen}) > 1:
        report_new_sets(chosen, before)
    report("law without a model", answers, predict(before, answers))
    for name in sorted(REPORTED & {row["dataset"] for row in rows}):
        outcomes = [choose_answer(row, law) for row in rows if row["dataset"] == name]
        clean = [answer for answer in outcomes if answer]
        report(name, clean, predict(learned.law, clean))
    return learned.law


def main() -> None:
    naive = load_shipped_calibrations()["naive"]
    rows = [row for row in read_records() if row["dataset"] not in UNGRADED]
    content = json.loads(FILE.read_text(encoding="utf-8"))
    models: dict[str, Json] = {}
    for name in sorted({identify_model(row["model"]) for row in rows} - {""}):
        of_model = [row for row in rows if identify_model(row["model"]) == name]
        made_of = {
            dataset: sum(row["dataset"] == dataset for row in select_complete(of_model))
            for dataset in sorted({row["dataset"] for row in of_model} - REPORTED)
        }
        law = learn_model(name, of_model, naive.law)
        models[name] = Calibration(
            identity=naive.identity,
            source="public questions",
            made_of=made_of,
            law=law,
            drift=naive.drift,
        ).to_json()
    FILE.write_text(json.dumps({**content, "models": models}, indent=1) + "\n")


if __name__ == "__main__":
    main()
