"""Pictures of pages, drawn by the tests; covers fathom.documents.ocr.recogniser with the extra."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont
from tests.documents.formats.pdf.test_scans import FixedRecogniser

from fathom.documents.base import NEEDS_OCR, ParsedDocument, ParseLimits, ParseRefusal
from fathom.documents.formats import picture
from fathom.documents.formats.picture import parse
from fathom.documents.ocr.availability import find_models
from fathom.documents.sandbox.parent import Sandbox, read_file

needs_ocr = pytest.mark.skipif(find_models() is None, reason="the extra `ocr` is not installed")
ENGLISH = ("The ferry to Merrow leaves at 7.15.", "A return ticket costs 12 crowns.")
INDONESIAN = ("Perpustakaan buka pukul delapan pagi.", "Denda keterlambatan seribu rupiah.")


def draw_page(*lines: str, size: int = 28) -> Image.Image:
    drawn = Image.new("RGB", (760, 60 + 60 * len(lines)), "white")
    font = ImageFont.load_default(size)
    for number, line in enumerate(lines):
        ImageDraw.Draw(drawn).text((40, 30 + 60 * number), line, "black", font)
    return drawn


def save_image(first: Image.Image, kind: str, *more: Image.Image, **options: Any) -> bytes:
    out = BytesIO()
    several = {"save_all": True, "append_images": more} if more else {}
    first.save(out, kind, **several, **options)
    return out.getvalue()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(ParseLimits()) as opened:
        yield opened


def recognise(sandbox: Sandbox, file: Path, data: bytes) -> ParsedDocument:
    file.write_bytes(data)
    (parsed,) = read_file(file, sandbox)
    assert isinstance(parsed, ParsedDocument)
    return parsed


@needs_ocr
def test_pages_of_a_tiff_are_read_in_the_sandbox_with_their_confidence(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    file, confidences = tmp_path / "scan.tif", []
    file.write_bytes(save_image(draw_page(*ENGLISH), "TIFF", draw_page(*INDONESIAN)))
    (parsed,) = read_file(file, sandbox, lambda done, pages: confidences.append((done, pages)))
    assert isinstance(parsed, ParsedDocument)
    assert parsed.text.split() == " ".join(ENGLISH + INDONESIAN).split()
    assert confidences == [(0, 2), (1, 2), (2, 2)]
    assert {block.page for block in parsed.blocks} == {1, 2}
    assert all(block.recognised is not None and block.recognised > 0.9 for block in parsed.blocks)
    assert parsed.metadata["recognised_pages"] == 2
    (again,) = read_file(file, sandbox)
    assert again == parsed


@needs_ocr
@pytest.mark.parametrize("turn", [90, 180])
def test_a_turned_page_is_read_upright(sandbox: Sandbox, tmp_path: Path, turn: int) -> None:
    turned = draw_page(*ENGLISH).rotate(turn, expand=True)
    parsed = recognise(sandbox, tmp_path / "turned.png", save_image(turned, "PNG"))
    assert parsed.text.split() == " ".join(ENGLISH).split()


@needs_ocr
def test_a_skewed_photograph_with_the_wrong_extension_is_read(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # held upright: the picture lies on its side
    skewed = draw_page(*ENGLISH).rotate(2, expand=True, fillcolor="white").rotate(90, expand=True)
    parsed = recognise(sandbox, tmp_path / "photo.txt", save_image(skewed, "JPEG", exif=exif))
    assert parsed.text.split() == " ".join(ENGLISH).split()


@needs_ocr
@pytest.mark.parametrize(
    ("data", "outcome", "reason"),
    [
        (
            save_image(Image.new("RGB", (300, 200), "white"), "PNG"),
            "no_document",
            "hardly any text",
        ),
        (save_image(draw_page("x"), "PNG")[:400], "failed", "damaged picture"),
        # The message is the same at each run.
        (b"\x89PNG\r\n\x1a\n", "failed", r"\(UnidentifiedImageError: cannot identify it\)$"),
    ],
)
def test_an_unreadable_picture_has_a_reason(
    sandbox: Sandbox, tmp_path: Path, data: bytes, outcome: str, reason: str
) -> None:
    with pytest.raises(ParseRefusal, match=reason) as refusal:
        recognise(sandbox, tmp_path / "x.png", data)
    assert refusal.value.outcome == outcome


def test_without_a_recogniser_the_extra_is_named() -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(save_image(draw_page("x"), "PNG"))
    assert refusal.value.outcome == "no_document"
    assert refusal.value.reason == f"is a picture; {NEEDS_OCR}"


def test_an_animation_is_no_document() -> None:
    moving = save_image(draw_page("one"), "PNG", draw_page("two"))
    with pytest.raises(ParseRefusal, match="is an animation"):
        parse(moving, FixedRecogniser())


def test_a_huge_picture_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = save_image(Image.new("1", (20_000, 20_000)), "PNG")
    assert len(bomb) < 100_000
    monkeypatch.setattr(picture, "_reduce_depth", lambda _: pytest.fail("it was unpacked"))
    with pytest.raises(ParseRefusal, match="claims 20000 x 20000 pixels, more than 80 million"):
        parse(bomb, FixedRecogniser())


def test_a_large_picture_is_reduced_before_reading() -> None:
    recogniser = FixedRecogniser()
    parse(save_image(Image.new("L", (6_000, 3_000), 255), "PNG"), recogniser)
    ((height, width, colours),) = recogniser.shapes
    assert height * width <= picture.READ_PIXELS
    assert abs(width / height - 2) < 0.01
    assert colours == 3


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "LA", "CMYK", "I;16"])
def test_all_colour_modes_are_read_dark_on_white(mode: str) -> None:
    transparent = Image.new("RGBA", (40, 20), (0, 0, 0, 0)) if mode in {"RGBA", "LA"} else None
    plain = Image.new("L", (40, 20), 255)
    image = transparent.convert(mode) if transparent else Image.new("I;16", (40, 20), 65_535)
    if not transparent and mode != "I;16":
        image = plain.convert(mode)

    class LookingRecogniser(FixedRecogniser):
        def read(self, picture: Any) -> Any:
            assert picture.min() >= 254
            return super().read(picture)

    recogniser = LookingRecogniser()
    parse(save_image(image, "TIFF"), recogniser)
    assert recogniser.shapes == [(20, 40, 3)]
