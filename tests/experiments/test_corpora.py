"""Variants are ordinary data sets, made once, and the same everywhere."""

import json
from pathlib import Path

import pytest
from experiments.lab import corpora
from experiments.lab.corpora import derived
from experiments.lab.perturb import Neglect
from experiments.lab.texts import texts_of
from tests.evaluation.test_datasets import write

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
QUERIES = "".join(
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
) + "".join(
    json.dumps({"_id": name, "text": "Who?", "metadata": metadata}) + "\n"
    for name, metadata in (
        ("none", {"answerable": False}),
        ("own", {"answerable": False, "documents": ["d1", "d2"], "wrong_answers": ["Ævar"]}),
    )
)
QRELS = "".join(f"q{n}\td{n}\t{1 + n % 2}\n" for n in range(8))


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    return write(folder, CORPUS, QUERIES, QRELS)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_no_variant_is_the_data_set_itself(toy: Path, tmp_path: Path) -> None:
    assert derived(toy, "", tmp_path / "out") == toy
    assert not (tmp_path / "out").exists()


def test_a_legacy_corpus_keeps_questions_and_judgements(toy: Path, tmp_path: Path) -> None:
    whole, legacy = load(toy), load(derived(toy, "legacy", tmp_path / "out"))
    assert legacy.name == "toy@legacy"
    assert legacy.questions == whole.questions
    assert legacy.qrels == whole.qrels
    assert legacy.documents > whole.documents
    before = {each.id: each for each in texts_of(whole.corpus)}
    after = {each.id: each for each in texts_of(legacy.corpus)}
    same = [each for each in before if after[each] == before[each]]
    assert 5 < len(same) < 45


def test_a_cut_is_a_smaller_data_set(toy: Path, tmp_path: Path) -> None:
    small = load(derived(toy, "cut-20", tmp_path / "out"))
    assert small.name == "toy@cut-20"
    assert len(small.documents) == 20
    assert {question.id for question in small.questions} == {f"q{n}" for n in range(8)}
    assert small.qrels == load(toy).qrels
    whole = {each.id: each for each in texts_of(toy / "corpus.jsonl")}
    assert all(each == whole[each.id] for each in texts_of(small.corpus))


@pytest.mark.parametrize("corpus", ["legacy", "cut-20"])
def test_the_same_source_gives_the_same_bytes(toy: Path, tmp_path: Path, corpus: str) -> None:
    once, again = (derived(toy, corpus, tmp_path / out) for out in ("one", "two"))
    assert content(once) == content(again)
    assert set(content(once)) == {"corpus.jsonl.gz", "queries.jsonl.gz", "qrels.tsv", "made.json"}


def test_what_is_there_is_made_again_only_if_something_changed(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    place = derived(toy, "legacy", out)

    def made_again() -> bool:
        (place / "mark").touch()
        derived(toy, "legacy", out)
        return not (place / "mark").exists()

    assert not made_again()
    (toy / "qrels.tsv").write_text(QRELS.replace("\t2", "\t3"))
    assert made_again()
    (toy / "corpus.jsonl").write_text(CORPUS.replace("since", "from"))
    assert made_again()
    monkeypatch.setattr(corpora, "VERSION", 99)
    assert made_again()
    derived(toy, "legacy", out, neglect=Neglect(slips=0))
    assert made_again()
    assert not made_again()


def test_a_kill_leaves_no_half_variant(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(corpora, "_query", killed)
        with pytest.raises(KeyboardInterrupt):
            derived(toy, "legacy", out)
    assert not (out / "toy@legacy").exists()
    assert load(derived(toy, "legacy", out)).questions
    assert [file.name for file in out.iterdir()] == ["toy@legacy"]


def test_a_corpus_of_files_gives_records_that_are_named_by_the_ids_of_the_files(
    tmp_path: Path,
) -> None:
    toy = tmp_path / "toy"
    (toy / "corpus").mkdir(parents=True)
    for n in range(12):
        (toy / "corpus" / f"berth{n}.md").write_text(f"# Berth {n}\n\nIt costs {n}40 crowns.")
    asked = {"_id": "q", "text": "What?", "metadata": {"relevant": ["berth3.md"]}}
    (toy / "questions.jsonl").write_text(json.dumps(asked))
    whole = load(toy)
    legacy, small = (load(derived(toy, each, tmp_path)) for each in ("legacy", "cut-4"))
    names = {name_record(document) for document in whole.documents}
    assert legacy.documents >= names > small.documents
    [(right, grade)] = whole.qrels["q"].items()
    assert legacy.qrels == small.qrels == {"q": {name_record(right): grade}}
    assert legacy.questions == small.questions == whole.questions


@pytest.mark.parametrize("corpus", ["old", "cut-", "cut-0", "cut-1k", "cut--5", "Legacy"])
def test_unknown_variants_are_refused(toy: Path, tmp_path: Path, corpus: str) -> None:
    with pytest.raises(UsageError, match="use legacy or cut-N, such as cut-1000"):
        derived(toy, corpus, tmp_path / "out")


def test_a_malformed_source_is_refused(toy: Path, tmp_path: Path) -> None:
    (toy / "qrels.tsv").write_text("q9\td1\t1\n")
    with pytest.raises(UsageError, match=r"qrels\.tsv:1: unknown question"):
        derived(toy, "legacy", tmp_path / "out")
    (toy / "qrels.tsv").write_text("")
    with pytest.raises(UsageError, match="not enough for any judged question"):
        derived(toy, "cut-20", tmp_path / "out")
    assert not (tmp_path / "out").exists()
