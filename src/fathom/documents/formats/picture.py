"""PNG, JPEG and TIFF: the text on a picture is recognised; each picture is a page."""

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fathom.documents.base import NEEDS_OCR, Builder, ParsedDocument, ParseRefusal
from fathom.documents.formats.pdf.layout import add_pages, find_opening_title
from fathom.documents.formats.pdf.lines import (
    PageLines,
    PrintedLine,
    Recogniser,
    summarize_recognition,
)

if TYPE_CHECKING:
    from PIL.Image import Image

KINDS = ("PNG", "JPEG", "TIFF")
MOST_PIXELS = 80_000_000
"""The largest number of pixels that a picture may claim: an A3 page at 600 dots an inch.

A larger picture is refused before it is unpacked.
"""
READ_PIXELS = 9_000_000
"""The largest number of pixels that are recognised: an A4 page at 300 dots an inch.

A larger picture is scaled down.
"""
_OBJECT = re.compile(r"(?:image file )?<[^\s<>]+ object at 0x[0-9a-f]+>")
"""The name of a picture in a message of Pillow; it has an address that differs in each run."""
_ORIENTATION = 0x0112  # the EXIF tag for the turn of the camera
_FEWEST_LETTERS = 12  # fewer are a sign or a logo


def parse(data: bytes, recogniser: Recogniser | None = None) -> ParsedDocument:
    """Parse a picture; without a recogniser every picture is refused.

    Raises:
        ParseRefusal: `no_document` without a recogniser and for a picture with hardly any text,
            `failed` for a damaged or huge picture.
    """
    if recogniser is None:
        raise ParseRefusal("no_document", f"is a picture; {NEEDS_OCR}")
    with _open_picture(data) as picture:
        frames = _count_frames(picture)
        recogniser.begin(frames)
        pages = list(_recognise_pages(picture, frames, recogniser))
    if sum(_count_letters(page.lines) for page in pages) < _FEWEST_LETTERS:
        raise ParseRefusal(
            "no_document", "is a picture with hardly any text that could be recognised"
        )
    builder = Builder()
    add_pages(builder, pages)
    return builder.build(find_opening_title(pages[0]), summarize_recognition(pages), opening=False)


def recognise_lines(data: bytes, recogniser: Recogniser) -> tuple[PrintedLine, ...]:
    """Return the recognised lines of a picture; none if it has hardly any text.

    Args:
        data: The file of the picture.
        recogniser: The recogniser, whose `begin` was called.

    Raises:
        ParseRefusal: `failed` for a damaged or huge picture.
    """
    with _open_picture(data) as picture:
        lines = recogniser.read(_prepare_pixels(picture))
    return lines if _count_letters(lines) >= _FEWEST_LETTERS else ()


@contextmanager
def _open_picture(data: bytes) -> "Iterator[Image]":
    """Open a picture for the `with` block.

    Raises:
        ParseRefusal: `failed` for any error of Pillow in the block, which means that the picture is
            damaged.
    """
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # `_prepare_pixels` checks the size before anything is unpacked
    try:
        with Image.open(io.BytesIO(data), formats=KINDS) as picture:
            yield picture
    except (ParseRefusal, MemoryError):
        raise
    except Exception as error:  # Pillow passes on the errors of all its decoders
        words = _OBJECT.sub("it", " ".join(str(error).split()))[:200]
        raise ParseRefusal(
            "failed", f"damaged picture ({type(error).__name__}: {words})"
        ) from error


def _count_letters(lines: Iterable[PrintedLine]) -> int:
    return sum(sum(map(str.isalnum, line.text)) for line in lines)


def _count_frames(picture: "Image") -> int:
    """Return the number of pages of a file: 1, except for TIFF.

    A photograph may contain further pictures, such as its depth, which do not count.

    Raises:
        ParseRefusal: `no_document` if the picture is an animation.
    """
    frames = int(getattr(picture, "n_frames", 1))
    if picture.format == "PNG" and frames > 1:
        raise ParseRefusal(
            "no_document", "is an animation; only pictures that stand still are read"
        )
    return frames if picture.format == "TIFF" else 1


def _recognise_pages(picture: "Image", frames: int, recogniser: Recogniser) -> Iterator[PageLines]:
    """Yield the recognised lines of each page."""
    for frame in range(frames):
        picture.seek(frame)
        yield PageLines(number=frame + 1, lines=recogniser.read(_prepare_pixels(picture)))


def _prepare_pixels(picture: "Image") -> Any:  # noqa: ANN401 - an array; numpy is imported below
    """Return the pixels of a picture, upright, on white, and at most `READ_PIXELS` of them.

    Returns:
        (height, width, 3) uint8, blue first.

    Raises:
        ParseRefusal: `failed` if the picture claims to be larger than any page.
    """
    import numpy as np
    from PIL import Image, ImageOps

    width, height = picture.size
    if width * height > MOST_PIXELS:
        raise ParseRefusal(
            "failed",
            f"claims {width} x {height} pixels, more than {MOST_PIXELS // 1_000_000} million",
        )
    orientation = picture.getexif().get(_ORIENTATION, 1)
    share = min(1.0, (READ_PIXELS / (width * height)) ** 0.5)
    size = max(1, int(width * share)), max(1, int(height * share))
    if share < 1 and picture.format == "JPEG":
        picture.draft("RGB", size)  # lets the decoder halve or quarter the size, which is faster
    whole = _reduce_depth(picture)
    flat = _paint_on_white(whole.resize(size, Image.Resampling.BOX) if share < 1 else whole)
    flat.getexif()[_ORIENTATION] = orientation
    upright = ImageOps.exif_transpose(flat)
    return np.ascontiguousarray(np.asarray(upright)[:, :, ::-1])


def _reduce_depth(picture: "Image") -> "Image":
    """Convert a picture to eight bits a colour, so that it can be scaled."""
    if picture.mode.startswith(("I", "F")):  # convert() would clip greys of more than eight bits
        return picture.point(lambda value: value / 256).convert("L")
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _paint_on_white(picture: "Image") -> "Image":
    """Return a picture without transparency, on a white ground."""
    from PIL import Image

    if picture.mode != "RGBA":
        return picture.convert("RGB")
    white = Image.new("RGBA", picture.size, "white")
    white.alpha_composite(picture)
    return white.convert("RGB")
