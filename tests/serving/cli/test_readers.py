"""`fathom ingest --readers` and `fathom keys add --group`."""

import json
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401

from fathom import Engine
from fathom.index.rights import ReadingRule, Viewer
from fathom.serving.readers_file import load_readers

RULES = """
[[rule]]
path = "fees*"
readers = ["harbour", "user:ana"]

[[rule]]
path = "lost/*"
readers = []
"""


def test_rules_are_kept_and_count_for_files_that_come_later(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    (corpus / "readers.toml").write_text(RULES)
    ran = run("ingest", str(corpus), "--readers", str(corpus / "readers.toml"))
    assert ran.code == 0
    assert f"no document matches {corpus}/lost/*" in ran.err
    (corpus / "fees-2.md").write_text("# Fees\n\nA locker costs 7 crowns.\n")
    assert run("ingest", str(corpus)).code == 0
    # The user of this machine sees everything, and who else may.
    assert "locker" in run("docs", "grep", "locker").out
    listed_documents = run("docs", "list", "--json").json["documents"]
    readers = {Path(document["path"]).name: document["readers"] for document in listed_documents}
    assert readers["hours.txt"] == [["*"]]
    assert readers["fees-2.md"] == [["harbour", "user:ana"]]
    with Engine.open(tmp_path / ".fathom", {"offline": True}) as engine:
        stranger = engine.open_for(Viewer(frozenset({"user:bob"})))
        member = engine.open_for(Viewer(frozenset({"user:ana"})))
        listed = [
            {Path(summary.path).name for summary in viewer.documents.list()}
            for viewer in (stranger, member)
        ]
        assert "hours.txt" in listed[0]
        assert listed[1] == {*listed[0], "fees.md", "fees-2.md"}
        for viewer in (stranger, member):
            viewer.close()


def test_a_rule_that_a_renamed_document_left_is_named_once(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    (corpus / "readers.toml").write_text(RULES)
    run("ingest", str(corpus), "--readers", str(corpus / "readers.toml"))
    assert "matches" not in run("ingest", str(corpus)).err
    (corpus / "fees.md").rename(corpus / "prices.md")
    assert f"rights: no document matches {corpus}/fees*" in run("ingest", str(corpus)).err
    assert "matches" not in run("ingest", str(corpus)).err


def test_rules_may_begin_with_the_mark_of_a_text_of_windows(tmp_path: Path) -> None:
    file = tmp_path / "readers.toml"
    file.write_text(f"\ufeff{RULES.strip()}", encoding="utf-8")
    first, _ = load_readers(file)
    assert first.readers == ("harbour", "user:ana")


def test_a_key_names_its_groups(run: CommandRunner) -> None:  # noqa: F811
    added = run("keys", "add", "ana", "--group", "hr", "--group", "*", "--json").json
    assert added["groups"] == ["*", "hr"]
    assert run("keys", "list", "--json").json["keys"][0]["groups"] == ["*", "hr"]
    assert "group hr" in run("keys", "list").out
    check_one_line(run("keys", "add", "bob", "--group", "user:ana"), 2, "'user:ana'")


def list_names(engine: Engine, *names: str) -> set[str]:
    """Return the names of the documents that somebody may read."""
    with engine.open_for(Viewer(frozenset(names))) as viewer:
        return {Path(summary.path).name for summary in viewer.documents.list()}


FOR_ALL = '[[rule]]\npath = "secret*"\nreaders = []\n[[rule]]\npath = "*"\nreaders = ["*"]\n'


def test_documents_may_only_narrow_what_the_rules_say(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "readers.toml").write_text(FOR_ALL)
    (folder / "open.md").write_text("# Open\n\nEverybody reads this.\n")
    (folder / "front.md").write_text("---\nreaders:\n  - hr\n---\n# Front\n\nFor hr.\n")
    (folder / "torn.md").write_text("---\nreaders: {a: b}\n---\n# Torn\n\nFor nobody.\n")
    (folder / "beside.md").write_text("# Beside\n\nFor Ana.\n")
    (folder / "beside.md.readers.toml").write_text('readers = ["user:ana"]\n')
    # The rules hide these from everybody, whatever the documents say.
    (folder / "secret-1.md").write_text("---\nreaders: ['*']\n---\n# Secret\n\nOne.\n")
    (folder / "secret-2.md").write_text("---\nreaders: hr\n---\n# Secret\n\nTwo.\n")
    (folder / "secret-3.md").write_text("# Secret\n\nThree.\n")
    (folder / "secret-3.md.readers.toml").write_text('readers = ["*"]\n')
    records = folder / "records" / "corpus.jsonl"
    records.parent.mkdir()
    rows = [
        {"_id": "a", "text": "For all."},
        {"_id": "b", "text": "For hr alone.", "readers": ["hr"]},
        {"_id": "c", "text": "For nobody.", "metadata": {"readers": {"x": 1}}},
    ]
    records.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run("ingest", str(folder), "--readers", str(folder / "readers.toml")).code == 0
    everybody = {"open.md", "corpus.jsonl#a"}
    with Engine.open(tmp_path / ".fathom", {"offline": True}) as engine:
        assert list_names(engine) == everybody
        assert list_names(engine, "hr") == everybody | {"front.md", "corpus.jsonl#b"}
        assert list_names(engine, "user:ana") == everybody | {"beside.md"}
        whole = {Path(summary.path).name for summary in engine.documents.list()}
        assert len(whole) == 10
        assert not [name for name in whole if name.endswith("readers.toml")]


def test_a_file_beside_a_document_counts_from_the_next_ingestion(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder, other = tmp_path / "documents", tmp_path / "other"
    for place in (folder, other):
        place.mkdir()
        (place / "a.md").write_text(f"# A\n\nOf {place.name}.\n")
    (folder / "readers.toml").write_text(FOR_ALL)
    sidecar = folder / "a.md.readers.toml"
    readers = ("--readers", str(folder / "readers.toml"))
    assert run("ingest", str(folder), str(other), *readers).code == 0
    with Engine.open(tmp_path / ".fathom", {"offline": True}) as engine:
        assert len(list_paths(engine)) == 2
        sidecar.write_text('readers = ["hr"]\n')
        assert run("ingest", str(folder)).code == 0
        assert len(list_paths(engine)) == 1
        sidecar.write_text("readers = [")  # half written: nobody, not everybody
        assert run("ingest", str(folder)).code == 0
        assert len(list_paths(engine, "hr")) == 1
        assert run("ingest", str(other)).code == 0  # other folders keep theirs
        assert len(list_paths(engine, "hr")) == 1
        folder.replace(tmp_path / "away")  # a folder that is away lifts nothing
        assert run("ingest", str(folder), str(other)).code == 0
        assert len(list_paths(engine, "hr")) == 1
        (tmp_path / "away").replace(folder)
        sidecar.unlink()
        assert run("ingest", str(folder)).code == 0
        assert len(list_paths(engine)) == 2
        sidecar.write_text('readers = ["hr"]\n')
        assert run("ingest", "--rebuild", "--yes", str(folder), str(other)).code == 0
        assert len(list_paths(engine)) == 1


def test_a_sidecar_whose_document_was_renamed_is_named(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "pay.md").write_text("# Pay\n\nAna earns 40 crowns.\n")
    (folder / "pay.md.readers.toml").write_text('readers = ["hr"]\n')
    (folder / "readers.toml").write_text(FOR_ALL)
    assert run("ingest", str(folder), "--readers", str(folder / "readers.toml")).code == 0
    assert not caplog.messages
    (folder / "pay.md").rename(folder / "wages.md")
    assert run("ingest", str(folder)).code == 0
    sidecar = folder / "pay.md.readers.toml"
    message = f"{sidecar}: no document pay.md is beside it; rename both together"
    assert message in caplog.messages
    caplog.clear()
    (folder / "pay.md.readers.toml").rename(folder / "wages.md.readers.toml")
    assert run("ingest", str(folder)).code == 0
    assert not caplog.messages


def test_a_document_whose_readers_come_during_an_ingestion_waits_for_the_next(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nOpen.\n")
    (folder / "z.md").write_text("# Z\n\nFor hr.\n")
    everybody = [ReadingRule("*", ("*",))]

    def write_late(_report: object, _progress: object) -> None:
        (folder / "z.md.readers.toml").write_text('readers = ["hr"]\n')

    with Engine.open(tmp_path / "index", {"offline": True}) as engine:
        report = engine.ingest(folder, rights=everybody, on_progress=write_late)
        assert report.failed == 1
        assert len(list_paths(engine)) == len(list_paths(engine, "hr")) == 1
        assert engine.ingest(folder).failed == 0
        assert (len(list_paths(engine)), len(list_paths(engine, "hr"))) == (1, 2)


def list_paths(engine: Engine, *names: str) -> list[str]:
    """Return the paths of the documents that somebody may read."""
    with engine.open_for(Viewer(frozenset(names))) as viewer:
        return [summary.path for summary in viewer.documents.list()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\n", "must be TOML"),
        ("rules = 1\n", "use only [[rule]]s with path and readers"),
        ('[[rule]]\npath = "a"\n', "rule 1 needs a path and a list"),
        ('[[rule]]\npath = "a"\nreaders = ["x"]\nwriters = []\n', "nothing else"),
        ('[[rule]]\npath = "a"\nreaders = ["a b"]\n', "'a b' is no reader"),
        ('[[rule]]\npath = "a"\nreaders = ["user:"]\n', "'user:' is no reader"),
    ],
)
def test_a_malformed_file_of_rules_is_refused_in_one_line(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    text: str,
    message: str,
) -> None:
    (corpus / "readers.toml").write_text(text)
    check_one_line(
        run("ingest", str(corpus), "--readers", str(corpus / "readers.toml")), 2, message
    )
    assert run("docs", "list").code != 0


def test_a_folder_stands_for_itself_in_a_rule(tmp_path: Path) -> None:
    folder = tmp_path / "a[b]"
    folder.mkdir()
    (folder / "readers.toml").write_text('[[rule]]\npath = "*.md"\nreaders = ["x"]\n')
    (rule,) = load_readers(folder / "readers.toml")
    assert isinstance(rule, ReadingRule)
    assert rule.fits(f"{folder}/c.md")
    assert not rule.fits(f"{tmp_path}/ab/c.md")


def test_a_document_that_is_opened_with_another_content_is_not_shown_with_the_earlier_one(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "readers.toml").write_text(FOR_ALL)
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text(f"# Plan {name}\n\nThe hidden plan.\n")
        (folder / f"{name}.readers.toml").write_text('readers = ["hr"]\n')
    run("ingest", str(folder), "--readers", str(folder / "readers.toml"))
    for name in ("a.md", "b.md"):
        (folder / f"{name}.readers.toml").unlink()
    (folder / "a.md").write_text("# Plan a.md\n\nFor everybody.\n")
    (folder / "b.md").write_text("")  # an empty file keeps the earlier document
    (folder / "c.md.readers.toml").write_text('readers = ["hr", "staff"]\n')
    texts: set[str] = set()

    def read_as_stranger(*_: object) -> None:
        with engine.open_for(Viewer(frozenset())) as stranger:
            texts.update(stranger.documents.get(item.id).text for item in stranger.documents.list())

    with Engine.open(tmp_path / ".fathom", {"offline": True}) as engine:
        engine.ingest([folder], on_progress=read_as_stranger)
        assert list_names(engine) == {"a.md"}
        assert list_names(engine, "staff") == {"a.md", "c.md"}
    assert not [text for text in texts if "hidden" in text]
