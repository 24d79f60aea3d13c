import os
from hashlib import sha256
from pathlib import Path

import pytest

from fathom.documents.discover import (
    FileFilter,
    derive_document_id,
    digest_content,
    discover_files,
    make_absolute,
)
from fathom.errors import UsageError


def write_tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def list_found(*paths: Path, root: Path, file_filter: FileFilter | None = None) -> list[str]:
    return [str(path.relative_to(root)) for path in discover_files(paths, file_filter)]


def test_files_are_sorted_without_hidden_ones(tmp_path: Path) -> None:
    write_tree(tmp_path, "b.txt", "a/2.txt", "a/1.txt", ".hidden", ".fathom/db", "a/.git/x", "c/z")
    assert list_found(tmp_path, root=tmp_path) == ["a/1.txt", "a/2.txt", "b.txt", "c/z"]


def test_files_come_in_the_order_of_their_whole_paths(tmp_path: Path) -> None:
    write_tree(
        tmp_path, "px/a", "px-old/b", "px.md", "px#1", "px0", "px/sub/c", "px/sub-d", "q/1/2"
    )
    names = list_found(tmp_path / "px0", tmp_path, tmp_path / "px" / "sub", root=tmp_path)
    assert names == sorted(names)
    assert len(names) == 8


def test_each_file_comes_once(tmp_path: Path) -> None:
    write_tree(tmp_path, "a/1.txt")
    assert list_found(tmp_path / "a/1.txt", tmp_path, tmp_path / "a", root=tmp_path) == ["a/1.txt"]


def test_links_stay_inside_and_never_loop(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_tree(tmp_path, "outside.txt", "root/in.txt")
    (root / "loop").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    (root / "dangling").symlink_to("nowhere")
    (root / "out.txt").symlink_to(tmp_path / "outside.txt")
    (root / "a-link").symlink_to("in.txt")
    assert [path.name for path in discover_files([root])] == ["in.txt"]


def test_a_link_to_a_file_outside_the_given_ones_is_followed(tmp_path: Path) -> None:
    write_tree(tmp_path, ".hidden.txt", "s/corpus.jsonl", "s/qrels/t.txt", "real.txt", "out.log")
    for name, target in (
        ("a", ".hidden.txt"),
        ("b", "s/qrels/t.txt"),
        ("c", "real.txt"),
        ("d", "s/corpus.jsonl"),
        ("e.txt", "out.log"),
    ):
        (tmp_path / name).symlink_to(tmp_path / target)
    assert list_found(tmp_path, root=tmp_path) == [
        "a",
        "b",
        "out.log",
        "real.txt",
        "s/corpus.jsonl",
    ]
    file_filter = FileFilter(exclude=("*.log",))
    names = list_found(tmp_path, root=tmp_path, file_filter=file_filter)
    assert names == ["a", "b", "e.txt", "real.txt", "s/corpus.jsonl"]


def test_hard_links_are_one_file(tmp_path: Path) -> None:
    write_tree(tmp_path, "a.txt")
    (tmp_path / "b.txt").hardlink_to(tmp_path / "a.txt")
    assert list_found(tmp_path, root=tmp_path) == ["a.txt"]


def test_pipes_and_devices_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    write_tree(tmp_path, "a.txt")
    assert list_found(tmp_path, root=tmp_path) == ["a.txt"]
    assert list(discover_files([tmp_path / "pipe"])) == []


def test_a_data_set_gives_its_corpus_only(tmp_path: Path) -> None:
    write_tree(
        tmp_path, "s/corpus.jsonl.gz", "s/queries.jsonl.gz", "s/README.md", "s/sub/x.txt", "t.txt"
    )
    assert list_found(tmp_path, root=tmp_path) == ["s/corpus.jsonl.gz", "t.txt"]


@pytest.mark.parametrize("questions", ["questions.jsonl", "qrels.tsv", "qrels/test.tsv"])
def test_questions_of_any_name_make_a_data_set(tmp_path: Path, questions: str) -> None:
    write_tree(tmp_path, "corpus.jsonl", questions, "README.md")
    assert list_found(tmp_path, root=tmp_path) == ["corpus.jsonl"]


def test_a_corpus_without_questions_is_a_file_like_others(tmp_path: Path) -> None:
    names = ["corpus.jsonl", "notes.md", "sub/x.txt"]
    write_tree(tmp_path, *names)
    assert list_found(tmp_path, root=tmp_path) == names


def test_questions_without_a_corpus_are_documents(tmp_path: Path) -> None:
    write_tree(tmp_path, "qrels/a.txt", "queries.jsonl")
    assert list_found(tmp_path, root=tmp_path) == ["qrels/a.txt", "queries.jsonl"]


def test_a_name_that_is_no_utf8_is_found(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(name)).write_text("x")
    assert [os.fsencode(path) for path in discover_files([tmp_path])] == [name]


def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        list(discover_files([tmp_path / "missing"]))


@pytest.mark.parametrize(
    ("file_filter", "expected"),
    [
        (FileFilter(), ["a.md", "b.txt", "old/c.md", "old/deep/d.md"]),
        (FileFilter(include=("*.md",)), ["a.md", "old/c.md", "old/deep/d.md"]),
        (FileFilter(include=("old",)), ["old/c.md", "old/deep/d.md"]),
        (FileFilter(include=("old/*.md", "b.*")), ["b.txt", "old/c.md", "old/deep/d.md"]),
        (FileFilter(exclude=("old/",)), ["a.md", "b.txt"]),
        (FileFilter(exclude=("old/deep",)), ["a.md", "b.txt", "old/c.md"]),
        (FileFilter(include=("*.md",), exclude=("[cd].md",)), ["a.md"]),
        (FileFilter(include=("*.MD",)), []),
    ],
)
def test_patterns_select_below_the_named_folder(
    tmp_path: Path, file_filter: FileFilter, expected: list[str]
) -> None:
    root = tmp_path / "old"  # what lies above the named folder does not count
    write_tree(root, "a.md", "b.txt", "old/c.md", "old/deep/d.md")
    assert list_found(root, root=root, file_filter=file_filter) == expected


def test_patterns_apply_to_named_files_too(tmp_path: Path) -> None:
    write_tree(tmp_path, "a.md", "b.log")
    named = (tmp_path / "a.md", tmp_path / "b.log")
    assert list_found(*named, root=tmp_path, file_filter=FileFilter(exclude=("*.log",))) == ["a.md"]


def test_a_corpus_file_can_be_left_out_by_pattern(tmp_path: Path) -> None:
    write_tree(tmp_path, "s/corpus.jsonl")
    assert list_found(tmp_path, root=tmp_path, file_filter=FileFilter(exclude=("s",))) == []


def test_a_path_from_the_root_keeps_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path, "real/a.txt")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    assert make_absolute("real/../link/a.txt") == tmp_path / "link" / "a.txt"


def test_equal_files_have_one_id_wherever_they_are(tmp_path: Path) -> None:
    original, twin, other = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"
    original.write_bytes(b"same")
    twin.write_bytes(b"same")
    other.write_bytes(b"Same")
    assert digest_content(original) == digest_content(twin) == sha256(b"same").hexdigest()
    assert derive_document_id(digest_content(original)) != derive_document_id(digest_content(other))
    assert len(derive_document_id(digest_content(original))) == 16
