"""Invalid settings: one line, exit code 2, before any model is loaded."""

from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, run  # noqa: F401 - fixture

ASK = ("ask", "How much does a mooring permit cost?")
GENERAL = 'name = "x"\n[[classes]]\nname = "General"\n'


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--strategy", "magic"), ("'magic'", "naive")),
        (("--set", "ask.strategy=magic"), ("'magic'", "naive")),
        (("--set", "ask.strategy=3"), ("ask.strategy", "string")),
        (("--set", "ask.min_confidence=1.2"), ("ask.min_confidence", "or equal to 1")),
        (("--set", "ask.min_confidence=high"), ("ask.min_confidence", "number")),
        (("--set", "domain.file=3"), ("domain.file", "string")),
        (("--set", "hybrid.weights=equal"), ("hybrid.weights",)),
        (("--set", "domain.files=generic"), ("did you mean 'domain.file'",)),
        (("--set", "domain.file=licensing"), ("domain.file", "licensing-id")),
    ],
)
def test_an_invalid_value_is_refused(
    run: CommandRunner,  # noqa: F811
    arguments: tuple[str, ...],
    parts: tuple[str, ...],
) -> None:
    check_one_line(run(*ASK, *arguments), 2, *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("empty",)),
        ("name = [", ("not TOML",)),
        (f"{GENERAL}cues = 1", ("classes.0.cues = 1", "list")),
        (f"{GENERAL}hue = 1", ("unknown key 'classes.0.hue'",)),
        (f"{GENERAL}[classes.thresholds]\nvor = 2", ("thresholds.vor = 2", "or equal to 1")),
    ],
)
def test_a_malformed_domain_file_is_refused(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
    text: str,
    parts: tuple[str, ...],
) -> None:
    (tmp_path / "own.toml").write_text(text)
    check_one_line(run(*ASK, "--set", "domain.file=own.toml"), 2, "own.toml", *parts)


ALL = '"simple": [1, 0], "moderate": [0.5, 0.5]'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (None, ("no such file", "fathom train weights")),
        ("[", ("JSON",)),
        (f'{{"weights": {{{ALL}}}}}', ("gives complex questions no weight",)),
        (f'{{"weights": {{{ALL}, "complex": [0, 0]}}}}', ("gives complex questions no weight",)),
        (f'{{"weights": {{{ALL}, "complex": [2, 0]}}}}', ("weights.complex.0", "equal to 1")),
        (f'{{"weights": {{{ALL}, "hard": [1, 0]}}}}', ("weights.hard",)),
    ],
)
def test_a_malformed_file_of_weights_is_refused(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
    text: str | None,
    parts: tuple[str, ...],
) -> None:
    assert run("ingest", str(index_source(tmp_path))).code == 0
    if text is not None:
        (tmp_path / "own.json").write_text(text)
    asked = run(*ASK, "--strategy", "hybrid", "--set", "hybrid.weights=own.json")
    check_one_line(asked, 2, "hybrid.weights", "own.json", *parts)


def index_source(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    (source / "fees.md").write_text("A mooring permit costs 40 crowns a year.")
    return source


def test_a_valid_domain_file_is_accepted(run: CommandRunner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "own.toml").write_text(GENERAL)
    check_one_line(run(*ASK, "--set", "domain.file=own.toml"), 2, "no index")
