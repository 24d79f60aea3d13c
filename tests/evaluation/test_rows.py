"""Lines are read from plain and packed files, and what is wrong with them has its place."""

import gzip
from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.evaluation.rows import lines, rows


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_blank_lines_are_skipped_and_counted(tmp_path: Path, name: str) -> None:
    data = b'\n{"_id": "a"}\n \n{"_id": "b", "n": 1}\n'
    file = tmp_path / name
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(rows(file)) == [(2, {"_id": "a"}), (4, {"_id": "b", "n": 1})]
    assert [number for number, _ in lines(file)] == [2, 4]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"_id": "a"}\n{"_id": "a"}', ":2: the id 'a' comes twice"),
        ('{"_id": 1}', ":1: expected an object with a text '_id'"),
        ("[1]", ":1: expected an object"),
        ('{"_id"', ":1: not JSON"),
    ],
)
def test_mistakes_name_the_line(tmp_path: Path, data: str, message: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(data)
    with pytest.raises(UsageError, match=message):
        list(rows(file))
