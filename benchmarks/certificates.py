"""Does a certificate hold? python -m benchmarks.certificates --data DATA --work WORK.

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
"""How many questions are asked; all where nothing is said."""
RATES = (0.05, 0.1, 0.2, 0.3)
DELTA = 0.05
STRATEGY = "naive"
Outcomes = Sequence[LabelledAnswer | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way of thresholding: by these signals alone, all where none is named."""

    name: str
    signals: tuple[str, ...] = ()

    def of(self, outcomes: Outcomes) -> Outcomes:
        """The outcomes with no other signals."""
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
    """What came of one split."""

    answered: int
    wrong: int
    of: int
    ece: float
    aurc: float

    @property
    def coverage(self) -> float:
        """Share of the questions that are answered."""
        return self.answered / self.of

    @property
    def risk(self) -> float:
        """Share of the answers that are wrong."""
        return self.wrong / self.answered if self.answered else 0.0


def asked(dataset: Dataset, engine: Engine, work: Path, queries: int | None) -> Outcomes:
    """What came of the questions of a data set, with the cosine as one more signal."""
    session = Session(
        engine=engine, dataset=dataset, queries=queries, folder=work, on_progress=told
    )
    records = [record for record in session.collect_answers(STRATEGY) if is_gradable(record)]
    cosines = cosines_of(engine, records, work / dataset.name / "cosine.json")
    return [
        each and LabelledAnswer({**each.signals, "cosine": cosines[record.question]}, each.right)
        for record in records
        for each in [extract_outcome(record)]
    ]


def told(what: str, done: int, total: int) -> None:
    print(f"\r{what} {done}/{total}", end="\n" if done == total else "", flush=True)


def cosines_of(engine: Engine, records: Sequence[Record], file: Path) -> Mapping[str, float]:
    """The cosine of the best hit of each question, asked or remembered."""
    known: dict[str, float] = json.loads(file.read_text()) if file.is_file() else {}
    retriever = engine.retriever("vector")
    for record in records:
        if record.question not in known:
            hits = retriever.retrieve(Query(text=record.text), k=1)
            known[record.question] = round(hits[0].score, 6) if hits else 0.0
    file.write_text(json.dumps(known))
    return known


def split(outcomes: Outcomes, way: Way, rates: Sequence[float], seed: int) -> list[Split]:
    """One half calibrates and the other is answered, at each of the rates."""
    order = np.random.default_rng(seed).permutation(len(outcomes))
    own = way.of(outcomes)
    first = [own[at] for at in order[: len(order) // 2]]
    rest = [own[at] for at in order[len(order) // 2 :]]
    made = learn_law(first, rates=rates, delta=DELTA)
    told = [(made.law(each.signals), each.right) for each in rest if each]
    sure, right = [score for score, _ in told], [each for _, each in told]
    found = []
    for certificate in made.certificates:
        level = certificate.threshold
        given = [each for score, each in told if level is not None and score >= level]
        found.append(
            Split(
                answered=len(given),
                wrong=given.count(False),
                of=len(rest),
                ece=calibration_error(sure, right) or 0.0,
                aurc=aurc(sure, right) or 0.0,
            )
        )
    return found


def row(name: str, way: Way, rate: float, splits: Sequence[Split]) -> dict[str, object]:
    """A row of the table."""
    return {
        "set": name,
        "way": way.name,
        "max_error": rate,
        "splits": len(splits),
        "exceeded": round(fmean(each.risk > rate for each in splits), 4),
        "coverage": round(fmean(each.coverage for each in splits), 4),
        "none": round(fmean(not each.answered for each in splits), 4),
        "error": round(
            sum(each.wrong for each in splits) / max(1, sum(each.answered for each in splits)), 4
        ),
        "ECE": round(median(each.ece for each in splits), 4),
        "AURC": round(median(each.aurc for each in splits), 4),
    }


def options_of(about: str, sets: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
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
    options = options_of(__doc__, list(SETS))
    rows = []
    for name in options.sets:
        dataset = load(options.data / name)
        index = (options.indexes or options.work / "indexes") / name
        with prepare_engine(Engine(settings=answering(index, options.threads)), dataset) as engine:
            outcomes = asked(dataset, engine, options.work, options.most or SETS.get(name))
        right = [outcome.right for outcome in outcomes if outcome]
        print(f"{name}: {len(outcomes)} questions, {fmean(right):.1%} of the answers right")
        for way in WAYS:
            done = [split(outcomes, way, RATES, seed) for seed in range(options.splits)]
            for at, rate in enumerate(RATES):
                rows.append(row(name, way, rate, [each[at] for each in done]))
                print(*(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    if options.out:
        options.out.write_text(json.dumps({"delta": DELTA, "rows": rows}, indent=1) + "\n")


def answering(index: Path, threads: int) -> Settings:
    """Whatever is found is answered, so that all ways have the same to choose from."""
    settings = Settings(index=IndexSettings(directory=index))
    ask = settings.ask.model_copy(update={"min_probability": 0.0})
    trace = settings.trace.model_copy(update={"enabled": False})
    models = settings.models.model_copy(update={"threads": threads})
    return settings.model_copy(update={"ask": ask, "trace": trace, "models": models})


if __name__ == "__main__":
    main()
