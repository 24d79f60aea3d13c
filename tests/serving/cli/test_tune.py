"""`fathom tune`: a proven advantage is reported, and written on request only."""

import json
import tomllib
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, run

from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.models.reader_loading import load_shipped_reader

__all__ = ["run"]


PLACES = ("Sandholm", "Vinterby", "Merrow", "Hallet", "Kilnford", "Oster", "Brekka", "Tannis")


@pytest.fixture
def question_file(run: CommandRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write eight questions that the real reader answers."""
    monkeypatch.setattr("fathom.assembly.models.load_shipped_reader", load_shipped_reader)
    folder = tmp_path / "notes"
    folder.mkdir()
    rows = []
    for at, place in enumerate(PLACES):
        text = f"# {place}\n\nThe harbour of {place} was opened in {1900 + at}."
        (folder / f"{place}.md").write_text(text)
        metadata = {"synthetic": at == 0, "relevant": [f"{place}.md"]}
        rows.append({"_id": place, "text": f"When was the harbour of {place} opened?",
                     "answers": [str(1900 + at)], "metadata": metadata})  # fmt: skip
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run("ingest", str(folder)).code == 0
    return "mine.jsonl"


def test_a_proven_better_setting_is_written_on_request(
    run: CommandRunner, question_file: str
) -> None:
    Path("fathom.toml").write_text("# mine\n[ask]\nmin_confidence = 1  # strict\n")
    trying = (
        "tune",
        question_file,
        "--strategies",
        "naive",
        "--settings",
        "ask.min_confidence=0.1",
    )
    output = run(*trying, "--set", "ask.strategy=naive", "--json")
    assert output.json["recommended"] == {"ask.strategy": "naive", "ask.min_confidence": "0.1"}
    assert output.json["written"] is None
    assert "strict" in Path("fathom.toml").read_text()
    written = run(*trying, "--set", "ask.strategy=naive", "--write")
    assert "written to fathom.toml" in written.out
    text = Path("fathom.toml").read_text()
    assert tomllib.loads(text) == {"ask": {"strategy": "naive", "min_confidence": 0.1}}
    assert text.startswith("# mine\n")


def test_within_noise_nothing_is_written(run: CommandRunner, question_file: str) -> None:
    output = run(
        "tune", question_file, "--strategies", "naive,rrf", "--queries", "4", "--write",
        "--set", "ask.strategy=naive", "--html", "out.html", "--markdown", "out.md",
    )  # fmt: skip
    assert output.code == 0
    assert "no recommendation" in output.out
    assert not Path("fathom.toml").exists()
    assert "no recommendation" in Path("out.html").read_text()
    assert "on the front" in Path("out.md").read_text()


def test_synthetic_questions_are_reported_as_such(run: CommandRunner, question_file: str) -> None:
    tuned = run(
        "tune", question_file, "--strategies", "naive", "--json", "--set", "ask.strategy=naive"
    )
    assert tuned.json["synthetic"] == 1
    output = run("eval", question_file, "--strategy", "naive")
    assert "1 of the questions of mine are synthetic" in " ".join(output.out.split())
    assert run("eval", question_file, "--json").json["synthetic"] == {"mine": 1}


def test_mistakes_are_reported_before_the_work(run: CommandRunner, question_file: str) -> None:
    for arguments, message in (
        (("--measure", "nice"), "measure 'nice'"),
        (("--strategies", "best"), "best"),
        (("--settings", "ask.min_confidence"), "expected a setting and its values"),
        (("--html", "no/where.html"), "cannot be written"),
    ):
        wrong = run("tune", question_file, *arguments)
        assert (wrong.code, wrong.err.count("\n")) == (2, 1)
        assert message in wrong.err


def test_failed_questions_are_reported(
    run: CommandRunner, question_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelError("no such weights")

    monkeypatch.setattr(Engine, "arun", fail)
    ran = run("tune", question_file, "--strategies", "naive", "--set", "ask.strategy=naive")
    assert ran.code == 5
    assert "mine naive: 8 of 8 questions failed; the first" in ran.err


def test_a_strategy_is_no_setting_to_try(run: CommandRunner, question_file: str) -> None:
    ran = run("tune", question_file, "--settings", "ask.strategy=naive,rrf")
    check_one_line(ran, 2, "name the strategies with --strategies")
    Path("fathom.toml").mkdir()
    check_one_line(run("tune", question_file, "--write"), 2, "fathom.toml", "cannot be written")
