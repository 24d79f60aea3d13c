"""All rows in one small file, every text once: the training data for any machine.

    python -m training.cross_reader.pack --data DATA --out pack.jsonl.gz

The first line lists the texts; every further line is a row. Rows of development stand there too,
marked.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from training.cross_reader.data import Split, load
from training.cross_reader.rows import Row
from training.cross_reader.sources import SHARES

_TUPLES = frozenset({"spans", "support", "parts", "rests"})


def write(path: Path, split: Split) -> None:
    """Write both halves of `split`."""
    texts: dict[str, int] = {}
    lines = [
        _encode_row(row, texts, development=development)
        for rows, development in ((split.train, False), (split.development, True))
        for row in rows
    ]
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for line in [json.dumps(list(texts), ensure_ascii=False), *lines]:
            packed.write((line + "\n").encode())


def _encode_row(row: Row, texts: dict[str, int], *, development: bool) -> str:
    stored: dict[str, Any] = {
        field.name: getattr(row, field.name)
        for field in fields(Row)
        if getattr(row, field.name) not in ((), None, "")
    }
    stored["text"] = texts.setdefault(row.text, len(texts))
    return json.dumps([int(development), stored], ensure_ascii=False)


def read(path: Path) -> Split:
    """Read the rows that `write` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = json.loads(next(lines))
        rows = [
            (bool(held), _decode_row(encoded, texts)) for held, encoded in map(json.loads, lines)
        ]
    return Split(
        train=[row for held, row in rows if not held],
        development=[row for held, row in rows if held],
    )


def _decode_row(encoded: dict[str, Any], texts: list[str]) -> Row:
    fields = {"title": "", **encoded, "text": texts[encoded["text"]]}
    for name in _TUPLES & fields.keys():
        fields[name] = tuple(_freeze(fields[name]))
    return Row(**fields)


def _freeze(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield tuple(value) if isinstance(value, list) else value


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    split = load(arguments.data, SHARES)
    write(arguments.out, split)
    for name, rows in (("train", split.train), ("development", split.development)):
        print(name, len(rows), dict(Counter(row.group for row in rows)))


if __name__ == "__main__":
    main()
