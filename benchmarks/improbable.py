"""The value of withholding improbable answers: python -m benchmarks.improbable RECORDS.

RECORDS holds a folder for each data set with a file of records for each strategy, as
`python -m experiments fathom/strategies --work PLACE` leaves them in `PLACE/records`. Each answer
is weighed by the shipped calibration, and withheld below `ask.min_probability` unless it shows who
disagrees, as the finalizer does. Means over all questions of the sets.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from fathom.assembly.calibrations import load_shipped_calibrations
from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Record

MEASURES = ("F1", "CRAG-truthfulness", "wrong-on-answerable", "abstained", "abstention-recall")
BOUNDS = (0.0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)


def withhold(record: Record, strategy: str, least: float) -> Record:
    """Return the record as it would be with this `ask.min_probability`."""
    law = load_shipped_calibrations()[strategy].law
    if not record.is_answered or not record.signals or record.conflicts:
        return record
    if law(record.signals) >= least:
        return record
    return replace(record, status="abstained", answer="", short_answer="")


def compute_mean(measure: str, records: Sequence[Record]) -> float:
    """Return the mean over the records that have the measure."""
    values = (SCORES[measure](record) for record in records)
    return fmean(score for score in values if score is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("--strategies", nargs="*", default=["adaptive", "naive"])
    parser.add_argument("--without", nargs="*", default=["squad-fresh"], help="only reported on")
    arguments = parser.parse_args()
    print("|".join(["| strategy | least ", *MEASURES, ""]))
    print("|---" * (len(MEASURES) + 2) + "|")
    for strategy in arguments.strategies:
        records = [
            Record.from_json(json.loads(line))
            for folder in sorted(arguments.records.iterdir())
            if folder.name not in arguments.without
            for line in (folder / f"{strategy}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for least in BOUNDS:
            now = [withhold(record, strategy, least) for record in records]
            cells = " | ".join(f"{compute_mean(measure, now):.3f}" for measure in MEASURES)
            print(f"| {strategy} | {least} | {cells} |")


if __name__ == "__main__":
    main()
