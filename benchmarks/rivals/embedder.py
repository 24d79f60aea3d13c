"""The one embedder of every system: Fathom's default, on the same runtime.

So what is compared is what each system does beside the embedding. It counts the seconds it takes.
The vectors are made once and kept in a table, with the seconds that took; a system then looks its
vectors up, and the rate of its ingestion adds those seconds again.
"""

import json
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fathom.models.embedder import SHIPPED_INT8, load_embedder

Matrix = NDArray[np.float32]
BLOCK = 2000  # texts between two checkpoints
EMBEDDER = SHIPPED_INT8  # named here, as the environments of the others cannot load the settings


class Table:
    """Vectors of a list of texts in a file, computed as far as time allowed."""

    def __init__(self, folder: Path, texts: Sequence[str], dimension: int = 384) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file, self._state = folder / "vectors.f32", folder / "vectors.json"
        self._texts = texts
        self._digest = sha256("\n".join([EMBEDDER, *texts]).encode()).hexdigest()
        state = json.loads(self._state.read_text()) if self._state.exists() else {}
        if state.get("texts") != self._digest:
            state = {}
            with self._file.open("wb") as file:
                file.truncate(len(texts) * dimension * 4)
        self.done: int = state.get("done", 0)
        self.seconds: float = state.get("seconds", 0.0)
        self.matrix = np.memmap(
            self._file, dtype=np.float32, mode="r+", shape=(len(texts), dimension)
        )

    def fill(self, until: float) -> bool:
        """Continue until the clock says `until`; return whether all vectors exist."""
        embedder = load_embedder(EMBEDDER)
        while self.done < len(self._texts) and time.time() < until:
            block = self._texts[self.done : self.done + BLOCK]
            started = time.perf_counter()
            self.matrix[self.done : self.done + len(block)] = embedder.embed(block)
            self.seconds += time.perf_counter() - started
            self.done += len(block)
            self.matrix.flush()
            state = {"texts": self._digest, "done": self.done, "seconds": self.seconds}
            self._state.write_text(json.dumps(state))
        return self.done == len(self._texts)

    def by_text(self) -> dict[str, int]:
        """Return the rows of the computed texts."""
        return {text: row for row, text in enumerate(self._texts[: self.done])}


class TimedEmbedder:
    """An embedder that measures its seconds, and looks texts up in a table first."""

    def __init__(self, table: Table | None = None, threads: int = 0) -> None:
        self._embedder = load_embedder(EMBEDDER, threads=threads)
        self._table = table
        self._rows = table.by_text() if table else {}
        self.seconds = 0.0

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._embedder.dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """The origin of the vectors."""
        return self._embedder.identity

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return self._embedder.count(text)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector per text."""
        if self._table is None:
            return self._embed_timed(texts)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        places = [place for place, text in enumerate(texts) if text in self._rows]
        others = [place for place, text in enumerate(texts) if text not in self._rows]
        vectors[places] = self._table.matrix[[self._rows[texts[place]] for place in places]]
        if others:  # a system may change a text, such as a letter that stands for two
            vectors[others] = self._embed_timed([texts[place] for place in others])
        return vectors

    def _embed_timed(self, texts: Sequence[str]) -> Matrix:
        started = time.perf_counter()
        vectors = self._embedder.embed(texts)
        self.seconds += time.perf_counter() - started
        return vectors
