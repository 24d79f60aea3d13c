"""An embedder that remembers, so that data sets which share texts are embedded once."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fathom.models.base import Embedder, Matrix


class CachedEmbedder:
    """Gives the vectors of another embedder, each text's computed once and kept in a file."""

    def __init__(self, inner: Embedder, file: Path) -> None:
        self._inner = inner
        self._store = sqlite3.connect(file)
        self._store.execute("PRAGMA journal_mode=WAL")
        self._store.execute("CREATE TABLE IF NOT EXISTS vectors(text BLOB PRIMARY KEY, v BLOB)")

    @property
    def dimension(self) -> int:
        """See `Embedder`."""
        return self._inner.dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """See `Embedder`."""
        return self._inner.identity

    def count(self, text: str) -> int:
        """See `Embedder`."""
        return self._inner.count(text)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder`."""
        if len(texts) <= 1:  # a question: its time is measured, so it is not remembered
            return self._inner.embed(texts)
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = {key: kept for key in keys if (kept := self._get(key)) is not None}
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for key, vector in zip(fresh, self._inner.embed(list(fresh.values())), strict=True):
            known[key] = vector.astype(np.float32)
            self._store.execute(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?)", (key, vector.tobytes())
            )
        self._store.commit()
        return np.stack([known[key] for key in keys])

    def _get(self, key: bytes) -> Matrix | None:
        row = self._store.execute("SELECT v FROM vectors WHERE text = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)
