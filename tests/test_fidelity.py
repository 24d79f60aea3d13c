"""docs/fidelity.md names parts, files and tests that exist."""

import re
from pathlib import Path

import pytest

from fathom.registry import PAPERS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
STATES = ("As in the ", "Differs: ", "Missing", "Cannot be had here: ")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| part ")
]
NAMED = re.findall(r"`([\w./-]+\.(?:py|toml|md)(?:::\w+)?)`", PAGE)
TESTS = sorted({name for name in NAMED if re.search(r"(?:^|/)test_\w+\.py", name)})
FILES = sorted({name for name in NAMED if name not in TESTS})


@pytest.mark.parametrize("name", FILES)
def test_every_file_exists(name: str) -> None:
    assert (ROOT / "src" / "fathom" / name).is_file() or (ROOT / name).is_file()


@pytest.mark.parametrize("name", TESTS)
def test_every_test_exists(name: str) -> None:
    file, _, test = name.partition("::")
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert re.search(rf"^(?:async def|def|class) {test}\(", text, re.MULTILINE)


def test_every_paper_has_a_table() -> None:
    assert re.findall(r"^## (\w+):", PAGE, re.MULTILINE) == [
        "maf",
        "rrf",
        "anchor",
        "mao",
        "hybrid",
    ]
    assert {*PAPERS} == {"maf", "rrf", "anchor", "mao", "hybrid"}
    assert len(ROWS) > 100


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_every_row_has_a_state_and_what_is_there_has_a_file_and_a_test(row: list[str]) -> None:
    _, state, where, held_by = row
    assert state.startswith(STATES)
    # What cannot be had, or is missing, may have neither.
    assert state.startswith(STATES[2:]) or (where and held_by)


def test_every_experiment_of_a_paper_has_a_row() -> None:
    of_fathom = {"bridges", "debate", "hops", "rerank", "retrievers", "agents"}
    tables = {
        f"experiments/{paper}/{file.name}"
        for paper in PAPERS
        for file in (ROOT / "experiments" / paper).glob("*.toml")
        if file.stem not in of_fathom
    }
    assert tables <= set(FILES)
