import json

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.json import is_json, parse


def test_an_object_gives_rows_and_headings() -> None:
    data = {
        "name": "Ann",
        "tags": ["a", "b"],
        "home": {"city": "Rome", "geo": {"lat": 1.5}},
        "x": None,
    }
    parsed = parse(json.dumps(data).encode())
    assert parsed.text == "name: Ann\ntags: a, b\n\nhome\n\ncity: Rome\n\ngeo\n\nlat: 1.5"
    assert parsed.blocks[-1].headings == ("home", "geo")


def test_a_list_of_flat_objects_gives_one_row_each() -> None:
    parsed = parse(b'[{"a": 1, "b": true}, {"a": 2}]')
    assert parsed.text == "a: 1 | b: true\na: 2"


def test_json_lines_are_read() -> None:
    assert parse(b'{"a": 1}\n\n{"a": 2}\n').text == "a: 1\na: 2"


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085"])
def test_separators_of_lines_in_the_texts_of_json_lines_are_read(mark: str) -> None:
    text = f'{{"a": "one{mark}two"}}\r\n{{"a": "three"}}\r\n'
    assert is_json(text)
    assert parse(text.encode()).text == "a: one two\na: three"


@pytest.mark.parametrize("data", [b"{nonsense", b'{"a": 1}\n{broken', b"[" * 100_000])
def test_damaged_json_is_refused(data: bytes) -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(data)
    assert refusal.value.outcome == "failed"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', True),
        ("[1, 2]", True),
        ('{"a":1}\n{"b":2}', True),
        ("3", False),
        ("{a}", False),
    ],
)
def test_json_is_recognised(text: str, expected: bool) -> None:
    assert is_json(text) is expected


def test_numbers_keep_all_their_digits() -> None:
    digits = "9" * 5_000
    text = f'{{"fee": 19.90, "mass": 12345678901234567890.125, "id": {digits}, "n": -1E400}}'
    assert is_json(text)
    assert parse(text.encode()).text == (
        f"fee: 19.90\nmass: 12345678901234567890.125\n\nid: {digits}\n\nn: -1E400"
    )
