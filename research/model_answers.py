"""The published records of answers of language models, from which their calibration is learned."""

from collections.abc import Sequence
from pathlib import Path

from research.packed import pack, unpack

from fathom.jsonable import Json
from fathom.llm.catalogue import identify_model

RECORDS = Path(__file__).parents[1] / "experiments" / "results" / "model_answers.jsonl.gz"
REPORTED = frozenset({"squad-fresh", "2wiki-fresh"})
"""The data sets on which nothing is learned or chosen."""
UNGRADED = frozenset({"techqa-130"})
"""The data sets whose gold answers are passages, beside which no short answer counts as right."""
_UNPUBLISHED = ("model_answer", "local_answer", "places")


def read_records(file: Path = RECORDS) -> list[Json]:
    """Return the published records, which hold no answers themselves."""
    return list(unpack(file)) if file.exists() else []


def write_records(rows: Sequence[Json], file: Path = RECORDS) -> None:
    """Publish records without the answers and their places, of each question the last one."""
    plain = [{name: row[name] for name in row if name not in _UNPUBLISHED} for row in rows]
    by_key = {build_key(row): row for row in plain}
    pack(file, (by_key[key] for key in sorted(by_key)))


def name_file(model: str) -> str:
    """Return the name of a model's file, or the one after `local:`."""
    return Path(model.removeprefix("local:")).name


def name_model(model: str) -> str:
    """Return the name of the known model of a file, else that of the file."""
    return identify_model(model) or model


def build_key(row: Json) -> tuple[str, str, str]:
    """Return the set, the question and the model, whatever its file is called."""
    return row["dataset"], row["question"], name_model(row["model"])
