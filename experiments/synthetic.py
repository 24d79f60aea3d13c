"""How far synthetic questions carry: python -m experiments.synthetic --data DATA --indexes DIR.

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
class Carried:
    """What a law that was learned elsewhere is worth on questions that people asked.

    Attributes:
        certified: By rate: share of the questions that are answered under its certificate, and
            the share of wrong ones among them; `None` where nothing was certified.
    """

    learned_from: str
    ece: float | None
    auroc: float | None
    certified: dict[float, tuple[float, float] | None]


def carried(name: str, made: LearnedLaw | None, real: Sequence[LabelledAnswer | None]) -> Carried:
    """Measure a law, or the reader's own confidence where none was learned."""
    law: CorrectnessLaw = READER if made is None else made.law
    answers = [each for each in real if each is not None]
    sure = [law(answer.signals) for answer in answers]
    was = [answer.right for answer in answers]
    certified: dict[float, tuple[float, float] | None] = {}
    for each in made.certificates if made else ():
        kept = [
            good
            for one, good in zip(sure, was, strict=True)
            if each.threshold is not None and one >= each.threshold
        ]
        wrong = fmean(not good for good in kept) if kept else 0.0
        certified[each.max_error] = (
            None if each.threshold is None else (len(kept) / len(real), wrong)
        )
    return Carried(
        learned_from=name,
        ece=calibration_error(sure, was),
        auroc=auroc(sure, was),
        certified=certified,
    )


def learned(outcomes: Sequence[LabelledAnswer | None]) -> LearnedLaw | None:
    """The law of some outcomes; `None` where they are too few or all alike."""
    try:
        return learn_law(outcomes, rates=RATES)
    except ValueError:
        return None


def _asked(engine: Engine, dataset: Dataset, queries: int | None, folder: Path) -> list[Record]:
    with engine.open_unbounded() as free:
        session = Session(engine=free, dataset=dataset, queries=queries, folder=folder)
        return [record for record in session.collect_answers("naive") if is_gradable(record)]


def _line(name: str, each: Carried) -> str:
    told = [f"{name:20} {each.learned_from:22} {_shown(each.ece)} {_shown(each.auroc)}"]
    for rate, found in each.certified.items():
        told.append(
            f"{rate:.0%}: {'none' if found is None else f'{found[0]:.0%} / {found[1]:.1%}'}"
        )
    return "  ".join(told)


def _shown(value: float | None) -> str:
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
                ours = _asked(engine, questions, None, folder)
                real = _asked(engine, load(arguments.data / name), arguments.queries, folder)
            print(f"{name}: right {_share(ours)} of the synthetic, {_share(real)} of the real")
            outcomes = [extract_outcome(record) for record in real]
            known, held = outcomes[::2], outcomes[1::2]
            for told, law in (
                ("nothing", None),
                ("synthetic questions", learned([extract_outcome(record) for record in ours])),
                ("half of the real ones", learned(known)),
            ):
                print(_line(name, carried(told, law, held)), flush=True)


def _share(records: Sequence[Record]) -> str:
    answers = [record for record in records if record.is_answered]
    return f"{fmean(map(is_correct, answers)):.0%} ({len(answers)} answers)" if answers else "none"


if __name__ == "__main__":
    main()
