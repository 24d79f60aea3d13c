"""A test of certificates: python -m benchmarks.certificates --data DATA --work WORK.

Each data set is split at random many times: one half calibrates, as `fathom calibrate` does, the
other is answered at a rate of errors. Told is in which share of the splits more than that of what
is answered is wrong, and how many questions are answered; the same with thresholds on the cosine
of the best hit, and on the reader's own confidence, certified in the same way. Questions are asked
once and kept in WORK (some 300 ms each); the splits take minutes. They begin with nothing but the
reader's confidence, as what is shipped was learned on some of these questions. A data set's index
is looked for in INDEXES, else made in WORK.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np

from fathom.calibration.law import LabelledAnswer, learn_law
from fathom.engine import Engine
from fathom.evaluation.calibration import extract_outcome, is_gradable
from fathom.evaluation.calibration_metrics import aurc, calibration_error
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.records import Record
from fathom.evaluation.runner import Session
from fathom.settings import IndexSettings, Settings
from fathom.types import Query

SETS: Mapping[str, int | None] = {"squad-fresh": 500, "idk-mrc-retrieval": None, "covid-qa": None}
"""The data sets with the number of their questions that are asked; `None` for all."""
RATES = (0.05, 0.1, 0.2, 0.3)
DELTA = 0.05
STRATEGY = "naive"
Outcomes = Sequence[LabelledAnswer | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way of thresholding: by these signals alone, or by all if none is named."""

    name: str
    signals: tuple[str, ...] = ()

    def of(self, outcomes: Outcomes) -> Outcomes:
        """Return the outcomes with no other signals."""
        return [
            outcome
            and LabelledAnswer(
                {
                    name: value
                    for name, value in outcome.signals.items()
                    if (name in self.signals if self.signals else name != "cosine")
                },
                outcome.right,
            )
            for outcome in outcomes
        ]


WAYS = (
    Way(name="calibration"),
    Way(name="confidence", signals=("sure",)),
    Way(name="cosine", signals=("cosine",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The figures of one split."""

    answered: int
    wrong: int
    of: int
    ece: float
    aurc: float

    @property
    def coverage(self) -> float:
        """The share of the questions that are answered."""
        return self.answered / self.of

    @property
    def risk(self) -> float:
        """The share of the answers that are wrong."""
        return self.wrong / self.answered if self.answered else 0.0


def collect_outcomes(dataset: Dataset, engine: Engine, work: Path, queries: int | None) -> Outcomes:
    """Return the outcomes of a data set, with the cosine as one more signal."""
    session = Session(
        engine=engine, dataset=dataset, queries=queries, folder=work, on_progress=report_progress
    )
    records = [record for record in session.collect_answers(STRATEGY) if is_gradable(record)]
    cosines = read_cosines(engine, records, work / dataset.name / "cosine.json")
    return [
        signals_outcome
        and LabelledAnswer(
            {**signals_outcome.signals, "cosine": cosines[record.question]}, signals_outcome.right
        )
        for record in records
        for signals_outcome in [extract_outcome(record)]
    ]


def report_progress(what: str, done: int, total: int) -> None:
    print(f"\r{what} {done}/{total}", end="\n" if done == total else "", flush=True)


def read_cosines(engine: Engine, records: Sequence[Record], file: Path) -> Mapping[str, float]:
    """Return the cosine of the best hit of each question, computed or stored."""
    stored: dict[str, float] = json.loads(file.read_text()) if file.is_file() else {}
    retriever = engine.retriever("vector")
    for record in records:
        if record.question not in stored:
            hits = retriever.retrieve(Query(text=record.text), k=1)
            stored[record.question] = round(hits[0].score, 6) if hits else 0.0
    file.write_text(json.dumps(stored))
    return stored


def evaluate_split(outcomes: Outcomes, way: Way, rates: Sequence[float], seed: int) -> list[Split]:
    """Calibrate on one half and answer the other, at each of the rates."""
    order = np.random.default_rng(seed).permutation(len(outcomes))
    own_outcomes = way.of(outcomes)
    first = [own_outcomes[at] for at in order[: len(order) // 2]]
    rest = [own_outcomes[at] for at in order[len(order) // 2 :]]
    learned = learn_law(first, rates=rates, delta=DELTA)
    scored = [(learned.law(outcome.signals), outcome.right) for outcome in rest if outcome]
    sure, right = [score for score, _ in scored], [outcome for _, outcome in scored]
    splits = []
    for certificate in learned.certificates:
        level = certificate.threshold
        accepted = [outcome for score, outcome in scored if level is not None and score >= level]
        splits.append(
            Split(
                answered=len(accepted),
                wrong=accepted.count(False),
                of=len(rest),
                ece=calibration_error(sure, right) or 0.0,
                aurc=aurc(sure, right) or 0.0,
            )
        )
    return splits


def format_row(name: str, way: Way, rate: float, splits: Sequence[Split]) -> dict[str, object]:
    """Return a row of the table."""
    return {
        "set": name,
        "way": way.name,
        "max_error": rate,
        "splits": len(splits),
        "exceeded": round(fmean(part.risk > rate for part in splits), 4),
        "coverage": round(fmean(part.coverage for part in splits), 4),
        "none": round(fmean(not part.answered for part in splits), 4),
        "error": round(
            sum(part.wrong for part in splits) / max(1, sum(part.answered for part in splits)), 4
        ),
        "ECE": round(median(part.ece for part in splits), 4),
        "AURC": round(median(part.aurc for part in splits), 4),
    }


def parse_options(about: str, sets: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--sets", nargs="*", default=list(sets))
    parser.add_argument("--most", type=int, help="so many questions of each data set")
    parser.add_argument("--threads", type=int, default=0, help="1 on a machine that is busy")
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    return parser.parse_args()


def main() -> None:
    options = parse_options(__doc__, list(SETS))
    rows = []
    for name in options.sets:
        dataset = load(options.data / name)
        index = (options.indexes or options.work / "indexes") / name
        with prepare_engine(
            Engine(settings=make_settings(index, options.threads)), dataset
        ) as engine:
            outcomes = collect_outcomes(
                dataset, engine, options.work, options.most or SETS.get(name)
            )
        right = [outcome.right for outcome in outcomes if outcome]
        print(f"{name}: {len(outcomes)} questions, {fmean(right):.1%} of the answers right")
        for way in WAYS:
            done = [evaluate_split(outcomes, way, RATES, seed) for seed in range(options.splits)]
            for at, rate in enumerate(RATES):
                rows.append(format_row(name, way, rate, [entry[at] for entry in done]))
                print(*(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    if options.out:
        options.out.write_text(json.dumps({"delta": DELTA, "rows": rows}, indent=1) + "\n")


def make_settings(index: Path, threads: int) -> Settings:
    """Return settings that answer every question, so that all ways choose from the same answers."""
    settings = Settings(index=IndexSettings(directory=index))
    ask = settings.ask.model_copy(update={"min_probability": 0.0})
    trace = settings.trace.model_copy(update={"enabled": False})
    models = settings.models.model_copy(update={"threads": threads})
    return settings.model_copy(update={"ask": ask, "trace": trace, "models": models})


if __name__ == "__main__":
    main()
