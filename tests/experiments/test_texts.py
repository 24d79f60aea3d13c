"""A corpus gives the same documents as an index of it would contain."""

from pathlib import Path

from experiments.lab.texts import Text, read_texts

from fathom.evaluation.datasets import map_documents


def test_records_are_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(
        '{"_id": "a", "title": "A", "text": "x", "metadata": {"n": 1}}\n{"_id": "b", "text": "y"}\n'
    )
    assert list(read_texts(file)) == [
        Text(id="a", title="A", text="x", metadata={"n": 1}),
        Text(id="b", title="", text="y"),
    ]


def test_files_give_their_text_equal_ones_once_and_unreadable_ones_none(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Fees\n\nA permit costs 40 crowns.")
    (tmp_path / "b.md").write_text("# Fees\n\nA permit costs 40 crowns.")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    (tmp_path / "more.jsonl").write_text('{"_id": "r1", "text": "a"}\n')
    texts = list(read_texts(tmp_path))
    names = map_documents(tmp_path)
    assert [(text.id, text.title) for text in texts] == [
        (names["a.md"], "Fees"),
        (names["broken.pdf"], "broken"),
        ("r1", "more"),
    ]
    assert texts[0].text == "Fees\n\nA permit costs 40 crowns."
    assert texts[1].text == ""
    assert {text.id for text in texts} == set(names.values())
