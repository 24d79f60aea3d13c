import gzip
import json
from pathlib import Path

import numpy as np
from benchmarks.engines import (
    CHARS,
    Place,
    WordSigns,
    fill_index,
    measure_recall,
    measure_searches,
    read_pieces,
)


def write_dataset(folder: Path) -> Path:
    with gzip.open(folder / "corpus.jsonl.gz", "wt") as lines:
        for at in range(40):
            text = " ".join(f"harbour{at}w{word}" for word in range(30))
            lines.write(json.dumps({"_id": str(at), "title": f"Paper {at}", "text": text}) + "\n")
    return folder


def test_a_larger_corpus_contains_the_smaller_one_and_pieces_are_bounded(
    tmp_path: Path,
) -> None:
    large = read_pieces(write_dataset(tmp_path), 100)
    assert read_pieces(tmp_path, 30) == large[:30]
    assert len(set(large)) == 100
    assert max(map(len, large)) <= CHARS


def test_texts_with_the_same_words_are_near_each_other() -> None:
    permit, same, other = WordSigns().embed(["harbour permit", "permit, harbour!", "winter ledger"])
    assert np.allclose(permit, same)
    assert abs(float(permit @ other)) < 0.3
    assert np.array_equal(WordSigns().embed(["harbour permit"])[0], permit)


def test_an_index_is_filled_once_and_compared_with_exact_neighbours(tmp_path: Path) -> None:
    texts = read_pieces(write_dataset(tmp_path), 60)
    place = Place(url="", directory=tmp_path / "index")
    assert fill_index(place, texts, tmp_path / "documents") is not None
    assert fill_index(place, texts, tmp_path / "documents") is None
    measured = measure_searches(place, texts[:3])
    assert {"keyword", "vector", "hybrid", "peak_rss_mb"} == measured.keys()
    assert measure_recall(place, texts, texts[:5]) == 1.0
    with place.open() as engine:
        assert engine.search(texts[7], k=1)[0].chunk.text == texts[7]
