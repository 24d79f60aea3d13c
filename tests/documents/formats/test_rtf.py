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
        (rb"{\rtf1 a{\v hidden}b{\*\unknown gone}c\{\}\\}", "abc{}\\"),
        (rb"{\rtf1 A\cell B\cell\row C\cell D\cell\row}", "A | B\nC | D"),
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
