"""Recognition of text on a picture by PP-OCRv6 (RapidOCR), in any orientation of the picture."""

from collections.abc import Callable, Sequence
from math import atan2, cos, hypot, sin
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.documents.base import NEEDS_OCR, ParseRefusal
from fathom.documents.formats.pdf.lines import PrintedLine
from fathom.documents.ocr.availability import find_models
from fathom.documents.ocr.reading_order import Segment, build_lines

Picture = NDArray[np.uint8]

_FINDING_SIDE = 1280  # pixels of the longer side of the picture on which lines are detected
_THREADS = 1  # one thread sums in the same order on every machine; processes run in parallel
_LEAST_SURE = 0.5  # of a segment; below it, patterns and dirt are read as letters
_UNSURE = 0.8  # of a page: below it, the page may be upside down
_TALL = 1.5  # times as high as wide: a line that runs up or down the page
_WIDE = 3.0  # times as wide as high: such a line has the slope of the page


class RapidRecogniser:
    """A `Recogniser` whose models are loaded for the first file with pictures.

    Args:
        most_pages: The number of pictures above which a file is refused.
        on_page: A callback with the number of a file's pictures that have been read, and the number
            of all.
    """

    def __init__(self, most_pages: int, on_page: Callable[[int, int], None]) -> None:
        self._most = most_pages
        self._on_page = on_page
        self._engine: Any = None
        self._done, self._pages = 0, 0

    def begin(self, pages: int) -> None:
        """Begin a file with a number of pictures.

        Raises:
            ParseRefusal: `failed` if the file has too many, `no_text_layer` if the extra `ocr` is
                not installed.
        """
        if pages > self._most:
            raise ParseRefusal(
                "failed",
                f"has {pages} pages to recognise, more than limits.ocr_pages = {self._most}",
            )
        self._done, self._pages = 0, pages
        if self._engine is None:
            self._engine = _load_engine()
        self._on_page(0, pages)

    def read(self, picture: Picture) -> tuple[PrintedLine, ...]:
        """Return the lines of a picture (height, width, 3; blue first) in reading order."""
        lines = build_lines(_straighten(self._recognise_upright(picture)))
        self._done += 1
        self._on_page(self._done, self._pages)
        return lines

    def _recognise_upright(self, picture: Picture) -> "list[_TextBox]":
        """Return the segments on a picture, turned in steps of 90 degrees until it is upright."""
        boxes = self._recognise(picture)
        if not boxes:
            return boxes
        if sum(len(box.text) if box.is_tall else -len(box.text) for box in boxes) > 0:
            turns: tuple[int, ...] = (1, 3)
        elif _average_sureness(boxes) < _UNSURE:
            turns = (2,)
        else:
            return boxes
        others = [self._recognise(np.ascontiguousarray(np.rot90(picture, turn))) for turn in turns]
        return max(
            [boxes, *others], key=lambda turned: (_is_level(turned), _average_sureness(turned))
        )

    def _recognise(self, picture: Picture) -> "list[_TextBox]":
        """Return the segments on a picture as it is."""
        output = self._engine(picture)
        if output.boxes is None:
            return []
        return [
            _TextBox(text.strip(), float(sure), [(float(x), float(y)) for x, y in box])
            for box, text, sure in zip(output.boxes, output.txts, output.scores, strict=True)
            if text.strip()
        ]


class _TextBox:
    """A segment of text with the corners of its frame, in order from the beginning of the text.

    Attributes:
        width: The length of the frame along the text, in pixels.
        height: The length of the frame across the text, in pixels.
        slope: The angle of the text to the horizontal, in radians.
    """

    def __init__(self, text: str, sure: float, corners: list[tuple[float, float]]) -> None:
        self.text, self.sure, self.corners = text, sure, corners
        (x0, y0), (x1, y1), (x2, y2) = corners[:3]
        self.width, self.height = hypot(x1 - x0, y1 - y0), hypot(x2 - x1, y2 - y1)
        self.slope = atan2(y1 - y0, x1 - x0)

    @property
    def is_tall(self) -> bool:
        """True if the text runs up or down the page."""
        return self.height > _TALL * self.width and len(self.text) > 1


def _average_sureness(boxes: Sequence[_TextBox]) -> float:
    """Return the mean sureness of the segments, weighted by letters; 0 without any."""
    letters = sum(len(box.text) for box in boxes)
    return sum(box.sure * len(box.text) for box in boxes) / letters if letters else 0.0


def _is_level(boxes: Sequence[_TextBox]) -> bool:
    """Return whether most of the text runs across the page."""
    return sum(-len(box.text) if box.is_tall else len(box.text) for box in boxes) > 0


def _straighten(boxes: Sequence[_TextBox]) -> list[Segment]:
    """Return the segments as they would be on a page that is not tilted.

    Text that runs up or down beside the other text is dropped, because it belongs to no line.
    """
    slopes = [box.slope for box in boxes if box.width > _WIDE * box.height]
    slope = median(slopes) if slopes else 0.0
    turn, lift = cos(slope), sin(slope)
    segments = []
    for box in boxes:
        if box.is_tall:
            continue
        across = [x * turn + y * lift for x, y in box.corners]
        down = [y * turn - x * lift for x, y in box.corners]
        segments.append(
            Segment(
                text=box.text,
                sure=box.sure,
                left=min(across),
                right=max(across),
                top=min(down),
                bottom=max(down),
            )
        )
    return segments


def _load_engine() -> Any:  # noqa: ANN401 - rapidocr is not typed
    """Load the models.

    Raises:
        ParseRefusal: `no_text_layer` if the extra `ocr` is not installed.
    """
    files = find_models()
    if files is None:
        raise ParseRefusal("no_text_layer", f"holds pictures; {NEEDS_OCR}")
    import cv2
    from rapidocr import RapidOCR

    cv2.setNumThreads(_THREADS)
    # RapidOCR never looks for a model on the network if its file is given.
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.text_score": _LEAST_SURE,
            "Global.max_side_len": 1 << 15,
            "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
            "EngineConfig.onnxruntime.inter_op_num_threads": _THREADS,
            "Det.limit_type": "max",
            "Det.limit_side_len": _FINDING_SIDE,
            **{f"{role}.model_path": str(file) for role, file in files.items()},
        }
    )
