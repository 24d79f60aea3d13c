import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from training.cross_reader.development import read_gold_rows


def write_set(folder: Path, queries: Sequence[Mapping[str, object]]) -> Path:
    folder.mkdir()
    texts = [
        {"_id": "a", "title": "Rhine", "text": "The Rhine is long. It is the Rhine."},
        {"_id": "b", "title": "", "text": "The Elbe."},
    ]
    for name, rows in (("corpus", texts), ("queries", queries)):
        lines = "\n".join(map(json.dumps, rows))
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    return folder


def make_query(answers: Sequence[str], **about: object) -> dict[str, object]:
    fields = {"answerable": bool(answers)} | about
    return {"_id": "q", "text": "Which river?", "answers": answers, "metadata": fields}


def test_a_question_is_paired_with_its_document(tmp_path: Path) -> None:
    queries = [make_query(["Rhine", "The Rhine"]), make_query(["Elbe"], paragraph="b")]

    first, second = read_gold_rows(write_set(tmp_path / "rivers", queries))

    assert first.title == "Rhine"
    assert [first.text[a:b] for a, b in first.spans] == ["The Rhine", "Rhine"]
    assert (first.source, first.answerable, first.relevant) == ("rivers", True, True)
    assert [second.text[a:b] for a, b in second.spans] == ["Elbe"]


def test_unanswerable_questions_have_their_document_and_no_answer(tmp_path: Path) -> None:
    (row,) = read_gold_rows(write_set(tmp_path / "rivers", [make_query([], paragraph="b")]))

    assert (row.spans, row.answerable, row.relevant) == ((), False, None)
    assert row.text == "The Elbe."


@pytest.mark.parametrize("answer", ["Danube", "the rhine"])
def test_an_answer_that_occurs_nowhere_is_left_out(tmp_path: Path, answer: str) -> None:
    assert read_gold_rows(write_set(tmp_path / "rivers", [make_query([answer])])) == []
