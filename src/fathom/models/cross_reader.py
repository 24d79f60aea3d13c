"""The cross-reader: one run over a question and a chunk gives relevance, answers and support."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from typing_extensions import override

from fathom.errors import ModelError
from fathom.models.cache import ModelCache, load_through
from fathom.models.caching_embedder import LRUCache
from fathom.models.pair import PairRow, PairTokens, PairWriter
from fathom.models.reading import NOTHING, PairScores, Reading, ReadingCalibration, ReadingSession
from fathom.models.runtime import BATCH_TOKENS, Ids, Output, Runtime, group_batches, load_runtime
from fathom.models.spans import Window, split_windows
from fathom.models.tokens import WordPiece
from fathom.types import Chunk

_LANES = 2  # runs at the same time, for a model that takes one row in each run
_CACHED_WINDOWS = 512  # about 50 kB each; the agents of a question rarely read half as many

Key = tuple[str, str, str]
"""A pair as the question, the breadcrumb of the chunk and the chunk's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputShape:
    """The form of a model's input.

    Attributes:
        limit: The largest number of tokens of a row, marks included; the model was measured with
            rows up to this length.
        alone: Whether each row needs a run of its own. Some models round their products with one
            step for a whole run, so that the rows of a run would change each other's outputs.
    """

    limit: int = 256
    alone: bool = False


class OnnxCrossReader:
    """A cross-reader with an ONNX model; equal pairs get equal readings in any batch.

    Only rows of equal token count share a batch, so no row is ever padded. The scores of the last
    pairs are cached, so that several agents of a question read a pair only once. The reader is safe
    to use from several threads.
    """

    def __init__(
        self,
        runtime: Runtime,
        tokens: PairWriter,
        calibration: ReadingCalibration,
        shape: InputShape = InputShape(),
    ) -> None:
        """Take a loaded model.

        Args:
            runtime: The runtime of the model.
            tokens: The writer of its input rows.
            calibration: The map from its scores to probabilities.
            shape: The form of its input.
        """
        self._calibration = calibration
        self._shape = shape
        self._runtime = runtime
        self._tokens = tokens
        # A single run leaves cores idle between its layers, so two of them overlap.
        self._lanes = ThreadPoolExecutor(_LANES, "reading") if shape.alone else None
        self._cache: LRUCache[Key, PairScores | None] = LRUCache(_CACHED_WINDOWS, _count_windows)

    def open_session(self, question: str, *, spans: int = 5) -> "OnnxSession":
        """Open a session for one question or claim, with at most `spans` answers a chunk."""
        return OnnxSession(self, question, spans, self._calibration)

    def tokenize(self, text: str) -> Sequence[int]:
        """Return the token ids of the whole text, without the model's marks."""
        return self._tokens.locate_tokens(text).ids

    def score_pairs(self, question: str, chunks: Sequence[Chunk]) -> list[PairScores | None]:
        """Return the raw scores of every chunk, in order; `None` for a chunk without any token.

        Raises:
            ModelError: If the model gives numbers that are not finite.
        """
        keys = [(question, chunk.breadcrumb, chunk.text) for chunk in chunks]
        cached = self._cache.get(keys)
        new = list(dict.fromkeys(key for key in keys if key not in cached))
        fresh = dict(zip(new, self._score_new_pairs(question, new), strict=True))
        self._cache.put(fresh)
        return [cached[key] if key in cached else fresh[key] for key in keys]

    def _score_new_pairs(self, question: str, keys: Sequence[Key]) -> list[PairScores | None]:
        """Return the raw scores of pairs that are not cached, all with the same question.

        A chunk that is too long for a row is read in windows, each in a row of its own.
        """
        rows: list[PairRow] = []
        places: list[list[tuple[int, Window]]] = []
        for _, title, text in keys:
            head = self._tokens.build_head(question, title)
            placed = self._tokens.locate_tokens(text)
            room = self._shape.limit - len(head) - 1
            cut = split_windows(len(placed.ids), room) if placed.ids else []
            places.append([(len(rows) + number, window) for number, window in enumerate(cut)])
            rows += [
                self._tokens.build_row(head, placed.slice_tokens(w.first, w.last)) for w in cut
            ]
        outputs = self._run_rows(rows)
        return [
            PairScores.from_windows(
                [(rows[row], outputs[row], window) for row, window in chunk_windows]
            )
            if chunk_windows
            else None
            for chunk_windows in places
        ]

    def _run_rows(self, rows: Sequence[PairRow]) -> list[Output]:
        """Return the model's output for each row, in order."""
        outputs: list[Output] = [np.empty(0, dtype=np.float32)] * len(rows)
        size = 1 if self._shape.alone else BATCH_TOKENS
        places = list(group_batches([len(row.ids) for row in rows], size))
        inputs = [_build_inputs([rows[place] for place in batch]) for batch in places]
        run_all = self._lanes.map if self._lanes and len(inputs) > 1 else map
        for batch, results in zip(places, run_all(self._runtime.run, inputs), strict=True):
            # Numbers that are not finite would rank the chunks in an arbitrary order.
            if not np.isfinite(results).all():
                raise ModelError("the cross-reader gives numbers that are not finite: reinstall it")
            for place, output in zip(batch, results, strict=True):
                outputs[place] = output
        return outputs


@dataclass(frozen=True, slots=True)
class OnnxSession(ReadingSession):
    """A question or claim that is put to a cross-reader.

    Attributes:
        reader: The cross-reader.
        question: The question or claim.
        spans: The largest number of answers for each chunk.
        calibration: The map from scores to probabilities.
    """

    reader: OnnxCrossReader
    question: str
    spans: int
    calibration: ReadingCalibration

    @override
    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        passes = self.reader.score_pairs(self.question, chunks)
        return [
            read.restrict_to_blocks(chunk.blocks).build_reading(self.calibration, self.spans)
            if read
            else NOTHING
            for read, chunk in zip(passes, chunks, strict=True)
        ]

    @override
    def score(self, chunk: Chunk, answer: str) -> float:
        (read,) = self.reader.score_pairs(self.question, [chunk])
        if read is None:
            return 0.0
        return read.restrict_to_blocks(chunk.blocks).score_tokens(
            self.reader.tokenize(answer), self.calibration
        )


def _count_windows(read: PairScores | None) -> int:
    """Return the weight of the scores of a pair in the cache: their windows, at least 1."""
    return max(1, len(read.windows)) if read else 1


def _build_inputs(rows: Sequence[PairRow]) -> dict[str, Ids]:
    """Return the model's inputs, each (rows, tokens), for rows of equal length."""
    return {
        "input_ids": np.asarray([row.ids for row in rows], dtype=np.int64),
        "token_type_ids": np.asarray([row.kinds for row in rows], dtype=np.int64),
    }


def load_cross_reader(  # noqa: PLR0913 - the files, and the way to read and run them
    model: Path,
    tokenizer: Path,
    calibration: ReadingCalibration,
    *,
    shape: InputShape = InputShape(),
    runtime: str = "onnxruntime",
    threads: int = 0,
    cache: ModelCache | None = None,
) -> OnnxCrossReader:
    """Load the cross-reader in the file `model`.

    Args:
        model: The ONNX file that `training/cross_reader/export.py` wrote.
        tokenizer: The `vocab.txt` or the `tokenizer.json` of its encoder.
        calibration: The calibration that was fitted for this model.
        shape: The form of its input.
        runtime: `onnxruntime`, or `openvino` (extra `openvino`).
        threads: The number of threads of a run; 0 for the number of cores of this process.
        cache: A cache of the files' contents; by default nothing is cached.

    Raises:
        ModelError: If a file is missing or cannot be loaded.
        SettingsError: If there is no such runtime.
    """
    loaded = load_through(cache, load_runtime, model, runtime=runtime, threads=threads)
    return OnnxCrossReader(loaded, load_pair_writer(tokenizer, cache), calibration, shape)


def load_pair_writer(file: Path, cache: ModelCache | None = None) -> PairWriter:
    """Load a tokenizer as a writer of pairs.

    Args:
        file: A `vocab.txt` (WordPiece) or a `tokenizer.json` (Unigram).
        cache: A cache of the file's contents; by default nothing is cached.

    Raises:
        OSError: If a `vocab.txt` cannot be read.
        ModelError: If a `tokenizer.json` cannot be read.
    """
    if file.suffix == ".txt":
        return PairTokens(WordPiece.read(file))
    # Imported here, because only this kind needs the package tokenizers.
    from fathom.models.unigram import UnigramPairs

    return load_through(cache, UnigramPairs, file)
