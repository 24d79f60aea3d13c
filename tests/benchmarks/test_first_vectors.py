"""The benchmark of searches while vectors are still being made."""

from pathlib import Path

import pytest
from benchmarks.first_vectors import SHARES, measure_shares
from tests.benchmarks.test_query_encoder import QUESTIONS, dataset

__all__ = ["dataset"]


def test_each_share_of_vectors_is_measured_in_both_ways(
    dataset: Path,
    tmp_path: Path,
) -> None:
    rows = list(measure_shares(dataset, tmp_path / "index", 60, 9))

    assert [row["searched"] for row in rows] == ["stored", "all"] * len(SHARES)
    assert {row["questions"] for row in rows} == {len(QUESTIONS)}
    assert rows[-1]["with_vector"] == rows[-1]["of_final"] == 1
    assert rows[-1]["nDCG@10"] == pytest.approx(1)
