"""What the linters cannot check."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "fathom").rglob("*.py"))


def test_no_file_is_longer_than_five_hundred_lines() -> None:
    assert SOURCES
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in SOURCES}
    assert {str(file): length for file, length in lengths.items() if length > 500} == {}


def test_contributing_stays_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_no_code_imports_what_training_alone_may() -> None:
    banned = ("import torch", "from torch", "import transformers", "import sentence_transformers")
    guilty = [
        file
        for file in SOURCES
        if any(
            line.strip().startswith(banned)
            for line in file.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert guilty == []


def test_training_and_experiments_do_not_import_each_other() -> None:
    for room, other in (("training", "experiments"), ("experiments", "training")):
        for file in sorted((ROOT / room).rglob("*.py")):
            lines = file.read_text(encoding="utf-8").splitlines()
            guilty = [
                line for line in lines if line.startswith((f"from {other}", f"import {other}"))
            ]
            assert guilty == [], file


def test_experiments_import_no_command_line() -> None:
    for file in sorted((ROOT / "experiments").rglob("*.py")):
        assert "from fathom.serving" not in file.read_text(encoding="utf-8"), file


def test_every_module_has_a_test_of_its_name_or_is_named_in_the_one_that_covers_it() -> None:
    tests = list((ROOT / "tests").rglob("test_*.py"))
    names = {file.stem.removeprefix("test_") for file in tests}
    told = "\n".join(file.read_text(encoding="utf-8") for file in tests)
    uncovered = [
        module
        for file in (ROOT / "src" / "fathom").rglob("*.py")
        if file.stem != "__init__"
        and file.stem not in names
        and (module := ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)) not in told
    ]
    assert uncovered == []
