"""How well scans are read: python benchmarks/scans.py [--pages 24].

Pages are set from the words of the samples, half English and half Indonesian, drawn in three fonts
and two sizes at 200 dpi, then turned by up to one degree, blurred and speckled as scanners do, and
read as any picture is: in the cage, by the extra `ocr`. Printed are the character error rate
(edits over characters, white space as one blank) of each language with its interval over pages, and
the seconds a page. The same seed gives the same pages.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from fathom.documents.base import ParsedDocument, ParseLimits
from fathom.documents.sandbox.parent import Sandbox, read_file
from fathom.evaluation.statistics import bca_interval

SAMPLES = Path(__file__).parent.parent / "samples" / "corpus"
TEXTS = {
    "en": ("about-merrow.md", "tree-care.rst", "recycling-guide.md", "council-minutes-2024-03.txt"),
    "id": ("jadwal-sampah.md", "pengumuman-banjir.txt", "aturan-perpustakaan.html"),
}
FONTS = ("DejaVuSerif.ttf", "LiberationSans-Regular.ttf", "Inter-Regular.ttf")
"""Those that are installed, and the one that Pillow brings."""
WIDTH, HEIGHT, MARGIN = 1654, 2339, 150  # A4 at 200 dpi
LINES = 28


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=24)
    pages = parser.parse_args().pages
    rates: dict[str, list[float]] = {language: [] for language in TEXTS}
    seconds = []
    with tempfile.TemporaryDirectory() as folder, Sandbox(ParseLimits()) as sandbox:
        for number in range(pages):
            language = ("en", "id")[number % 2]
            lines = page_of(words_of(language, sandbox), random.Random(number))
            place = Path(folder) / f"{number}.png"
            drawn(lines, number).save(place)
            began = time.monotonic()
            found = text_of(place, sandbox)
            seconds.append(time.monotonic() - began)
            rates[language].append(error_rate(" ".join(lines), found))
    for language, values in {
        **rates,
        "both": [each for all_ in rates.values() for each in all_],
    }.items():
        low, high = bca_interval(values, bounds=(0.0, 1.0))
        print(f"{language}: {fmean(values):.2%} [{low:.2%}, {high:.2%}] of {len(values)} pages")
    print(f"a page takes {median(seconds):.1f} s in the middle")


def words_of(language: str, sandbox: Sandbox) -> list[str]:
    """The words of the samples in a language, in their order."""
    return [word for name in TEXTS[language] for word in text_of(SAMPLES / name, sandbox).split()]


def text_of(place: Path, sandbox: Sandbox) -> str:
    """The text of a file as an ingestion reads it; empty where nothing was read."""
    return "\n".join(
        part.text for part in read_file(place, sandbox) if isinstance(part, ParsedDocument)
    )


def page_of(words: Sequence[str], chance: random.Random) -> list[str]:
    """Lines of up to seventy characters from a place of the text drawn by chance."""
    start = chance.randrange(max(1, len(words) - 300))
    return list(_lines(words[start:], chance.choice((58, 70))))[:LINES]


def _lines(words: Sequence[str], most: int) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + len(word) >= most:
            yield line
            line = ""
        line = f"{line} {word}".strip()


def drawn(lines: Sequence[str], number: int) -> Image.Image:
    """A page as a scanner would give it."""
    rng = np.random.default_rng(number)
    page = Image.new("L", (WIDTH, HEIGHT), 250)
    pen, font = ImageDraw.Draw(page), _font(number)
    for row, line in enumerate(lines):
        pen.text((MARGIN, MARGIN + row * 70), line, fill=25, font=font)
    page = page.rotate(rng.uniform(-1, 1), fillcolor=250, resample=Image.Resampling.BICUBIC)
    page = page.filter(ImageFilter.GaussianBlur(0.7))
    noise = rng.normal(0, 12, size=(HEIGHT, WIDTH))
    return Image.fromarray(np.clip(np.asarray(page) + noise, 0, 255).astype(np.uint8))


def _font(number: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    size = (30, 36)[number // 2 % 2]
    there: list[ImageFont.FreeTypeFont | ImageFont.ImageFont] = [ImageFont.load_default(size)]
    for name in FONTS:
        try:
            there.append(ImageFont.truetype(name, size))
        except OSError:
            continue  # not installed
    return there[number // 4 % len(there)]


def error_rate(wanted: str, found: str) -> float:
    """Least edits of characters from one text to the other, over the characters wanted."""
    wanted, found = " ".join(wanted.split()), " ".join(found.split())
    row = np.arange(len(found) + 1)
    for number, char in enumerate(wanted, start=1):
        kept = row[:-1] + (np.array([char]) != np.array(list(found)))
        best = np.minimum(row[1:] + 1, kept)
        full = np.concatenate([[number], best])
        # An inserted character costs one: the running minimum of what lies to the left.
        row = np.minimum.accumulate(full - np.arange(len(full))) + np.arange(len(full))
    return float(row[-1]) / max(1, len(wanted))


if __name__ == "__main__":
    main()
