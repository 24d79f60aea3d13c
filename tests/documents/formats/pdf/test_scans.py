"""Scanned pages, with a recogniser that reports its input."""

from typing import Any

import pytest
from tests.documents.factories import make_lines, make_pdf

from fathom.documents.base import NEEDS_OCR, ParseRefusal
from fathom.documents.formats.pdf.document import parse
from fathom.documents.formats.pdf.lines import PrintedLine

PICTURE = "q 500 0 0 700 40 40 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \xff EI Q"
STAMP = "q 40 0 0 40 500 20 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \xff EI Q"
TEXT = make_lines(
    "This page holds a text of its own, which is long enough to be one.", "It ends here."
)


class FixedRecogniser:
    """Reads the same line from every picture."""

    def __init__(
        self, text: str = "What was recognised on the picture.", sure: float = 0.9
    ) -> None:
        self.text, self.sure = text, sure
        self.pages: list[int] = []
        self.shapes: list[tuple[int, ...]] = []

    def begin(self, pages: int) -> None:
        self.pages.append(pages)

    def read(self, picture: Any) -> tuple[PrintedLine, ...]:
        self.shapes.append(picture.shape)
        return (PrintedLine(text=self.text, sure=self.sure, size=10.0),) if self.text else ()


def test_scanned_pages_are_recognised_and_the_others_are_not() -> None:
    recogniser = FixedRecogniser()
    parsed = parse(make_pdf(TEXT, PICTURE), recogniser)
    assert recogniser.pages == [1]
    assert recogniser.shapes == [(2223, 1667, 3)]
    recognised = {block.page: block.recognised for block in parsed.blocks}
    assert recognised == {1: None, 2: 0.9}
    assert parsed.text.endswith("What was recognised on the picture.")
    assert parsed.metadata == {"recognised_pages": 1, "recognised": 0.9}
    assert parsed.unread == ""


def test_without_a_recogniser_the_pages_and_the_extra_are_named() -> None:
    parsed = parse(make_pdf(TEXT, PICTURE, TEXT))
    assert parsed.unread == f"page 2 of 3 without text of its own; {NEEDS_OCR}"
    with pytest.raises(ParseRefusal, match=r"fathom-qa\[ocr\]") as refusal:
        parse(make_pdf(PICTURE, PICTURE))
    assert refusal.value.outcome == "no_text_layer"


def test_the_note_on_scans_stays_last_so_that_they_are_recognised() -> None:
    hidden = "BT /F1 10 Tf 1 g 50 100 Td (evil) Tj ET"
    unread = parse(make_pdf(f"{TEXT}\n{hidden}", PICTURE)).unread
    assert unread.startswith(
        "hidden or struck-through text left out in 1 place; page 2 of 2 without text"
    )
    assert unread.endswith(f"; {NEEDS_OCR}")


def test_stray_characters_over_a_picture_are_no_text_and_a_stamp_is_no_scan() -> None:
    assert (
        parse(make_pdf(f"{PICTURE} {make_lines('p. 7')}"), FixedRecogniser()).text
        == FixedRecogniser().text
    )
    assert parse(make_pdf(f"{STAMP} {make_lines('Cover')}"), FixedRecogniser()).text == "Cover"


def test_the_longer_text_is_kept() -> None:
    parsed = parse(make_pdf(f"{PICTURE} {make_lines('Annual report')}"), FixedRecogniser("x"))
    assert parsed.text == "Annual report"
    assert parsed.blocks[0].recognised is None


def test_pictures_without_any_text_are_empty() -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(make_pdf(PICTURE), FixedRecogniser(""))
    assert refusal.value.outcome == "empty"
