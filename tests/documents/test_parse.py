import pytest
from tests.documents.factories import make_samples

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.parse import check_text, parse_bytes
from fathom.registry import FORMATS, Format


@pytest.mark.parametrize("kind", FORMATS.values())
def test_every_format_has_a_parser(kind: Format) -> None:
    assert callable(kind.load())


@pytest.mark.parametrize("name", make_samples())
def test_content_decides_not_the_name(name: str) -> None:
    values = list(parse_bytes(make_samples()[name], name))
    if name not in {"a.md", "a.rst", "a.csv"}:  # text formats the name may decide between
        assert list(parse_bytes(make_samples()[name], "a.bin")) == values
    assert all(isinstance(value, ParsedDocument) for value in values)


def test_spans_of_blocks_point_into_the_text() -> None:
    for name, data in make_samples().items():
        for value in parse_bytes(data, name):
            assert not isinstance(value, RecordFailure)
            last = 0
            for block in value.blocks:
                assert last <= block.span.start < block.span.end <= len(value.text)
                assert block.span.cut(value.text).strip()
                last = block.span.end


def test_empty_and_excessive_text_is_refused() -> None:
    with pytest.raises(ParseRefusal) as refusal:
        check_text(ParsedDocument(text=" \n"), ParseLimits())
    assert refusal.value.outcome == "empty"
    with pytest.raises(ParseRefusal) as refusal:
        check_text(ParsedDocument(text="abc"), ParseLimits(text_chars=2))
    assert refusal.value.outcome == "failed"
