"""Variants are ordinary data sets, made once, and the same everywhere."""

import json
from pathlib import Path

import pytest
from experiments.lab import corpora
from experiments.lab.corpora import derive_dataset
from experiments.lab.perturb import Neglect
from experiments.lab.texts import read_texts
from tests.evaluation.test_datasets import write_dataset

from fathom.documents.record_ids import name_record
from fathom.errors import UsageError
from fathom.evaluation.datasets import load

CORPUS = "".join(
    json.dumps(
        {
            "_id": f"d{n}",
            "title": f"Fees of berth {n}",
            "text": f"# Berth {n}\n\nBerth {n} costs {n}40 crowns since 2024, says Ævar.",
            "metadata": {"office": "harbour"},
        }
    )
    + "\n"
    for n in range(60)
)
QUERIES = (
    "".join(
        json.dumps(
            {
                "_id": f"q{n}",
                "text": f"What does berth {n} cost?",
                "answers": [f"{n}40 crowns"],
                "metadata": {"type": "fee", "language": "en"},
            }
        )
        + "\n"
        for n in range(8)
    )
    + "".join(
        json.dumps({"_id": name, "text": "Who?", "metadata": metadata}) + "\n"
        for name, metadata in (
            ("none", {"answerable": False}),
            ("own", {"answerable": False, "documents": ["d1", "d2"], "wrong_answers": ["Ævar"]}),
            ("left out", {"answerable": False, "without": ["d1"], "synthetic": True}),
            ("undisputed", {"answerable": False, "wrong_answers": []}),
        )
    )
    + json.dumps(
        {
            "_id": "follow-up",
            "text": "And the other one?",
            "history": [
                {"role": "user", "content": "What does berth 1 cost?"},
                {"role": "assistant", "content": "140 crowns"},
            ],
            "metadata": {"answerable": False},
        }
    )
)
QRELS = "".join(f"q{n}\td{n}\t{1 + n % 2}\n" for n in range(8))


@pytest.fixture
def toy_dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    return write_dataset(folder, CORPUS, QUERIES, QRELS)


def read_content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_without_a_variant_the_data_set_itself_is_used(toy_dataset: Path, tmp_path: Path) -> None:
    assert derive_dataset(toy_dataset, "", tmp_path / "out") == toy_dataset
    assert not (tmp_path / "out").exists()


def test_a_legacy_corpus_keeps_questions_and_judgements(toy_dataset: Path, tmp_path: Path) -> None:
    whole, legacy = load(toy_dataset), load(derive_dataset(toy_dataset, "legacy", tmp_path / "out"))
    assert legacy.name == "toy@legacy"
    assert legacy.questions == whole.questions
    assert legacy.qrels == whole.qrels
    assert legacy.documents > whole.documents
    before = {text.id: text for text in read_texts(whole.corpus)}
    after = {text.id: text for text in read_texts(legacy.corpus)}
    same = [text for text in before if after[text] == before[text]]
    assert 5 < len(same) < 45


def test_a_cut_is_a_smaller_data_set(toy_dataset: Path, tmp_path: Path) -> None:
    small = load(derive_dataset(toy_dataset, "cut-20", tmp_path / "out"))
    assert small.name == "toy@cut-20"
    assert len(small.documents) == 20
    assert {question.id for question in small.questions} == {f"q{n}" for n in range(8)}
    assert small.qrels == load(toy_dataset).qrels
    whole = {text.id: text for text in read_texts(toy_dataset / "corpus.jsonl")}
    assert all(text == whole[text.id] for text in read_texts(small.corpus))


@pytest.mark.parametrize("corpus", ["legacy", "cut-20"])
def test_the_same_source_gives_the_same_bytes(
    toy_dataset: Path, tmp_path: Path, corpus: str
) -> None:
    once, again = (derive_dataset(toy_dataset, corpus, tmp_path / out) for out in ("one", "two"))
    assert read_content(once) == read_content(again)
    assert set(read_content(once)) == {
        "corpus.jsonl.gz",
        "queries.jsonl.gz",
        "qrels.tsv",
        "made.json",
    }


def test_an_existing_variant_is_rebuilt_only_after_a_change(
    toy_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    place = derive_dataset(toy_dataset, "legacy", out)

    def is_rebuilt() -> bool:
        (place / "mark").touch()
        derive_dataset(toy_dataset, "legacy", out)
        return not (place / "mark").exists()

    assert not is_rebuilt()
    (toy_dataset / "qrels.tsv").write_text(QRELS.replace("\t2", "\t3"))
    assert is_rebuilt()
    (toy_dataset / "corpus.jsonl").write_text(CORPUS.replace("since", "from"))
    assert is_rebuilt()
    monkeypatch.setattr(corpora, "VERSION", 99)
    assert is_rebuilt()
    derive_dataset(toy_dataset, "legacy", out, neglect=Neglect(slips=0))
    assert is_rebuilt()
    assert not is_rebuilt()


def test_a_kill_leaves_no_partial_variant(
    toy_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(corpora, "_serialize_query", kill)
        with pytest.raises(KeyboardInterrupt):
            derive_dataset(toy_dataset, "legacy", out)
    assert not (out / "toy@legacy").exists()
    assert load(derive_dataset(toy_dataset, "legacy", out)).questions
    assert [file.name for file in out.iterdir()] == ["toy@legacy"]


def test_a_corpus_of_files_gives_records_named_by_the_ids_of_the_files(
    tmp_path: Path,
) -> None:
    toy = tmp_path / "toy"
    (toy / "corpus").mkdir(parents=True)
    for n in range(12):
        (toy / "corpus" / f"berth{n}.md").write_text(f"# Berth {n}\n\nIt costs {n}40 crowns.")
    query = {"_id": "q", "text": "What?", "metadata": {"relevant": ["berth3.md"]}}
    (toy / "questions.jsonl").write_text(json.dumps(query))
    whole = load(toy)
    legacy, small = (
        load(derive_dataset(toy, variant, tmp_path)) for variant in ("legacy", "cut-4")
    )
    names = {name_record(document) for document in whole.documents}
    assert legacy.documents >= names > small.documents
    [(right, grade)] = whole.qrels["q"].items()
    assert legacy.qrels == small.qrels == {"q": {name_record(right): grade}}
    assert legacy.questions == small.questions == whole.questions


@pytest.mark.parametrize("corpus", ["old", "cut-", "cut-0", "cut-1k", "cut--5", "Legacy"])
def test_unknown_variants_are_refused(toy_dataset: Path, tmp_path: Path, corpus: str) -> None:
    with pytest.raises(UsageError, match="use legacy or cut-N, such as cut-1000"):
        derive_dataset(toy_dataset, corpus, tmp_path / "out")


def test_a_malformed_source_is_refused(toy_dataset: Path, tmp_path: Path) -> None:
    (toy_dataset / "qrels.tsv").write_text("q9\td1\t1\n")
    with pytest.raises(UsageError, match=r"qrels\.tsv:1: unknown question"):
        derive_dataset(toy_dataset, "legacy", tmp_path / "out")
    (toy_dataset / "qrels.tsv").write_text("")
    with pytest.raises(UsageError, match="not enough for any judged question"):
        derive_dataset(toy_dataset, "cut-20", tmp_path / "out")
    assert not (tmp_path / "out").exists()
