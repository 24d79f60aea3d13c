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


def test_a_valid_domain_file_is_accepted(run: CommandRunner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "own.toml").write_text(GENERAL)
    check_one_line(run(*ASK, "--set", "domain.file=own.toml"), 2, "no index")
