import gzip
import json
from dataclasses import replace
from pathlib import Path

from tests.training.rivers import ROWS
from training.cross_reader import pack
from training.cross_reader.data import Split
from training.cross_reader.rows import Row

ODD = Row(
    source="s",
    group="composed",
    question="Which „river“?",
    title="",
    text="One.\nTwo : Drei\u2028é",
    spans=((0, 3), (5, 8)),
    answerable=False,
    relevant=None,
    yesno=0,
    support=(1, 2),
    parts=((0, 4), (5, 15)),
    rests=((5, 15),),
)
SPLIT = Split(train=[*ROWS, ODD], development=[replace(ROWS[0], question="Another?"), ODD])


def test_packed_rows_are_restored(tmp_path: Path) -> None:
    pack.write(tmp_path / "pack.jsonl.gz", SPLIT)

    assert pack.read(tmp_path / "pack.jsonl.gz") == SPLIT


def test_every_text_is_stored_once(tmp_path: Path) -> None:
    pack.write(tmp_path / "pack.jsonl.gz", SPLIT)

    lines = gzip.decompress((tmp_path / "pack.jsonl.gz").read_bytes()).decode().split("\n")

    assert json.loads(lines[0]) == [*(row.text for row in ROWS), ODD.text]
    assert len(lines) == 2 + len(ROWS) + 3
    assert ROWS[0].text not in "".join(lines[1:])


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    pack.write(tmp_path / "a", SPLIT)
    pack.write(tmp_path / "b", SPLIT)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
