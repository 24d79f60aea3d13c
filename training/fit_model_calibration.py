"""The shipped calibration of answers in which a language model read.

    PYTHONPATH=. python -m training.fit_model_calibration

Learns from `experiments/results/model_answers.jsonl.gz`, for each model by itself, which answers of
a run are right: the local answer where it is sure enough, else the model's. The law begins with
that of `naive` without a model. Data sets for reporting are left out, and reported. Writes the part
`models` of `src/fathom/data/calibration.json`.
"""

import json
import math
from collections.abc import Sequence
from statistics import fmean

from research.packed import unpack
from training.chosen import ROOT
from training.fit_calibration import FILE

from fathom.agents.reader.base import compute_logit
from fathom.agents.reader.confidence import LAWS
from fathom.assembly.calibrations import load_shipped_calibrations
from fathom.calibration.correctness import CorrectnessLaw, Signals
from fathom.calibration.law import Calibration, LabelledAnswer, learn_law
from fathom.evaluation.calibration_metrics import auroc, calibration_error
from fathom.jsonable import Json
from fathom.llm.catalogue import identify_model
from fathom.settings.tree import LlmSettings

PUBLISHED = ROOT / "experiments" / "results" / "model_answers.jsonl.gz"
REPORTED = frozenset({"squad-fresh", "2wiki-fresh"})
"""The data sets on which nothing is learned."""


def choose_answer(row: Json) -> LabelledAnswer | None:
    """Return the answer of a run with the default settings; `None` if there is none."""
    skip = LlmSettings().choose_skip_confidence("local:")
    if row["local_confidence"] >= skip or not row["has_answer"]:
        has_evidence = bool(row["local_places"])
        return LabelledAnswer(row["local_signals"], row["local_right"]) if has_evidence else None
    return LabelledAnswer(update_confidence(row), row["model_right"])


def update_confidence(row: Json) -> Signals:
    """Return the signals of a model's answer with its confidence by the present law."""
    signals: dict[str, float] = dict(row["signals"])
    if row["form"] != "yes or no" and row["factors"]:
        law = LAWS[row["language"]]
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


def learn_model(model: str, rows: Sequence[Json], before: CorrectnessLaw) -> CorrectnessLaw:
    """Learn the law of a model's runs, and print its quality."""
    print(model)
    outcomes = [choose_answer(row) for row in rows if row["dataset"] not in REPORTED]
    answers = [answer for answer in outcomes if answer]
    learned = learn_law(outcomes, before=before)
    report("held out", answers, learned.held_out)
    report("law without a model", answers, predict(before, answers))
    for name in sorted(REPORTED & {row["dataset"] for row in rows}):
        outcomes = [choose_answer(row) for row in rows if row["dataset"] == name]
        clean = [answer for answer in outcomes if answer]
        report(name, clean, predict(learned.law, clean))
    return learned.law


def main() -> None:
    naive = load_shipped_calibrations()["naive"]
    rows = list(unpack(PUBLISHED))
    content = json.loads(FILE.read_text(encoding="utf-8"))
    models: dict[str, Json] = {}
    for name in sorted({identify_model(row["model"]) for row in rows} - {""}):
        of_model = [row for row in rows if identify_model(row["model"]) == name]
        made_of = {
            dataset: sum(row["dataset"] == dataset for row in of_model)
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
