"""The benchmark of searches while vectors are still being made."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.first_vectors import SHARES, measure_shares
from tests.benchmarks.test_query_encoder import QUESTIONS, dataset
from tests.factories import disable_sandbox

from benchmarks import first_vectors
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.testing.index_entries import put

__all__ = ["dataset"]


def test_each_share_of_vectors_is_measured_in_both_ways(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disable_sandbox(monkeypatch)

    def ingest_words(corpus: Path, index: Path, _seconds: float) -> None:
        """Store the documents without vectors, as an ingestion that is killed early does."""
        settings = {"index.directory": str(tmp_path / "whole"), "offline": True}
        with Engine(parse_settings(settings)) as whole:
            whole.ingest([corpus])
            reader = whole.reader()
            entries = [reader.get_entry(summary.id) for summary in reader.list_documents()]
            with (
                Engine(parse_settings({**settings, "index.directory": str(index)})) as engine,
                engine.index.open_writer(engine.assembly.identity) as writer,
            ):
                put(writer, *(replace(entry, vectors=None) for entry in entries if entry))

    monkeypatch.setattr(first_vectors, "ingest_for", ingest_words)
    rows = list(measure_shares(dataset, tmp_path / "index", 1, 9))

    assert [row["searched"] for row in rows] == ["stored", "all"] * len(SHARES)
    # There are two chunks, so a quarter of them is none and three quarters are both.
    assert [row["with_vector"] for row in rows[::2]] == [0, 0, 0, 0.5, 1, 1]
    assert {row["questions"] for row in rows} == {len(QUESTIONS)}
    assert rows[-1]["nDCG@10"] == pytest.approx(1)
