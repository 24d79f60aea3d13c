"""What the calls of a role come to is counted from whole runs, and asked once."""

import json
from pathlib import Path
from typing import Any

import pytest
from experiments.lab.role_plan import read_plan
from tests.experiments.toy import bench
from tests.scripted_server import says, serve

from experiments import roles as command
from fathom.errors import UsageError
from fathom.llm.role_models import ROLES

ROW = """
[[role]]
name = "{name}"
role = "{role}"
strategy = "{strategy}"
settings = {{ {settings} }}
data = [{{ set = "toy", queries = {queries} }}]
"""
HEAD = """
title = "Roles"
model = "standin:extractive"

[settings]
"llm.skip_above_confidence" = 2
"llm.tries" = 1
"budget.tokens" = 30000
"""
READER = {"name": "reader", "role": "reader", "strategy": "naive"}
TRUE = "A mooring permit costs 40 crowns a year."


def plan(folder: Path, *rows: dict[str, str]) -> Path:
    given = ({"settings": "", "queries": "2", **row} for row in rows)
    file = folder / "plan.toml"
    file.write_text(HEAD + "".join(ROW.format(**row) for row in given))
    return file


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    bench(tmp_path)
    monkeypatch.setenv("SHARED_DATA", str(tmp_path / "data"))
    return tmp_path


def run(place: Path, file: Path, *more: str) -> int:
    return command.main(["--plan", str(file), "--work", str(place / "work"), *more])


def records(place: Path) -> list[dict[str, Any]]:
    (file,) = (place / "work").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_table_of_all_roles_that_were_asked(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = READER | {"name": "by number", "settings": '"llm.evidence" = "numbers"'}
    planner = {"name": "planner", "role": "planner", "strategy": "mao"}
    file = plan(place, READER, numbers, planner)
    assert run(place, file, "--out", str(place / "page.md")) == 0
    table = capsys.readouterr().out
    both = "100% [16, 100]"  # two of two
    assert f"| reader | 2 | 2 | {both} | 0 | 100% | 2 | {both} | 2 | 100% |" in table
    assert f"| by number | 2 | 2 | {both} | 0 | 100% | 2 | {both} | 2 | 100% |" in table
    assert f"| planner | 2 | 2 | {both} | 0 | 100% |  |  |" in table
    told = "`llm.skip_above_confidence = 2`, `llm.tries = 1`, `budget.tokens = 30000`"
    head = f"# Roles\n\nModel: `standin:extractive`. Settings: {told}."
    assert (place / "page.md").read_text() == f"{head}\n\n{table}"
    before = records(place)
    assert run(place, file, "planner", "--table") == 0
    assert "by number" not in capsys.readouterr().out
    assert run(place, file) == 0
    assert capsys.readouterr().err == ""  # nothing was asked again
    assert records(place) == before


def test_a_run_that_was_killed_goes_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = plan(place, READER)
    assert run(place, file, "--questions", "1") == 0
    (first,) = records(place)
    assert run(place, file) == 0
    assert records(place)[0] == first
    assert len({each["question"] for each in records(place)}) == 2
    assert capsys.readouterr().err.count("more questions") == 2


def test_calls_of_a_row_may_be_enough(place: Path) -> None:
    file = plan(place, READER)
    for _ in range(2):
        assert run(place, file, "--calls", "1") == 0
        assert len(records(place)) == 1
    assert run(place, file, "--calls", "2") == 0
    assert len(records(place)) == 2


def quoting(quote: str) -> str:
    sentence = {"quotes": [{"chunk": 1, "quote": quote}], "text": quote}
    return json.dumps({"answer": {"sentences": [sentence], "short_answer": "x"}})


@pytest.mark.parametrize(
    ("replies", "call"),
    [
        (["no", "neither"], {"requests": 2, "valid": False, "repaired": False, "used": False}),
        (["no", '{"answer": null}'], {"requests": 2, "valid": True, "repaired": True}),
        ([quoting("Nobody said that, ever.")], {"valid": True, "named": 1, "found": 0}),
    ],
)
def test_what_a_server_says_is_counted(
    place: Path, replies: list[str], call: dict[str, object]
) -> None:
    file = plan(place, READER | {"queries": "1"})
    with serve(*map(says, replies)) as server:
        at = ("-m", "openai:m", "--set", f"llm.base_url={server.base_url}")
        assert run(place, file, *at, "--set", "llm.key_env=") == 0
        assert server.calls == len(replies)
    (asked,) = records(place)
    (counted,) = asked["calls"]
    assert counted.items() >= call.items()
    assert bool(counted["failure"]) is not counted["valid"]
    assert counted["prompt_tokens"] > 0
    assert asked["overshoot"] is False


def test_the_plan_asks_every_role_that_a_question_has() -> None:
    read = read_plan(command.PLAN)
    assert {row.role for row in read.role} == set(ROLES) - {"questioner"}  # writes questions
    for row in read.role:
        told = read.assignments(row, model="openai:m")
        assert f"roles.{row.role}=llm" in told
        assert not any("llm" in each for each in read.assignments(row) if "roles." in each)


def test_an_unknown_role_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = plan(place, READER)
    assert run(place, file, "poet") == UsageError.exit_code
    assert "there is no role 'poet'; there are reader" in capsys.readouterr().err
    file.write_text(file.read_text().replace("title", "titel"))
    assert run(place, file) == UsageError.exit_code
    assert f"{file}: " in capsys.readouterr().err
