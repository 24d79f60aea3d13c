"""Conditions of roff are decided as a formatter for terminals decides them."""

import pytest

from fathom.documents.formats.roff_conditions import list_printed_lines


def list_lines(text: str) -> list[str]:
    return list(list_printed_lines(text))


@pytest.mark.parametrize(
    "condition",
    [
        "n",
        "!t",
        "o",
        "'ferry'ferry'",
        "!'gate'open'",
        '"a"a"',
        r"'\*(.T'utf8'",
        r"\n(.g",
        r"\n[.g]>0",
        r"(\n(rF:(\n(.g==0)+1)",
        "!(1 > 2)",
        "1+1=2",
        "d SH",
        "!d Nonsense",
        "r .g",
        r"c \[bu]",
    ],
)
def test_lines_that_a_terminal_shows_stay(condition: str) -> None:
    assert list_lines(f".if {condition} .BR -q\n. if {condition} plain\nend") == [
        ".BR -q",
        "plain",
        "end",
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "t",
        "!n",
        "e",
        "v",
        "'gate'open'",
        "!'a'a'",
        r"!\n(.g",
        r"\nX",
        "0",
        "1-1",
        "d Nonsense",
        "r nonsense",
        "3/0",
        "(1",
        "(" * 5_000,
        "",
    ],
)
def test_lines_that_a_terminal_does_not_show_are_left_out(condition: str) -> None:
    assert list_lines(f".if {condition} .BR -q\nend") == ["end"]
    assert list_lines(f".if {condition} \\{{\\\nhidden\n.\\}}\nend") == ["end"]


def test_one_of_two_branches_is_shown() -> None:
    text = r""".ie t \{\
For printers.
.  ie n deep
.  el deeper
.\}
.el \{\
For terminals.
.  ie t far
.  el near\}
.ie n one
.el two
.el three
end"""
    assert list_lines(text) == ["For terminals.", "near", "one", "end"]


def test_conditions_are_read_one_in_the_other() -> None:
    assert list_lines(".if n .if !'a'b' .if n .B all\n.if n .if t .B none") == [".B all"]


def test_numbers_and_strings_of_the_page_count() -> None:
    text = ".nr F 2\n.ds Q yes\n.if \\nF>1 two\n.if '\\*Q'yes' sure\n.if \\nF*\\nF>4 large"
    assert list_lines(text)[2:] == ["two", "sure"]
    powers = ".nr F 999999999\n" + ".nr F \\nF*\\nF\n" * 60 + ".if \\nF end"
    assert list_lines(powers)[-1] == "end"


def test_definitions_and_comments_show_nothing() -> None:
    text = '.de XX \\" a macro\nwords of it\n..\n.ig\nignored\n..\n.de YY end\nwords\n.end\nshown'
    assert list_lines(text) == ["shown"]
    assert list_lines(".if n .de XX\nwords\n. .\nshown") == ["shown"]


def test_a_definition_without_an_end_hides_nothing() -> None:
    assert list_lines(".de XX\nshown\n.de YY\nshown too") == ["shown", "shown too"]
