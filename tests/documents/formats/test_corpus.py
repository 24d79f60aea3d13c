import gzip
import io
import json

import pytest

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.formats.corpus import is_corpus, read_records

ROWS = [
    {"_id": "a", "title": "One", "text": "First text.", "metadata": {"year": 1999, "nested": {}}},
    {"_id": 7, "text": "Second text."},
    {"_id": "c", "title": "Only a title", "text": ""},
]


def make_lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("packed", [False, True])
def test_each_line_is_a_document(packed: bool) -> None:
    data = gzip.compress(make_lines(*ROWS)) if packed else make_lines(*ROWS)
    assert is_corpus(io.BytesIO(data))
    values = list(read_records(io.BytesIO(data), ParseLimits()))
    assert [(v.record, v.text, v.title) for v in values if isinstance(v, ParsedDocument)] == [
        ("a", "First text.", "One"),
        ("7", "Second text.", ""),
        ("c", "Only a title", "Only a title"),
    ]
    assert isinstance(values[0], ParsedDocument)
    assert values[0].metadata == {"year": 1999}


def test_bad_lines_fail_alone() -> None:
    data = (
        make_lines(ROWS[0]) + b"{broken\n\n" + make_lines({"_id": "x", "text": 3}, {"text": "y"}, 5)
    )
    data += make_lines({"_id": "z", "text": " "}, ROWS[1])
    values = list(read_records(io.BytesIO(data), ParseLimits()))
    failures = [(v.line, v.record, v.outcome) for v in values if isinstance(v, RecordFailure)]
    assert failures == [
        (2, None, "failed"),
        (4, "x", "failed"),
        (5, None, "failed"),
        (6, None, "failed"),
        (7, "z", "empty"),
    ]
    assert [v.record for v in values if isinstance(v, ParsedDocument)] == ["a", "7"]


@pytest.mark.parametrize("data", [b"", b"text", b'{"a": 1}\n', b"\x1f\x8bbroken", b"[1]\n"])
def test_other_files_are_no_corpus(data: bytes) -> None:
    file = io.BytesIO(data)
    assert not is_corpus(file)
    assert file.tell() == 0


def test_a_truncated_packed_file_gives_the_records_before() -> None:
    data = gzip.compress(make_lines(*ROWS * 5_000), mtime=0)[:-200]
    values = read_records(io.BytesIO(data), ParseLimits())
    assert isinstance(next(values), ParsedDocument)
    with pytest.raises(ParseRefusal, match="breaks off"):
        list(values)


def test_unpacked_size_and_record_size_are_capped() -> None:
    with pytest.raises(ParseRefusal, match="unpacks to more"):
        list(read_records(io.BytesIO(make_lines(*ROWS)), ParseLimits(corpus_bytes=100)))
    values = list(read_records(io.BytesIO(make_lines(*ROWS)), ParseLimits(text_chars=11)))
    assert [type(value) for value in values] == [ParsedDocument, RecordFailure, ParsedDocument]


def test_a_record_with_an_unusable_id_fails_alone_and_is_named_by_its_line() -> None:
    data = make_lines(
        {"_id": "x/../../keys.db", "text": "One."}, ROWS[0], {"_id": "a\0", "text": ""}
    )
    values = list(read_records(io.BytesIO(data), ParseLimits()))
    assert [v.record for v in values if isinstance(v, ParsedDocument)] == ["a"]
    failures = [v for v in values if isinstance(v, RecordFailure)]
    assert [(v.line, v.record, v.outcome) for v in failures] == [
        (1, None, "failed"),
        (3, None, "failed"),
    ]
    assert failures[0].reason.startswith('line 1: its "_id" holds ".."')


@pytest.mark.parametrize("name", [True, False, None, 1.5, ["a"]])
def test_an_id_is_a_text_or_a_whole_number(name: object) -> None:
    data = io.BytesIO(make_lines({"_id": name, "text": "One."}))
    (failure,) = read_records(data, ParseLimits())
    assert isinstance(failure, RecordFailure)
    assert failure.reason == 'line 1 is no record with an "_id"'


@pytest.mark.parametrize("name", ["", " "])
def test_a_record_with_an_empty_id_fails(name: str) -> None:
    data = io.BytesIO(make_lines({"_id": name, "text": "One."}))
    (failure,) = read_records(data, ParseLimits())
    assert isinstance(failure, RecordFailure)
    assert failure.reason == 'line 1 has an empty "_id"'


def test_a_record_with_the_id_of_a_file_gets_another_id() -> None:
    data = make_lines({"_id": "0" * 16, "text": "One."}, {"_id": "a" * 16, "text": ""})
    values = list(read_records(io.BytesIO(data), ParseLimits()))
    assert [value.record for value in values] == ["_" + "0" * 16, "_" + "a" * 16]
