"""The cross-reader: one pass over (question, chunk) ranks, reads, and knows when to say nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fathom.errors import ModelError
from fathom.models.memory import Memory
from fathom.models.pair import PairRow, PairTokens
from fathom.models.reading import NOTHING, Calibration, Pass, Reading
from fathom.models.runtime import Ids, Output, Runtime, load_runtime, sha256_of
from fathom.models.spans import Window, windows
from fathom.models.tokens import WordPiece
from fathom.types import Chunk

_LIMIT = 256  # tokens of a row, the longest the model was measured with
_BATCH_TOKENS = 1024
_KEPT_WINDOWS = 512  # about 50 kB each; a question's agents rarely read half as many

Key = tuple[str, str, str]
"""A question, a title, a text."""


class CrossReader:
    """Reads pairs with an ONNX model; equal pairs give equal readings, whatever is read beside.

    Only rows of equal token count share a batch, so nothing is ever padded. The last pairs are
    remembered, so that what one agent has read costs the next one nothing. May be used from
    several threads.

    Attributes:
        calibration: Turns its scores into probabilities.
    """

    def __init__(self, runtime: Runtime, tokens: PairTokens, calibration: Calibration) -> None:
        self.calibration = calibration
        self._runtime = runtime
        self._tokens = tokens
        self._memory: Memory[Key, Pass | None] = Memory(_KEPT_WINDOWS, _windows_of)

    def asking(self, question: str, *, spans: int = 5) -> "Asked":
        """One question, or claim; at most `spans` possible answers are given a chunk."""
        return Asked(self, question, spans)

    def ids(self, text: str) -> Sequence[int]:
        """Token ids of a text, without marks."""
        return self._tokens.placed(text).ids

    def passes(self, question: str, chunks: Sequence[Chunk]) -> list[Pass | None]:
        """The raw scores of every chunk; None for a chunk without any token."""
        keys = [(question, chunk.label, chunk.text) for chunk in chunks]
        known = self._memory.known(keys)
        new = list(dict.fromkeys(key for key in keys if key not in known))
        found = dict(zip(new, self._read(question, new), strict=True))
        self._memory.keep(found)
        return [known[key] if key in known else found[key] for key in keys]

    def _read(self, question: str, keys: Sequence[Key]) -> list[Pass | None]:
        rows: list[PairRow] = []
        places: list[list[tuple[int, Window]]] = []
        for _, title, text in keys:
            head = self._tokens.head(question, title)
            placed = self._tokens.placed(text)
            room = _LIMIT - len(head) - 1
            cut = windows(len(placed.ids), room) if placed.ids else []
            places.append([(len(rows) + number, window) for number, window in enumerate(cut)])
            rows += [self._tokens.row(head, placed.part(w.first, w.last)) for w in cut]
        outputs = self._run(rows)
        return [
            Pass.of([(rows[row], outputs[row], window) for row, window in own]) if own else None
            for own in places
        ]

    def _run(self, rows: Sequence[PairRow]) -> list[Output]:
        outputs: list[Output] = [np.empty(0, dtype=np.float32)] * len(rows)
        for batch in _batches([len(row.ids) for row in rows]):
            found = self._runtime.run(_inputs([rows[place] for place in batch]))
            if not np.isfinite(found).all():
                raise ModelError("the cross-reader gives numbers that are not finite: reinstall it")
            for place, output in zip(batch, found, strict=True):
                outputs[place] = output
        return outputs


@dataclass(frozen=True, slots=True)
class Asked:
    """One question or claim put to a cross-reader; see `Asking`."""

    reader: CrossReader
    question: str
    spans: int

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """A reading for every chunk, in their order; spans are in the chunk's own text."""
        law = self.reader.calibration
        passes = self.reader.passes(self.question, chunks)
        return [read.reading(law, self.spans) if read else NOTHING for read in passes]

    def score(self, chunk: Chunk, answer: str) -> float:
        """How well `chunk` supports that `answer` answers the question, 0 to 1.

        The answer must stand in the chunk, in any capitals; else it is 0. It is the probability
        that a `ReadSpan` has.
        """
        (read,) = self.reader.passes(self.question, [chunk])
        return read.score_of(self.reader.ids(answer), self.reader.calibration) if read else 0.0


def _windows_of(read: Pass | None) -> int:
    return max(1, len(read.parts)) if read else 1


def _inputs(rows: Sequence[PairRow]) -> dict[str, Ids]:
    return {
        "input_ids": np.asarray([row.ids for row in rows], dtype=np.int64),
        "token_type_ids": np.asarray([row.kinds for row in rows], dtype=np.int64),
    }


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of rows of equal length, as many at a time as the token budget allows."""
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    for length, places in sorted(by_length.items()):
        size = max(1, _BATCH_TOKENS // length)
        for start in range(0, len(places), size):
            yield places[start : start + size]


def load_cross_reader(
    model: Path,
    vocabulary: Path,
    calibration: Calibration,
    *,
    sha256: str | None = None,
    runtime: str = "onnxruntime",
    threads: int = 0,
) -> CrossReader:
    """The cross-reader in the file `model`.

    Args:
        model: ONNX file that `training/cross_reader/export.py` wrote.
        vocabulary: The `vocab.txt` of its encoder.
        calibration: Fitted for this model.
        sha256: What the file must have; None checks nothing.
        runtime: `onnxruntime`, or `openvino` (extra `openvino`).
        threads: Threads it may use; 0 means as many as this process has cores.

    Raises:
        ModelError: If a file is missing, cannot be loaded or is not the one expected.
        SettingsError: If there is no such runtime.
    """
    if sha256 is not None and sha256_of(model) != sha256:
        raise ModelError(f"model file {str(model)!r} is not the shipped one: reinstall fathom")
    loaded = load_runtime(model, runtime=runtime, threads=threads)
    return CrossReader(loaded, PairTokens(WordPiece.read(vocabulary)), calibration)
