"""Drawing of a PDF page, in a separate process under the limits of the sandbox."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from struct import pack
from typing import Any

from fathom.documents.base import ParseLimits, ParseRefusal
from fathom.documents.sandbox import jail
from fathom.documents.sandbox.frames import MEMORY_EXIT
from fathom.documents.sandbox.parent import list_import_path
from fathom.system import renew_cpu

MOST_PIXELS = 4_000_000
"""The largest number of pixels of a drawn page; a larger page is scaled down."""
PixelBox = tuple[int, int, int, int]
"""The left, upper, right and lower edge of a part of a picture, in pixels."""
_BOOT = (
    "import sys; sys.path[:] = sys.argv.pop().split('\\n'); "
    "from fathom.documents.sandbox.drawing import main; main()"
)
_NO_PAGE, _DAMAGED = 3, 4
MOST_QUOTED = 4_000
"""The number of characters to which a quote is cut before it is searched for."""
INK = (1.0, 0.93, 0.5)
"""The shares of red, green and blue that the marker lets through."""


def draw_page(path: Path, page: int, *, width: int, limits: ParseLimits, quote: str = "") -> bytes:
    """Draw a page as a PNG.

    Args:
        path: A PDF file.
        page: The number of the page, from 1.
        width: The width of the picture in pixels.
        limits: The limits for the process.
        quote: The text to mark on the page, as with a text marker; empty for none.

    Returns:
        The bytes of the PNG.

    Raises:
        ParseRefusal: `no_document` if there is no such page, `failed` if it cannot be drawn within
            the limits.
    """
    command = [
        *(sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT),
        *(json.dumps(asdict(limits)), str(os.getpid()), str(path.absolute())),
        *(str(page), str(width), quote[:MOST_QUOTED].encode().hex(), list_import_path()),
    ]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter with our own code
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"LANG": "C.UTF-8"},
            timeout=limits.wall_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ParseRefusal("failed", f"took longer than {limits.wall_s:g} s") from None
    if done.returncode == _NO_PAGE:
        raise ParseRefusal("no_document", f"there is no page {page}")
    if done.returncode or not done.stdout.startswith(b"\x89PNG"):
        raise ParseRefusal("failed", "the page cannot be drawn")
    return done.stdout


def main() -> None:
    """Draw one page to the standard output; this is the entry point of the process."""
    import pypdfium2

    limits = ParseLimits(**json.loads(sys.argv[1]))
    path, page, width = Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    reply = jail.open_reply()
    try:
        file = path.open("rb")
    except OSError:
        os._exit(_DAMAGED)
    jail.enter_jail(limits, int(sys.argv[2]))
    renew_cpu(limits.cpu_s)
    try:
        document = pypdfium2.PdfDocument(file.read())
        if not 1 <= page <= len(document):
            os._exit(_NO_PAGE)
        quote = bytes.fromhex(sys.argv[6]).decode()
        reply.write(_render_page(document[page - 1], width, quote))
        reply.flush()
    except MemoryError:
        os._exit(MEMORY_EXIT)
    except Exception:  # noqa: BLE001 - parsers of hostile input raise anything
        os._exit(_DAMAGED)
    os._exit(0)


def _render_page(page: Any, width: int, quote: str) -> bytes:  # noqa: ANN401 - of pypdfium2
    """Return a page as a PNG, with the quote marked."""
    page_width, page_height = max(page.get_width(), 1.0), max(page.get_height(), 1.0)
    scale = min(width / page_width, (MOST_PIXELS / (page_width * page_height)) ** 0.5)
    bitmap = page.render(scale=scale, rev_byteorder=True, no_smoothpath=False)
    rows = bitmap.to_numpy()
    pixel = bitmap.get_posconv(page).to_bitmap
    for box in _locate_quote(page, quote):
        left, top, right, bottom = _convert_box(pixel, box, rows.shape[1], rows.shape[0])
        for colour, share in enumerate(INK):
            below = rows[top:bottom, left:right, colour]
            below[:] = (below * share).astype(below.dtype)
    return encode_png(rows[:, :, :3].tobytes(), rows.shape[1], rows.shape[0])


def _locate_quote(page: Any, quote: str) -> list[tuple[float, float, float, float]]:  # noqa: ANN401
    """Return the boxes of a quote on a page, one for each line, as (left, bottom, right, top)."""
    from pypdfium2 import raw

    words = page.get_textpage()
    chars = [chr(raw.FPDFText_GetUnicode(words.raw, at)) for at in range(words.count_chars())]
    # Only letters and digits surely are the same on the page and in the text of the index.
    letters = [at for at, char in enumerate(chars) if char.isalnum()]
    needle = "".join(char.casefold()[:1] for char in quote if char.isalnum())
    start = "".join(chars[at].casefold()[:1] for at in letters).find(needle) if needle else -1
    if start < 0:
        return []
    first, last = letters[start], letters[start + len(needle) - 1]
    return [words.get_rect(at) for at in range(words.count_rects(first, last - first + 1))]


def _convert_box(
    pixel: Callable[[float, float], tuple[int, int]],
    box: tuple[float, float, float, float],
    width: int,
    height: int,
) -> PixelBox:
    """Convert a box from places on a page to pixels, with some room around it.

    Args:
        pixel: The function that converts a place on the page.
        box: The left, lower, right and upper edge on the page.
        width: The width of the picture.
        height: The height of the picture.
    """
    left, bottom, right, top = box
    across, down = zip(pixel(left, top), pixel(right, bottom), strict=True)
    room = max((max(down) - min(down)) // 6, 2)
    return (
        max(min(across) - 2, 0),
        max(min(down) - room, 0),
        min(max(across) + 2, width),
        min(max(down) + room, height),
    )


def encode_png(pixels: bytes, width: int, height: int) -> bytes:
    """Encode a picture, three bytes (red, green, blue) for each pixel, as a PNG file."""
    row = 3 * width
    lines = b"".join(b"\0" + pixels[row * at : row * (at + 1)] for at in range(height))
    head = pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    sections = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_encode_section(*section) for section in sections)


def _encode_section(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
