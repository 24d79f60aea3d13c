"""A process may die at any byte: complete lines count, and the rest is dropped."""

from pathlib import Path

from fathom.evaluation.jsonl import append_line, read_whole_lines


def test_a_partial_line_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "new" / "lines.jsonl"
    append_line(file, {"b": 1, "a": "é"})
    append_line(file, [2])
    assert read_whole_lines(file) == ['{"a":"é","b":1}'.encode(), b"[2]"]
    with file.open("ab") as torn:
        torn.write(b'{"c"')
    assert len(read_whole_lines(file)) == 2
    append_line(file, 3)
    assert file.read_bytes().endswith(b"[2]\n3\n")


def test_without_a_file_nothing_is_stored(tmp_path: Path) -> None:
    append_line(None, {})
    assert read_whole_lines(None) == read_whole_lines(tmp_path / "none") == []


def test_a_file_of_another_kind_stays_whole(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    for content in (b"my notes", b'{"_id":"q1"}', b'{\n"a": 1\n}'):
        file.write_bytes(content)
        assert read_whole_lines(file) == content.splitlines()
        assert file.read_bytes() == content


def test_a_whole_line_without_its_end_gets_one(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b'{"a":1}')
    append_line(file, {"b": 2})
    assert file.read_bytes() == b'{"a":1}\n{"b":2}\n'
