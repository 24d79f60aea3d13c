"""Pages as pictures, with the quote of a citation marked."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from fathom.documents.base import ParseLimits, ParseRefusal
from fathom.documents.sandbox.drawing import draw_page

PDF = Path(__file__).parents[3] / "samples/corpus/flood-plan.pdf"
QUOTE = "The sports hall in Linden Road takes in 420 people."


def count_marked(page: int, quote: str, width: int = 800) -> int:
    """Return how many pixels of a page are as yellow as the marker."""
    drawn = draw_page(PDF, page, width=width, limits=ParseLimits(), quote=quote)
    with Image.open(BytesIO(drawn)) as image:
        assert abs(image.width - width) <= 1
        pixels = image.convert("RGB").tobytes()
    colours = zip(pixels[::3], pixels[1::3], pixels[2::3], strict=True)
    return sum(red > 240 and green > 220 and blue < 150 for red, green, blue in colours)


def test_a_quote_is_marked_exactly_where_it_is() -> None:
    assert count_marked(2, QUOTE) > 1000
    assert count_marked(1, QUOTE) == 0
    assert count_marked(2, "") == 0
    assert count_marked(2, "This stands nowhere.") == 0


def test_spaces_and_hyphens_of_the_file_do_not_matter() -> None:
    assert count_marked(2, "The  sports hall\nin Lin-den Road takes in 420 people") == count_marked(
        2, QUOTE
    )


def test_a_missing_page_is_refused() -> None:
    for page in (0, 3):
        with pytest.raises(ParseRefusal, match="there is no page"):
            draw_page(PDF, page, width=200, limits=ParseLimits())


def test_a_file_that_is_no_pdf_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.4 nonsense")
    with pytest.raises(ParseRefusal, match="cannot be drawn"):
        draw_page(broken, 1, width=200, limits=ParseLimits())
