"""The effect of 100 labels elsewhere: python -m benchmarks.feedback_labels --data DATA --work WORK.

A law of confidence is learned on articles in English and put to another language and to another
subject. Then so many answers there are labelled right or wrong, as `fathom feedback` keeps them,
and the law is learned on, as `fathom calibrate --feedback` does. Told is the expected calibration
error on the answers that were not labelled, before and after, over many draws. Questions are asked
once and kept in WORK, as those of benchmarks.certificates, whose options count.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from benchmarks.certificates import WAYS, collect_outcomes, make_settings, parse_options

from fathom.calibration.correctness import CorrectnessLaw, fit_law
from fathom.calibration.law import READER, LabelledAnswer
from fathom.engine import Engine
from fathom.evaluation.calibration_metrics import calibration_error
from fathom.evaluation.datasets import load
from fathom.evaluation.harness import prepare_engine

HOME = "squad-retrieval"
AWAY = {"idk-mrc-retrieval": "another language", "covid-qa": "another subject"}
LABELS = 100


def measure_ece(law: CorrectnessLaw, answers: Sequence[LabelledAnswer]) -> float:
    """Return the expected calibration error of a law on answers."""
    sure = law.predict([answer.signals for answer in answers]).tolist()
    return calibration_error(sure, [answer.right for answer in answers]) or 0.0


def learn_from(answers: Sequence[LabelledAnswer], before: CorrectnessLaw) -> CorrectnessLaw:
    """Return the law learned from answers, starting with another."""
    return fit_law(
        [answer.signals for answer in answers], [answer.right for answer in answers], before=before
    ).law


def main() -> None:
    options = parse_options(__doc__, [HOME, *AWAY])
    answers: dict[str, list[LabelledAnswer]] = {}
    for name in (HOME, *AWAY):
        dataset = load(options.data / name)
        index: Path = (options.indexes or options.work / "indexes") / name
        with prepare_engine(
            Engine(settings=make_settings(index, options.threads)), dataset
        ) as engine:
            outcomes = collect_outcomes(dataset, engine, options.work, options.most)
        answers[name] = [outcome for outcome in WAYS[0].of(outcomes) if outcome]
    law = learn_from(answers[HOME], READER)
    rows = []
    for name, shift in AWAY.items():
        before, after = [], []
        for seed in range(options.splits):
            order = np.random.default_rng(seed).permutation(len(answers[name]))
            labelled = [answers[name][at] for at in order[:LABELS]]
            rest = [answers[name][at] for at in order[LABELS:]]
            before.append(measure_ece(law, rest))
            after.append(measure_ece(learn_from(labelled, law), rest))
        rows.append(
            {
                "learned on": HOME,
                "put to": name,
                "shift": shift,
                "answers": len(answers[name]),
                "labels": LABELS,
                "ECE before": round(fmean(before), 4),
                "ECE after": round(fmean(after), 4),
            }
        )
        print(*(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    if options.out:
        options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
