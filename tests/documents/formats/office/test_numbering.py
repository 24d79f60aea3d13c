import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fathom.documents.formats.list_numbers import format_number
from fathom.documents.formats.office.numbering import Numbering

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def parse_numbering(xml: str) -> Numbering:
    return Numbering(etree.fromstring(f'<w:numbering xmlns:w="{W}">{xml}</w:numbering>'))


def make_level(at: int, style: str, text: str, extra: str = "") -> str:
    inner = f'<w:numFmt w:val="{style}"/><w:lvlText w:val="{text}"/>{extra}'
    return f'<w:lvl w:ilvl="{at}">{inner}</w:lvl>'


def make_abstract(name: int, *levels: str) -> str:
    return f'<w:abstractNum w:abstractNumId="{name}">{"".join(levels)}</w:abstractNum>'


def make_num(name: int, of: int, override: str = "") -> str:
    return f'<w:num w:numId="{name}"><w:abstractNumId w:val="{of}"/>{override}</w:num>'


@pytest.mark.parametrize(
    ("value", "style", "printed"),
    [
        (3, "decimal", "3"),
        (3, "decimalZero", "03"),
        (1, "lowerLetter", "a"),
        (27, "upperLetter", "AA"),
        (28, "lowerLetter", "bb"),
        (4, "lowerRoman", "iv"),
        (1994, "upperRoman", "MCMXCIV"),
        (0, "lowerRoman", "0"),
        (5, "chicago", "5"),
    ],
)
def test_numbers_are_spelled_as_printed(value: int, style: str, printed: str) -> None:
    assert format_number(value, style) == printed


@given(st.integers(1, 3999), st.integers(1, 3999))
def test_roman_numbers_are_distinct(number: int, two: int) -> None:
    assert (format_number(number, "lowerRoman") == format_number(two, "lowerRoman")) == (
        number == two
    )


def test_a_deeper_level_restarts_below_the_next_item() -> None:
    lists = parse_numbering(
        make_abstract(0, make_level(0, "decimal", "%1."), make_level(1, "decimal", "%1.%2."))
        + make_num(1, 0)
    )
    labels = [lists.next_label("1", at) for at in (0, 1, 1, 0, 1)]
    assert labels == ["1.", "1.1.", "1.2.", "2.", "2.1."]


def test_instances_share_a_count_unless_they_restart() -> None:
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    lists = parse_numbering(
        make_abstract(0, make_level(0, "decimal", "%1)"))
        + make_num(1, 0)
        + make_num(2, 0)
        + make_num(3, 0, restart)
    )
    labels = [lists.next_label(name, 0) for name in "1123313"]
    assert labels == ["1)", "2)", "3)", "1)", "2)", "3)", "4)"]


def test_legal_numbering_prints_all_levels_in_digits() -> None:
    lists = parse_numbering(
        make_abstract(
            0, make_level(0, "upperRoman", "%1"), make_level(1, "decimal", "%1.%2", "<w:isLgl/>")
        )
        + make_num(1, 0)
    )
    assert [lists.next_label("1", at) for at in (0, 1)] == ["I", "1.1"]


def test_an_unknown_list_has_bullets() -> None:
    assert parse_numbering("").next_label("9", 0) == "-"


def test_a_list_style_link_is_followed() -> None:
    lists = parse_numbering(
        '<w:abstractNum w:abstractNumId="0"><w:styleLink w:val="S"/>'
        + make_level(0, "upperLetter", "%1.")
        + '</w:abstractNum><w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="S"/>'
        + "</w:abstractNum>"
        + make_num(1, 1)
    )
    assert lists.next_label("1", 0) == "A."
