"""Covers training.query_encoder.texts."""

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("bm25s", reason="bm25s is needed for training only")

from training.cross_reader.rows import Row
from training.query_encoder import texts


def row(question: str, group: str = "squad", text: str = "The ferry sails at noon.") -> Row:
    return Row(source="s", group=group, question=question, title="Ferries", text=text)


def questions(file: Path, asked: Sequence[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"_id": str(number), "text": each}) for number, each in enumerate(asked))
    file.write_bytes(gzip.compress("\n".join(lines).encode()))


def test_no_question_of_a_set_with_documents_is_learned_from(tmp_path: Path) -> None:
    questions(tmp_path / "squad-fresh" / "queries.jsonl.gz", ["When does the ferry sail?"])
    questions(tmp_path / "openqa-questions" / "nq.jsonl.gz", ["who built the pier"])
    rows = [row("when does the FERRY sail"), row("Who sells tickets?")]

    found = texts.drawn(rows, tmp_path)

    assert {"Who sells tickets?", "who built the pier", "Ferries"} <= set(found)
    assert not any("sail" in each and "when" in each.lower() for each in found)


def test_rows_that_were_put_together_are_left_out(tmp_path: Path) -> None:
    rows = [row("Who sells tickets?"), row("Is it so that he sells?", "yesno-made")]

    assert "Is it so that he sells?" not in texts.drawn(rows, tmp_path)


def test_the_same_seed_draws_the_same_texts_in_the_same_order(tmp_path: Path) -> None:
    rows = [row(f"Who sells ticket number {n}?", text=f"He sells {n}.") for n in range(40)]

    first = texts.drawn(rows, tmp_path)

    assert first == texts.drawn(rows, tmp_path)
    assert first != texts.drawn(rows, tmp_path, seed=2)
    assert len(first) == len(set(first))


def test_texts_that_are_too_long_are_left_out_and_few_long_ones_stay(tmp_path: Path) -> None:
    long = [" ".join(["word"] * texts.SHORT + [str(n)]) for n in range(200)]
    rows = [row(each) for each in [*long, " ".join(["word"] * (texts.LONGEST + 1))]]

    found = texts.drawn(rows, tmp_path)

    assert max(len(each.split()) for each in found) <= texts.LONGEST
    assert 5 < sum(len(each.split()) > texts.SHORT for each in found) < 100


def test_questions_are_varied_as_keywords_and_with_a_slip() -> None:
    asked = [f"Who is the seller of ticket {n}?" for n in range(400)]

    made = list(texts.varied(asked, random.Random(1)))

    keywords = [each for each in made if not each.startswith("Who is the")]
    assert any(keyword.split()[0] == "seller" for keyword in keywords)
    slips = [each for each in made if each not in keywords]
    assert 20 < len(slips) < 80
    assert all(sorted(slip) in [sorted(one) for one in asked] for slip in slips)


def test_a_fixed_share_is_kept_to_measure_on() -> None:
    kept = [n for n in range(4000) if texts.is_development(f"question {n}")]

    assert 50 < len(kept) < 150
    assert all(texts.is_development(f"Question, {n}!") for n in kept)
