"""Rows that a language model wrote, without those that the shipped reader firmly contradicts.

    python -m training.cross_reader.agreed --rows rows.jsonl.gz --out kept.jsonl.gz

A small model's labels are wrong more often than ours. A row goes where it is said to have no answer
and the reader is sure of one, or where the reader finds none of the answer's words and is sure of
others, or sure of none. What the reader is unsure of stays: that is what is to be learned.
"""

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path

from training.cross_reader.evaluate import Model
from training.cross_reader.figures import Read, sum_margin_and_score
from training.cross_reader.rows import parse_row
from training.cross_reader.squad import compute_f1

from fathom.models.reader_loading import MULTILINGUAL, load_shipped_reader

# Of our own development rows, 2 to 3 % are contradicted so firmly each way.
_SURE = 7.0
_SURE_OF_NONE = -8.0


def is_contradicted(read: Read) -> bool:
    """Return whether the reader is sure that the row's label is wrong."""
    logit = sum_margin_and_score(read)
    if read.row.answerable is False:
        return logit > _SURE
    is_missed = bool(read.row.spans) and compute_f1(read.answer, read.golds) == 0
    return is_missed and not _SURE_OF_NONE <= logit <= _SURE


def main() -> None:
    """Read the arguments and write the rows that are kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with gzip.open(arguments.rows, "rt", encoding="utf-8") as lines:
        parsed = [(line, parse_row(json.loads(line))) for line in lines]
    model = Model(load_shipped_reader(MULTILINGUAL), most=1)
    counts: Counter[str] = Counter()
    with gzip.open(arguments.out, "wt", encoding="utf-8") as kept:
        for line, row in parsed:
            is_dropped = row is not None and any(map(is_contradicted, model.read([row])))
            counts["contradicted" if is_dropped else "kept"] += 1
            if not is_dropped:
                kept.write(line)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
