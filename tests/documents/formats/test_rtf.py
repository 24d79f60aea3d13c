import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.rtf import parse


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}Hello \b World\b0 .\par Next}",
            "Hello World.\n\nNext",
        ),
        (rb"{\rtf1\ansicpg1252 caf\'e9 \u8364?5\line end}", "café €5\nend"),
        (rb"{\rtf1\ansicpg1251 \'cf\'f0\'e8}", "При"),
        (rb"{\rtf1\uc2 \u233 abX}", "éX"),
        (rb"{\rtf1\ansicpg932 \'93\'fa\'96\'7b \'93\par A}", "日本\n\nA"),
        (
            rb"{\rtf1\ansicpg1252\deff1{\fonttbl{\f0\fbidi \fnil\fcharset0 A;}{\f1\fcharset204 B;}}"
            rb"\'cf\'f0\'e8 {\f0 caf\'e9} \'cf\f0\'e9}",
            "При café Пé",
        ),
        (rb"{\rtf1 a{\v hidden}b{\*\unknown gone}c\{\}\\}", "abc{}\\"),
        (rb"{\rtf1 It costs {\deleted 25}{\revised 30}.}", "It costs 30."),
        (
            rb"{\rtf1 a\par{\shp{\*\shpinst\shpleft1{\sp{\sn f}{\sv 1}}{\shptxt In a box.\par}}"
            rb"{\shprslt{\*\do{\dptxbxtext In a box.\par}}}}b}",
            "a\n\nIn a box.\n\nb",
        ),
        (rb"{\rtf1 A\cell B\cell\row C\cell D\cell\row}", "A | B\nC | D"),
        (rb"{\rtf1 A | x\cell B\cell\row}", "A \\| x | B"),
        (rb"{\rtf1 no | row}", "no | row"),
        (rb"{\rtf1 \u-10179?\u-8704? ok}", "\U0001f600 ok"),
        (rb"{\rtf1 {\pict 00ff00ff}seen", "seen"),
    ],
)
def test_text_is_read(source: bytes, text: str) -> None:
    assert parse(source).text == text


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(ParseRefusal, match="nested") as refusal:
        parse(b"{\\rtf1 " + b"{" * 5_000)
    assert refusal.value.outcome == "failed"


@pytest.mark.parametrize(
    "hidden", [rb"{\fs2 secret}", rb"\fs4 secret \fs24 ", rb"\fs1 secret\plain "]
)
def test_tiny_text_is_left_out_and_reported(hidden: bytes) -> None:
    parsed = parse(rb"{\rtf1\fs24 The fee is " + hidden + rb"9 crowns.}")
    assert parsed.text == "The fee is 9 crowns."
    assert parsed.unread == "hidden text left out in 1 place"


def test_small_text_that_can_be_read_stays() -> None:
    assert parse(rb"{\rtf1\fs24 The fee\fs10  is 9 crowns.}").unread == ""
