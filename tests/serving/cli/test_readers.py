"""`fathom ingest --readers` and `fathom keys add --group`."""

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
    assert f"no document fits {corpus}/lost/*" in ran.err
    (corpus / "fees-2.md").write_text("# Fees\n\nA locker costs 7 crowns.\n")
    assert run("ingest", str(corpus)).code == 0
    # The user of this machine sees everything.
    assert "locker" in run("docs", "grep", "locker").out
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


def test_a_key_names_its_groups(run: CommandRunner) -> None:  # noqa: F811
    added = run("keys", "add", "ana", "--group", "hr", "--group", "*", "--json").json
    assert added["groups"] == ["*", "hr"]
    assert run("keys", "list", "--json").json["keys"][0]["groups"] == ["*", "hr"]
    assert "group hr" in run("keys", "list").out
    check_one_line(run("keys", "add", "bob", "--group", "user:ana"), 2, "'user:ana'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\n", "must be TOML"),
        ("rules = 1\n", "[[rule]]s only"),
        ('[[rule]]\npath = "a"\n', "rule 1 needs a path and a list"),
        ('[[rule]]\npath = "a"\nreaders = ["x"]\nwriters = []\n', "nothing else"),
        ('[[rule]]\npath = "a"\nreaders = ["*"]\n', "'*' is no reader"),
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
