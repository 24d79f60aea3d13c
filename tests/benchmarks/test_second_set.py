"""The second set of questions is as it was written, and of files that nothing was learned from."""

import gzip
import json
import re
import tomllib
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from benchmarks.second_set.ask import is_found, run_command
from benchmarks.second_set.fetch import FOLDER, Member, fetch, is_there, read_packages
from benchmarks.second_set.tables import (
    format_groups,
    format_reasons,
    format_shares,
    format_totals,
    read_judged,
)
from experiments.manuals import GRADES, REFUSED, RIGHT, SET, WRONG, read_golds
from training.cross_reader.rows import GENERATED_FOLDER, OWN_FOLDER
from training.questions.passages import SOURCES

QUESTIONS = list(read_golds(FOLDER))
PACKAGES = list(read_packages())
README = (FOLDER / "README.md").read_text("utf-8")


def test_the_questions_are_those_that_were_committed_before_any_run() -> None:
    digest = sha256((FOLDER / "questions.jsonl").read_bytes()).hexdigest()
    assert digest in README
    assert len({gold.text for gold in QUESTIONS}) == len(QUESTIONS) == 120


def test_each_kind_has_as_many_questions_and_the_counts_of_the_readme_hold() -> None:
    lines = (FOLDER / "questions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line)["metadata"] for line in lines]
    files = Counter(member.kind for package in PACKAGES for member in package.members)
    for kind, count in Counter(row["files"] for row in rows).items():
        of_kind = [row for row in rows if row["files"] == kind]
        without = sum(not row["answerable"] for row in of_kind)
        indonesian = sum(row["language"] == "id" for row in of_kind)
        assert f"| {kind} | {files[kind]} | {count} | {without} | {indonesian} |" in README
    assert f"over {files.total()} files" in README


def test_every_answer_names_its_quote_and_files_of_the_set() -> None:
    names = {member.name for package in PACKAGES for member in package.members}
    for gold in QUESTIONS:
        assert gold.answerable == bool(gold.items) == bool(gold.documents) == bool(gold.quotes)
        assert set(gold.documents) <= names, gold.id


def test_no_package_was_learned_from_or_is_of_the_manuals() -> None:
    learned = {
        fields.get("package", name)
        for name, fields in tomllib.loads(SOURCES.read_text("utf-8")).items()
    }
    for folder in (OWN_FOLDER, GENERATED_FOLDER):
        with gzip.open(folder / "rows.jsonl.gz", "rt", encoding="utf-8") as lines:
            learned |= {json.loads(line)["package"] for line in lines}
    of_manuals = set(re.findall(r"`([^`]+)`", (SET / "README.md").read_text("utf-8")))
    assert not {package.name for package in PACKAGES} & (learned | of_manuals)


def test_a_description_loses_its_header_and_a_packed_file_is_unpacked() -> None:
    described = Member("how-tos", "a.md", "a.dist-info/METADATA", "")
    assert described.decode(b"Name: a\r\n\r\n# A\r\n") == b"# A\n"
    packed = Member("reports", "a.txt", "usr/share/doc/a/NEWS.gz", "")
    assert packed.decode(gzip.compress(b"news")) == b"news"


def test_files_that_are_there_are_not_fetched_again(tmp_path: Path) -> None:
    package = PACKAGES[0]
    member = package.members[0]
    (tmp_path / member.name).write_bytes(b"another text")
    assert not is_there(member, tmp_path)
    kept = Member(member.kind, "a", "a", sha256(b"text").hexdigest())
    (tmp_path / "a").write_bytes(b"text")
    fetch(type(package)("debian", "no-such-package", "1", "", (kept,)), tmp_path)
    with pytest.raises(SystemExit, match="no-such-package 1 is not to be had"):
        fetch(type(package)("debian", "no-such-package", "1", "", (member,)), tmp_path)


def test_every_answer_was_read_and_no_long_text_is_kept() -> None:
    rows = [json.loads(line) for line in (FOLDER / "answers.jsonl").read_text("utf-8").splitlines()]
    assert [row["_id"] for row in rows] == [gold.id for gold in QUESTIONS]
    for gold, row in zip(QUESTIONS, rows, strict=True):
        assert row["eye"] in (GRADES if gold.answerable else (RIGHT, WRONG))
        assert (row["eye"] == RIGHT) == ("why" not in row), gold.id
        assert (row["eye"] == REFUSED) == (gold.answerable and row["status"] == "abstained")
        assert gold.answerable == ("found" in row)
        assert max(len(row["answer"]), len(row["short_answer"])) <= 300


def test_the_readme_has_the_figures_of_the_answers() -> None:
    judged = read_judged(FOLDER / "answers.jsonl")
    page = (FOLDER.parents[1] / "docs" / "evaluation.md").read_text("utf-8")
    for line in (*format_totals(judged), *format_shares(judged)):
        assert line in page
    for line in (
        *format_reasons(judged),
        *format_groups(judged, lambda one: one.kind),
        *format_groups(judged, lambda one: one.language),
        *format_groups(judged, lambda one: one.type),
    ):
        assert line in README


def test_a_short_quote_is_found_only_beside_its_answer() -> None:
    (row,) = [gold for gold in QUESTIONS if gold.id == "d03"]
    assert is_found(row, ["year: 1913 | volume: 456"])
    assert not is_found(row, ["year: 1913 | volume", "456"])
    (two,) = [gold for gold in QUESTIONS if gold.id == "a13"]
    assert not is_found(two, [two.quotes[0]])
    assert is_found(two, list(two.quotes))


def test_a_question_that_was_not_answered_is_named(tmp_path: Path) -> None:
    (tmp_path / "ask.jsonl").write_text('{"answer": ""}\n')
    with pytest.raises(SystemExit, match="1 of 120 questions; remove it"):
        run_command(["ask"], QUESTIONS, tmp_path / "ask.jsonl")
