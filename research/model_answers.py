"""The published records of answers of language models, from which their calibration is learned."""

from collections.abc import Sequence
from pathlib import Path

from research.packed import pack, unpack

from fathom.jsonable import Json

RECORDS = Path(__file__).parents[1] / "experiments" / "results" / "model_answers.jsonl.gz"
REPORTED = frozenset({"squad-fresh", "2wiki-fresh"})
"""The data sets on which nothing is learned or chosen."""
_TEXTS = ("model_answer", "local_answer")


def read_records(file: Path = RECORDS) -> list[Json]:
    """Return the published records, which hold no answers themselves."""
    return list(unpack(file)) if file.exists() else []


def write_records(rows: Sequence[Json], file: Path = RECORDS) -> None:
    """Publish records: no answers themselves, and each question of a model once."""
    plain = [{name: row[name] for name in row if name not in _TEXTS} for row in rows]
    by_key = {(row["dataset"], row["question"], row["model"]): row for row in plain}
    pack(file, (by_key[key] for key in sorted(by_key)))
