"""The weight of the signal of form: python -m training.fit_form_signal --data DATA --work WORK.

Asks the questions of our own sets that look up an entry of a manual or ask for a definition, by the
default settings with every answer given, and fits the weight of `formed` beside the shipped law's
logit. Writes it into the laws of `naive` and `adaptive` in `src/fathom/data/calibration.json`; all
others stay. `training.fit_calibration` fits it with all other signals, from far more questions.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from training.fit_calibration import FILE, open_engine, record_dataset

from fathom.assembly.calibrations import load_shipped_calibrations
from fathom.calibration.correctness import CorrectnessLaw, Signals, fit_law
from fathom.evaluation.calibration import extract_outcome
from fathom.evaluation.calibration_metrics import auroc, calibration_error
from fathom.evaluation.datasets import Dataset, load
from fathom.question.question import Question
from fathom.types import DIGITS

SETS = ("written-en", "written-id")
SIGNAL = "formed"
STRATEGY = "adaptive"


def asks_form(text: str) -> bool:
    """Return whether a question asks for a form that the signal tells."""
    question = Question(text)
    looks_up = question.lookup is not None and question.lookup.want != "way"
    return looks_up or bool(question.term)


def select_formed(dataset: Dataset) -> Dataset:
    """Return the data set with only the questions that ask for a form."""
    questions = tuple(question for question in dataset.questions if asks_form(question.text))
    return replace(dataset, questions=questions)


def fit_weight(law: CorrectnessLaw, signals: Sequence[Signals], right: Sequence[bool]) -> float:
    """Return the weight of the signal beside the law's logit, which has a slope of its own."""
    bare = replace(law, weights={k: v for k, v in law.weights.items() if k != SIGNAL})
    logits = [float(logit) for logit in bare.compute_logits(signals)]
    rows = [
        {"before": logit, SIGNAL: row[SIGNAL]} for logit, row in zip(logits, signals, strict=True)
    ]
    before = CorrectnessLaw(weights={"before": 1.0}, offset=0.0)
    return round(fit_law(rows, right, before=before).law.weights[SIGNAL], DIGITS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--threads", type=int, default=0, help="1 on a machine that is busy")
    options = parser.parse_args()
    indexes = options.indexes or options.work / "indexes"
    records = [
        record
        for name in SETS
        for record in record_dataset(
            select_formed(load(options.data / name)),
            STRATEGY,
            options.most,
            engine=open_engine(indexes / name, options.threads),
            work=options.work,
        )
    ]
    outcomes = [outcome for record in records if (outcome := extract_outcome(record))]
    signals, right = [item.signals for item in outcomes], [item.right for item in outcomes]
    content = json.loads(FILE.read_text(encoding="utf-8"))
    for name, part in content["strategies"].items():
        weight = fit_weight(load_shipped_calibrations()[name].law, signals, right)
        weights = part["law"]["weights"] | {SIGNAL: weight}
        part["law"]["weights"] = dict(sorted(weights.items()))
        sure = CorrectnessLaw.from_json(part["law"]).predict(signals).tolist()
        print(
            f"{name}: {weight} from {len(right)} answers, {fmean(right):.1%} right; "
            f"ECE {calibration_error(sure, right):.3f} AUROC {auroc(sure, right):.3f}"
        )
    FILE.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
