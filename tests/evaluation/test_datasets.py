"""Malformed data sets are refused with file and line."""

import gzip
import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, run

from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.evaluation.datasets import (
    DatasetQuestion,
    find_corpus,
    find_file,
    load,
    load_questions,
    map_documents,
    read_lines,
    read_rows,
)

CORPUS = '{"_id": "d1", "text": "one"}\n{"_id": "d2", "text": "two"}\n'
QUERIES = (
    '{"_id": "q1", "text": "first?", "answers": ["one"]}\n'
    '{"_id": "q2", "text": "second?", "metadata": {"answerable": false, "documents": ["d1"]}}\n'
)
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"


def write_dataset(
    folder: Path, corpus: str = CORPUS, queries: str = QUERIES, qrels: str = QRELS
) -> Path:
    (folder / "corpus.jsonl").write_text(corpus)
    (folder / "queries.jsonl").write_text(queries)
    (folder / "qrels.tsv").write_text(qrels)
    return folder


def test_questions_answers_and_judgements_are_read(tmp_path: Path) -> None:
    dataset = load(write_dataset(tmp_path))
    assert dataset.questions == (
        DatasetQuestion(id="q1", text="first?", answers=("one",)),
        DatasetQuestion(id="q2", text="second?", answerable=False, documents=("d1",)),
    )
    assert dataset.qrels == {"q1": {"d1": 2}}  # a grade of 0 is not relevant
    assert [question.id for question in dataset.judged_questions] == ["q1"]


def test_an_answer_outside_of_the_corpus_is_unanswerable(tmp_path: Path) -> None:
    away = '{"_id": "q1", "text": "?", "answers": ["one"], "metadata": {"in_corpus": false}}\n'
    (question,) = load(write_dataset(tmp_path, queries=away, qrels="")).questions
    assert (question.answerable, question.answers) == (False, ())


def test_compressed_files_are_read(tmp_path: Path) -> None:
    write_dataset(tmp_path)
    for name in ("corpus.jsonl", "queries.jsonl"):
        plain = tmp_path / name
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    assert load(tmp_path).corpus.name == "corpus.jsonl.gz"


def make_query(**fields: object) -> str:
    return json.dumps({"_id": "q", "text": "?"} | fields)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"corpus": ""}, "corpus is empty"),
        ({"corpus": CORPUS + CORPUS}, "corpus.jsonl:3: the id 'd1' comes twice"),
        ({"corpus": "{\n"}, "corpus.jsonl:1: not JSON"),
        ({"queries": "\n"}, "queries.jsonl: there are no questions"),
        (
            {"queries": '\n{"_id": "q1", "text": "?", "answers": []}', "qrels": ""},
            "queries.jsonl:2: question 'q1' has no answers and no relevant documents; add some",
        ),
        (
            {"queries": make_query(answers="one")},
            "queries.jsonl:1: question 'q': answers must be a list",
        ),
        ({"queries": make_query(answers=[" "])}, "answers must hold texts that are not blank"),
        ({"queries": make_query(metadata=[1])}, "question 'q': metadata must be an object"),
        ({"queries": make_query(metadata={"answerable": "no"})}, "must be true or false"),
        ({"queries": make_query(metadata={"documents": [1]})}, "documents must hold ids"),
        ({"queries": make_query(metadata={"documents": "d1"})}, "documents must be a list"),
        ({"queries": make_query(metadata={"wrong_answers": "x"})}, "wrong_answers must be a list"),
        ({"qrels": "q1\td1\t1\nq1\td1\t2"}, "qrels.tsv:2: 'q1' and 'd1' have two grades"),
        ({"qrels": "q1\td1\tmuch"}, "qrels.tsv:1: expected query-id, corpus-id, score"),
        ({"queries": '{"text": "no id"}'}, "queries.jsonl:1: expected an object"),
        ({"queries": '{"_id": "q1", "text": " "}'}, "question 'q1' has no text"),
        (
            {"queries": '{"_id": "q", "text": "?", "metadata": {"documents": ["d9"]}}'},
            "queries.jsonl:1: unknown document 'd9'",
        ),
        ({"qrels": "q9\td1\t1"}, "qrels.tsv:1: unknown question 'q9'"),
        ({"qrels": "q1\td9\t1"}, "qrels.tsv:1: unknown document 'd9'"),
        ({"qrels": "q1 d1 1"}, "qrels.tsv:1: expected query-id, corpus-id, score"),
        ({"queries": '{\n"_id": "q1"\n}'}, "queries.jsonl:1: not JSON: Expecting property name"),
        ({"queries": '{\n"_id": "q1"\n}'}, "; write each object in one line"),
        (
            {"queries": make_query(text="a" * 100_001)},
            "queries.jsonl:1: question 'q': the question has 100001 characters, at most 100000",
        ),
        (
            {"queries": make_query(text="a\ud800")},
            "queries.jsonl:1: question 'q': a text holds half of a character; write the whole one",
        ),
        ({"queries": make_query(answers=["a\ud800"])}, "question 'q': a text holds half of"),
        ({"queries": make_query(_id="\ud800")}, "queries.jsonl:1: question '\\ud800': a text"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(write_dataset(tmp_path, **files))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_parts_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no corpus\.jsonl"):
        load(tmp_path)
    with pytest.raises(UsageError, match="no such data set; name its folder"):
        load(tmp_path / "nowhere")
    (write_dataset(tmp_path) / "qrels.tsv").unlink()
    with pytest.raises(UsageError, match=r"no qrels\.tsv, and no question names relevant"):
        load(tmp_path)


def write_files(folder: Path, *questions: str) -> Path:
    (folder / "pdfs").mkdir()
    (folder / "pdfs" / "one.md").write_text("One")
    (folder / "pdfs" / "two.md").write_text("Two")
    (folder / "questions.jsonl").write_text("\n".join(questions))
    return folder


def test_a_folder_of_files_is_a_corpus_and_questions_name_its_files(tmp_path: Path) -> None:
    relevant = make_query(_id="q1", metadata={"relevant": ["one.md"]})
    sources = make_query(_id="q2", metadata={"pdfs": ["one.md", "two.md"], "pdfs_present": True})
    absent = make_query(_id="q3", metadata={"pdfs": ["one.md", "gone.md"], "pdfs_present": False})
    query = make_query(_id="q4", answers=["Two"], metadata={"documents": ["two.md"]})
    folder = write_files(tmp_path, relevant, sources, absent, query)
    first, two = map_documents(folder / "pdfs").values()
    dataset = load(folder)
    assert dataset.corpus == folder / "pdfs"
    assert [question.id for question in dataset.questions] == ["q1", "q2", "q4"]
    assert dataset.questions[-1].documents == (two,)
    assert dataset.qrels == {"q1": {first: 1}, "q2": {first: 1, two: 1}}
    assert dataset.documents == {first, two}

    (folder / "qrels.tsv").write_text("q4\ttwo.md\t2\nq1\tone.md\t1\n")
    assert load(folder).qrels == {"q1": {first: 1}, "q2": {first: 1, two: 1}, "q4": {two: 2}}
    (folder / "qrels.tsv").write_text("q1\tone.md\t2\n")
    with pytest.raises(UsageError, match=r"qrels\.tsv:1: 'q1' and 'one\.md' have two grades"):
        load(folder)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"pdfs": ["gone.md"]}, "questions.jsonl:1: unknown document 'gone.md'"),
        ({"pdfs": ["one.md"], "pdfs_present": 1}, "metadata.pdfs_present must be true or false"),
        ({"relevant": "one.md"}, "relevant must be a list"),
        ({"relevant": [7]}, "relevant must hold ids"),
        ({"pdfs": ["gone.md"], "pdfs_present": False}, "there are no questions"),
    ],
)
def test_unknown_file_names_are_refused(
    tmp_path: Path, metadata: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        load(write_files(tmp_path, make_query(metadata=metadata)))


def test_a_corpus_of_records_needs_no_qrels_where_questions_name_documents(tmp_path: Path) -> None:
    queries = make_query(metadata={"relevant": ["d2"]})
    (write_dataset(tmp_path, queries=queries) / "qrels.tsv").unlink()
    assert load(tmp_path).qrels == {"q": {"d2": 1}}


def test_wrong_answers_are_read_and_null_means_no_answer(tmp_path: Path) -> None:
    queries = (
        '{"_id": "q1", "text": "?", "answers": ["a"],'
        ' "metadata": {"wrong_answers": ["b"], "type": "x"}}\n'
        '{"_id": "q2", "text": "?", "answers": ["unknown"], "metadata": {"answerable": false}}\n'
    )
    first, second = load(write_dataset(tmp_path, queries=queries, qrels="")).questions
    assert (first.answers, first.wrong, first.kind) == (("a",), ("b",), "x")
    assert (second.answers, second.wrong, second.kind) == ((), None, "")


def test_a_smaller_sample_is_the_beginning_of_a_larger_one(tmp_path: Path) -> None:
    queries = "".join(f'{{"_id": "q{n}", "text": "?", "answers": [1]}}\n' for n in range(50))
    dataset = load(write_dataset(tmp_path, queries=queries, qrels=""))
    ten = dataset.sample(10)
    assert ten == dataset.sample(20)[:10] != dataset.questions[:10]
    assert ten != dataset.sample(10, seed=1)
    assert set(dataset.sample()) == set(dataset.questions)
    assert dataset.sample(judged=True) == ()
    assert dataset.documents == {"d1", "d2"}


@pytest.mark.parametrize(("name", "what"), [("corpus.jsonl", "UTF-8"), ("qrels.tsv", "UTF-8")])
def test_bytes_that_are_no_text_are_named(tmp_path: Path, name: str, what: str) -> None:
    (write_dataset(tmp_path) / name).write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=rf"{name}:1: not {what}"):
        load(tmp_path)


@pytest.mark.parametrize("cut", [10, -9])
def test_a_broken_gzip_file_is_named(tmp_path: Path, cut: int) -> None:
    (write_dataset(tmp_path) / "corpus.jsonl").unlink()
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(CORPUS.encode())[:cut])
    with pytest.raises(UsageError, match=r"corpus\.jsonl\.gz:\d+: not a whole gzip file"):
        load(tmp_path)


__all__ = ["run"]


def make_folder(place: Path, **files: str) -> Path:
    for name, text in files.items():
        file = place / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return place


def test_files_have_the_ids_that_an_index_gives_them(run: CommandRunner, tmp_path: Path) -> None:
    corpus = make_folder(tmp_path / "corpus", one="# One\n\nA word.", sub__two="Two", twin="Two")
    documents = map_documents(corpus)
    assert list(documents) == ["one.md", "sub/two.md", "twin.md"]
    assert documents["twin.md"] == documents["sub/two.md"] != documents["one.md"]
    run("ingest", str(corpus))
    held = run("docs", "list", "--json").json["documents"]
    assert {document["id"] for document in held} == set(documents.values())


def test_a_file_of_records_in_a_folder_gives_its_records(
    run: CommandRunner, tmp_path: Path
) -> None:
    corpus = make_folder(tmp_path / "pdfs", one="One")
    (corpus / "more.jsonl").write_text('{"_id": "r1", "text": "a"}\n{"_id": "r2", "text": "b"}\n')
    documents = map_documents(corpus)
    assert list(documents) == ["r1", "r2", "one.md"]
    assert documents["r1"] == "r1"
    run("ingest", str(corpus))
    held = run("docs", "list", "--json").json["documents"]
    assert {document["id"] for document in held} == set(documents.values())


@pytest.mark.parametrize("name", ["corpus", "documents", "pdfs"])
def test_a_folder_is_the_corpus_unless_there_is_a_corpus_file(tmp_path: Path, name: str) -> None:
    make_folder(tmp_path / name, one="One")
    assert find_corpus(tmp_path) == tmp_path / name
    (tmp_path / "corpus.jsonl.gz").write_bytes(b"")
    assert find_corpus(tmp_path) == tmp_path / "corpus.jsonl.gz"


def test_a_missing_or_ambiguous_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no corpus\.jsonl or corpus\.jsonl\.gz, and no folder"):
        find_corpus(tmp_path)
    make_folder(tmp_path / "corpus", one="One")
    make_folder(tmp_path / "pdfs", one="One")
    with pytest.raises(UsageError, match="corpus/ and pdfs/ could both be the corpus; rename one"):
        find_corpus(tmp_path)
    with pytest.raises(UsageError, match=r"no a or a\.gz or b or b\.gz"):
        find_file(tmp_path, "a", "b")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_blank_lines_are_skipped_and_counted(tmp_path: Path, name: str) -> None:
    data = b'\n{"_id": "a"}\n \n{"_id": "b", "n": 1}\n'
    file = tmp_path / name
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(read_rows(file)) == [(2, {"_id": "a"}), (4, {"_id": "b", "n": 1})]
    assert [number for number, _ in read_lines(file)] == [2, 4]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"_id": "a"}\n{"_id": "a"}', ":2: the id 'a' comes twice"),
        ('{"_id": 1}', ":1: expected an object with a text '_id'"),
        ("[1]", ":1: expected an object"),
        ('{"_id"', ":1: not JSON"),
    ],
)
def test_mistakes_name_the_line(tmp_path: Path, data: str, message: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(data)
    with pytest.raises(UsageError, match=message):
        list(read_rows(file))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_line_that_is_not_utf8_is_named(tmp_path: Path, name: str) -> None:
    data = b'{"_id": "a"}\n' * 2 + '{"_id": "Jürgen"}\n'.encode("latin-1") + b'{"_id": "d"}\n'
    file = tmp_path / name
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(UsageError, match=r":3: not UTF-8; save the file as UTF-8"):
        list(read_lines(file))


def write_questions(place: Path, *queries: Mapping[str, object]) -> Path:
    file = place / "mine.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in queries))
    return file


def test_a_file_of_questions_is_about_the_indexed_documents(
    run: CommandRunner, tmp_path: Path
) -> None:
    run("ingest", str(make_folder(tmp_path / "corpus", one="# One\n\nA word.", sub__two="Two")))
    with Engine.open() as engine:
        held = {Path(document.path).name: document for document in engine.documents.list()}
        named = ["one.md", held["one.md"].path, held["one.md"].id]
        queries = [{"_id": str(at), "text": "?", "metadata": {"relevant": [name]}}
                 for at, name in enumerate(named)]  # fmt: skip
        last = {"_id": "w", "text": "?", "answers": ["x"], "metadata": {"without": ["two.md"]}}
        questions = load_questions(
            write_questions(tmp_path, *queries, last), engine.documents.list()
        )
    assert questions.ingested
    assert questions.name == "mine"
    assert questions.documents == {document.id for document in held.values()}
    assert [*questions.qrels.values()] == [{held["one.md"].id: 1}] * 3
    assert questions.questions[-1].without == (held["two.md"].id,)


def test_an_invalid_file_of_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file of questions"):
        load_questions(tmp_path / "none.jsonl", [])
    lost = {"_id": "q", "text": "?", "metadata": {"relevant": ["gone.md"]}}
    with pytest.raises(UsageError, match=r"mine.jsonl:1: unknown document 'gone.md'"):
        load_questions(write_questions(tmp_path, lost), [])
    with pytest.raises(UsageError, match=r"mine.jsonl:1: question 'q' has no answers"):
        load_questions(write_questions(tmp_path, {"_id": "q", "text": "?"}), [])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"metadata": {"relevent": ["a.md"]}}, "unknown key 'relevent'; did you mean 'relevant'?"),
        ({"metadata": {"withuot": ["a.md"]}}, "unknown key 'withuot'; did you mean 'without'?"),
        ({"histroy": []}, "unknown key 'histroy'; did you mean 'history'?"),
    ],
)
def test_a_misspelt_key_of_a_file_of_questions_is_refused(
    tmp_path: Path, row: dict[str, object], message: str
) -> None:
    fine = {"_id": "q1", "text": "?", "answers": ["40"], "metadata": {"author": "me", "page": 3}}
    assert load_questions(write_questions(tmp_path, fine), []).questions
    file = write_questions(tmp_path, fine, {**fine, "_id": "q2", **row})
    with pytest.raises(UsageError) as caught:
        load_questions(file, [])
    assert str(caught.value) == f"{file}:2: question 'q2': {message}"


def test_answers_of_an_unanswerable_question_are_refused_in_a_file_of_questions(
    tmp_path: Path,
) -> None:
    answered = {"_id": "q1", "text": "?", "answers": ["40"]}
    metadata = {"metadata": {"answerable": False}}
    file = write_questions(tmp_path, answered, {**answered, "_id": "q2", **metadata})
    with pytest.raises(UsageError, match=r"\.jsonl:2: question 'q2' has answers, but .*; remove"):
        load_questions(file, [])
    # An answer that exists outside of the documents is no contradiction.
    away = {**answered, "metadata": {"in_corpus": False}}
    (question,) = load_questions(write_questions(tmp_path, away), []).questions
    assert not question.answerable


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    write_dataset(tmp_path)
    plain = load(tmp_path)
    for file in tmp_path.iterdir():
        file.write_bytes(BOM_UTF8 + file.read_bytes())
    assert load(tmp_path) == plain


@pytest.mark.parametrize("answers", ["[" * 100_000, "9" * 5_000])
def test_json_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path, answers: str) -> None:
    write_dataset(tmp_path, queries=f'{{"_id": "q1", "text": "x", "answers": {answers}}}')
    with pytest.raises(UsageError, match=r"queries\.jsonl:1: not JSON"):
        load(tmp_path)
