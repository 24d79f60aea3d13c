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


def make_row(question: str, group: str = "squad", text: str = "The ferry sails at noon.") -> Row:
    return Row(source="s", group=group, question=question, title="Ferries", text=text)


def write_questions(file: Path, texts_: Sequence[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"_id": str(number), "text": text}) for number, text in enumerate(texts_))
    file.write_bytes(gzip.compress("\n".join(lines).encode()))


def test_questions_of_reported_sets_are_excluded(tmp_path: Path) -> None:
    write_questions(tmp_path / "squad-fresh" / "queries.jsonl.gz", ["When does the ferry sail?"])
    write_questions(tmp_path / "openqa-questions" / "nq.jsonl.gz", ["who built the pier"])
    rows = [make_row("when does the FERRY sail"), make_row("Who sells tickets?")]

    drawn_texts = texts.draw_texts(rows, tmp_path)

    assert {"Who sells tickets?", "who built the pier", "Ferries"} <= set(drawn_texts)
    assert not any("sail" in text and "when" in text.lower() for text in drawn_texts)


def test_composed_rows_are_left_out(tmp_path: Path) -> None:
    rows = [make_row("Who sells tickets?"), make_row("Is it so that he sells?", "yesno-made")]

    assert "Is it so that he sells?" not in texts.draw_texts(rows, tmp_path)


def test_the_same_seed_draws_the_same_texts_in_the_same_order(tmp_path: Path) -> None:
    rows = [make_row(f"Who sells ticket number {n}?", text=f"He sells {n}.") for n in range(40)]

    first = texts.draw_texts(rows, tmp_path)

    assert first == texts.draw_texts(rows, tmp_path)
    assert first != texts.draw_texts(rows, tmp_path, seed=2)
    assert len(first) == len(set(first))


def test_long_texts_are_left_out_and_few_medium_ones_stay(tmp_path: Path) -> None:
    long = [" ".join(["word"] * texts.SHORT + [str(n)]) for n in range(200)]
    rows = [make_row(text) for text in [*long, " ".join(["word"] * (texts.LONGEST + 1))]]

    drawn_texts = texts.draw_texts(rows, tmp_path)

    assert max(len(text.split()) for text in drawn_texts) <= texts.LONGEST
    assert 5 < sum(len(text.split()) > texts.SHORT for text in drawn_texts) < 100


def test_questions_are_varied_as_keywords_and_with_a_slip() -> None:
    questions = [f"Who is the seller of ticket {n}?" for n in range(400)]

    variants = list(texts.vary_questions(questions, random.Random(1)))

    keywords = [variant for variant in variants if not variant.startswith("Who is the")]
    assert any(keyword.split()[0] == "seller" for keyword in keywords)
    slips = [variant for variant in variants if variant not in keywords]
    assert 20 < len(slips) < 80
    assert all(sorted(slip) in [sorted(question) for question in questions] for slip in slips)


def test_a_fixed_share_is_held_out() -> None:
    held_out = [n for n in range(4000) if texts.is_development(f"question {n}")]

    assert 50 < len(held_out) < 150
    assert all(texts.is_development(f"Question, {n}!") for n in held_out)
