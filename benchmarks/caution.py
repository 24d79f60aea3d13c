"""The levels of `ask.caution` on recorded drafts: python -m benchmarks.caution RECORDS.

RECORDS holds a folder for each data set with the records of a strategy whose every draft was given:
`fathom eval DATA --strategy adaptive --set ask.min_probability=0 --records RECORDS`. Each draft is
weighed by the shipped calibration, and given, shown as not sure or withheld as the finalizer does.
`--bounds 0.4,0.2,0.3` adds other bounds than those of the levels: of an answer that is given, of a
sure one that is shown as not sure, and of an unsure one, which may be left out.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp
from pathlib import Path
from statistics import fmean

from fathom.assembly.calibrations import load_shipped_calibrations
from fathom.calibration.caution import LEVELS, ProbabilityBounds
from fathom.calibration.law import Weigher
from fathom.evaluation.measures import DRAFT_MEASURES, SCORES
from fathom.evaluation.records import Record
from fathom.settings import Settings

MEASURES = ("CRAG-truthfulness", "F1", *DRAFT_MEASURES, "abstention-recall")
WITHOUT = ProbabilityBounds(0.3)
"""The only bound before there were levels."""


def decide(record: Record, strategy: str, bounds: ProbabilityBounds) -> Record:
    """Return the record as it would be with these bounds."""
    if not record.is_answered or not record.signals:
        return record
    weigher = Weigher(law=load_shipped_calibrations()[strategy].law).apply_bounds(bounds)
    calibrated = weigher(record.signals)
    least = Settings().ask.min_confidence
    draft_is_sure = 1 / (1 + exp(-record.signals["sure"])) >= least
    is_sure = draft_is_sure or calibrated.sure >= least
    if is_sure and (calibrated.probable or (draft_is_sure and record.conflicts)):
        return record
    if calibrated.tentative if is_sure else calibrated.likely:
        return replace(record, tentative=True)
    withheld = {"answer": record.answer, "short_answer": record.short_answer}
    return replace(record, status="abstained", answer="", short_answer="", withheld=withheld)


def compute_mean(measure: str, records: Sequence[Record]) -> float:
    """Return the mean over the records that have the measure; 0 where none has."""
    scores = [score for record in records if (score := SCORES[measure](record)) is not None]
    return fmean(scores) if scores else 0.0


def list_bounds(more: Sequence[str]) -> Iterator[tuple[str, ProbabilityBounds]]:
    """Yield the bounds to compare, by name."""
    yield "without", WITHOUT
    yield from LEVELS.items()
    for pair in more:
        yield pair, ProbabilityBounds(*(float(part) for part in pair.split(",")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("--strategy", default="adaptive")
    parser.add_argument("--bounds", action="append", default=[])
    arguments = parser.parse_args()
    print("|".join(["| data set | questions | level ", *MEASURES, ""]))
    print("|---" * (len(MEASURES) + 3) + "|")
    for folder in sorted(arguments.records.iterdir()):
        lines = (folder / f"{arguments.strategy}.jsonl").read_text(encoding="utf-8").splitlines()
        records = [Record.from_json(json.loads(line)) for line in lines]
        for name, bounds in list_bounds(arguments.bounds):
            now = [decide(record, arguments.strategy, bounds) for record in records]
            cells = " | ".join(f"{compute_mean(measure, now):.3f}" for measure in MEASURES)
            print(f"| {folder.name} | {len(records)} | {name} | {cells} |")


if __name__ == "__main__":
    main()
