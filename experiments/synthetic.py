"""The value of synthetic questions: python -m experiments.synthetic --data DATA --indexes DIR.

Of each data set synthetic questions are made, and asked like its real ones. A law of P(right) and
its certificates are learned from the synthetic questions, or from one half of the real ones, and
both, as well as the shipped reader's own confidence, are measured on the other half.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from fathom.calibration.correctness import CorrectnessLaw
from fathom.calibration.law import READER, LabelledAnswer, LearnedLaw, learn_law
from fathom.engine import Engine
from fathom.evaluation.calibration import extract_outcome, is_gradable
from fathom.evaluation.calibration_metrics import auroc, calibration_error
from fathom.evaluation.datasets import Dataset, load, load_questions
from fathom.evaluation.measures import is_correct
from fathom.evaluation.records import Record
from fathom.evaluation.runner import Session

SETS = ("squad-fresh", "idk-mrc-retrieval", "covid-qa")
RATES = (0.05, 0.10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The value of a law learned elsewhere on questions that people asked.

    Attributes:
        certified: By rate: share of the questions that are answered under its certificate, and
            the share of wrong ones among them; `None` where nothing was certified.
    """

    learned_from: str
    ece: float | None
    auroc: float | None
    certified: dict[float, tuple[float, float] | None]


def measure_transfer(
    name: str, learned_law: LearnedLaw | None, real: Sequence[LabelledAnswer | None]
) -> Transfer:
    """Measure a law, or the reader's own confidence if none was learned."""
    law: CorrectnessLaw = READER if learned_law is None else learned_law.law
    answers = [certificate for certificate in real if certificate is not None]
    sure = [law(answer.signals) for answer in answers]
    was = [answer.right for answer in answers]
    certified: dict[float, tuple[float, float] | None] = {}
    for certificate in learned_law.certificates if learned_law else ():
        accepted = [
            good
            for confidence, good in zip(sure, was, strict=True)
            if certificate.threshold is not None and confidence >= certificate.threshold
        ]
        wrong = fmean(not good for good in accepted) if accepted else 0.0
        certified[certificate.max_error] = (
            None if certificate.threshold is None else (len(accepted) / len(real), wrong)
        )
    return Transfer(
        learned_from=name,
        ece=calibration_error(sure, was),
        auroc=auroc(sure, was),
        certified=certified,
    )


def learn_calibration(outcomes: Sequence[LabelledAnswer | None]) -> LearnedLaw | None:
    """Return the law of some outcomes; `None` if they are too few or all alike."""
    try:
        return learn_law(outcomes, rates=RATES)
    except ValueError:
        return None


def _ask_dataset(
    engine: Engine, dataset: Dataset, queries: int | None, folder: Path
) -> list[Record]:
    with engine.open_unbounded() as free:
        session = Session(engine=free, dataset=dataset, queries=queries, folder=folder)
        return [record for record in session.collect_answers("naive") if is_gradable(record)]


def _format_line(name: str, transfer: Transfer) -> str:
    cells = [
        f"{name:20} {transfer.learned_from:22} "
        f"{_format_value(transfer.ece)} {_format_value(transfer.auroc)}"
    ]
    for rate, outcome in transfer.certified.items():
        cells.append(
            f"{rate:.0%}: {'none' if outcome is None else f'{outcome[0]:.0%} / {outcome[1]:.1%}'}"
        )
    return "  ".join(cells)


def _format_value(value: float | None) -> str:
    return "   -  " if value is None else f"{value:6.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--indexes", type=Path, required=True, help="an index of each data set")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--number", type=int, default=200, help="synthetic questions of a set")
    parser.add_argument("--queries", type=int, default=200, help="real questions of a set")
    parser.add_argument("--records", type=Path, help="keep the records here; go on after them")
    arguments = parser.parse_args()
    print("data set             learned from              ECE  AUROC  covered / wrong, certified")
    with TemporaryDirectory() as scratch:
        folder = arguments.records or Path(scratch)
        for name in arguments.sets:
            with Engine.open(arguments.indexes / name, {"trace.enabled": False}) as engine:
                file = folder / f"{name}-synthetic.jsonl"
                if not file.exists():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    engine.make_questions(arguments.number).write(file)
                questions = load_questions(file, engine.documents.list())
                ours = _ask_dataset(engine, questions, None, folder)
                real = _ask_dataset(engine, load(arguments.data / name), arguments.queries, folder)
            print(
                f"{name}: right {_compute_share(ours)} of the synthetic, "
                f"{_compute_share(real)} of the real"
            )
            outcomes = [extract_outcome(record) for record in real]
            training, held = outcomes[::2], outcomes[1::2]
            synthetic = [extract_outcome(record) for record in ours]
            for name_of_source, law in (
                ("nothing", None),
                ("synthetic questions", learn_calibration(synthetic)),
                ("half of the real ones", learn_calibration(training)),
            ):
                print(_format_line(name, measure_transfer(name_of_source, law, held)), flush=True)


def _compute_share(records: Sequence[Record]) -> str:
    answers = [record for record in records if record.is_answered]
    return f"{fmean(map(is_correct, answers)):.0%} ({len(answers)} answers)" if answers else "none"


if __name__ == "__main__":
    main()
