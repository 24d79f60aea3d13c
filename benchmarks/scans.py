"""The accuracy of reading scans: python benchmarks/scans.py [--pages 24].

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
"""The files of installed fonts, and of the one that Pillow brings."""
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
            lines = make_page(read_words(language, sandbox), random.Random(number))
            place = Path(folder) / f"{number}.png"
            draw_page(lines, number).save(place)
            began = time.monotonic()
            recognised = read_text(place, sandbox)
            seconds.append(time.monotonic() - began)
            rates[language].append(compute_error_rate(" ".join(lines), recognised))
    for language, values in {
        **rates,
        "both": [rate for all_ in rates.values() for rate in all_],
    }.items():
        low, high = bca_interval(values, bounds=(0.0, 1.0))
        print(f"{language}: {fmean(values):.2%} [{low:.2%}, {high:.2%}] of {len(values)} pages")
    print(f"a page takes {median(seconds):.1f} s in the middle")


def read_words(language: str, sandbox: Sandbox) -> list[str]:
    """Return the words of the samples in a language, in order."""
    return [word for name in TEXTS[language] for word in read_text(SAMPLES / name, sandbox).split()]


def read_text(place: Path, sandbox: Sandbox) -> str:
    """Return the text of a file as an ingestion reads it; empty if nothing was read."""
    return "\n".join(
        part.text for part in read_file(place, sandbox) if isinstance(part, ParsedDocument)
    )


def make_page(words: Sequence[str], chance: random.Random) -> list[str]:
    """Return lines of up to seventy characters from a random place of the text."""
    start = chance.randrange(max(1, len(words) - 300))
    return list(_make_lines(words[start:], chance.choice((58, 70))))[:LINES]


def _make_lines(words: Sequence[str], most: int) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + len(word) >= most:
            yield line
            line = ""
        line = f"{line} {word}".strip()


def draw_page(lines: Sequence[str], number: int) -> Image.Image:
    """Draw a page as a scanner would deliver it."""
    rng = np.random.default_rng(number)
    page = Image.new("L", (WIDTH, HEIGHT), 250)
    pen, font = ImageDraw.Draw(page), _load_font(number)
    for row, line in enumerate(lines):
        pen.text((MARGIN, MARGIN + row * 70), line, fill=25, font=font)
    page = page.rotate(rng.uniform(-1, 1), fillcolor=250, resample=Image.Resampling.BICUBIC)
    page = page.filter(ImageFilter.GaussianBlur(0.7))
    noise = rng.normal(0, 12, size=(HEIGHT, WIDTH))
    return Image.fromarray(np.clip(np.asarray(page) + noise, 0, 255).astype(np.uint8))


def _load_font(number: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    size = (30, 36)[number // 2 % 2]
    there: list[ImageFont.FreeTypeFont | ImageFont.ImageFont] = [ImageFont.load_default(size)]
    for name in FONTS:
        try:
            there.append(ImageFont.truetype(name, size))
        except OSError:
            continue  # not installed
    return there[number // 4 % len(there)]


def compute_error_rate(expected: str, recognised: str) -> float:
    """Return the least character edits from one text to the other, per expected character."""
    expected, recognised = " ".join(expected.split()), " ".join(recognised.split())
    row = np.arange(len(recognised) + 1)
    for number, char in enumerate(expected, start=1):
        substituted = row[:-1] + (np.array([char]) != np.array(list(recognised)))
        best = np.minimum(row[1:] + 1, substituted)
        full = np.concatenate([[number], best])
        # An inserted character costs one: the running minimum of what lies to the left.
        row = np.minimum.accumulate(full - np.arange(len(full))) + np.arange(len(full))
    return float(row[-1]) / max(1, len(expected))


if __name__ == "__main__":
    main()
