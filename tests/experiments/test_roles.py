"""The calls of each role, counted over whole runs, each asked once."""

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


def write_plan(folder: Path, *rows: dict[str, str]) -> Path:
    plan_rows = ({"settings": "", "queries": "2", **row} for row in rows)
    file = folder / "plan.toml"
    file.write_text(HEAD + "".join(ROW.format(**row) for row in plan_rows))
    return file


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    bench(tmp_path)
    monkeypatch.setenv("SHARED_DATA", str(tmp_path / "data"))
    return tmp_path


def run_roles(place: Path, file: Path, *more: str) -> int:
    return command.main(["--plan", str(file), "--work", str(place / "work"), *more])


def read_records(place: Path) -> list[dict[str, Any]]:
    (file,) = (place / "work").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_table_lists_all_asked_roles(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = READER | {"name": "by number", "settings": '"llm.evidence" = "numbers"'}
    planner = {"name": "planner", "role": "planner", "strategy": "mao"}
    file = write_plan(workplace, READER, numbers, planner)
    assert run_roles(workplace, file, "--out", str(workplace / "page.md")) == 0
    table = capsys.readouterr().out
    both = "100% [16, 100]"  # two of two
    assert f"| reader | 2 | 2 | {both} | 0 | 100% | 2 | {both} | 2 | 100% |" in table
    assert f"| by number | 2 | 2 | {both} | 0 | 100% | 2 | {both} | 2 | 100% |" in table
    assert f"| planner | 2 | 2 | {both} | 0 | 100% |  |  |" in table
    expected = "`llm.skip_above_confidence = 2`, `llm.tries = 1`, `budget.tokens = 30000`"
    head = f"# Roles\n\nModel: `standin:extractive`. Settings: {expected}."
    assert (workplace / "page.md").read_text() == f"{head}\n\n{table}"
    before = read_records(workplace)
    assert run_roles(workplace, file, "planner", "--table") == 0
    assert "by number" not in capsys.readouterr().out
    assert run_roles(workplace, file) == 0
    assert capsys.readouterr().err == ""  # nothing was asked again
    assert read_records(workplace) == before


def test_a_killed_run_continues(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_plan(workplace, READER)
    assert run_roles(workplace, file, "--questions", "1") == 0
    (first,) = read_records(workplace)
    assert run_roles(workplace, file) == 0
    assert read_records(workplace)[0] == first
    assert len({entry["question"] for entry in read_records(workplace)}) == 2
    assert capsys.readouterr().err.count("more questions") == 2


def test_the_calls_of_a_row_may_be_limited(workplace: Path) -> None:
    file = write_plan(workplace, READER)
    for _ in range(2):
        assert run_roles(workplace, file, "--calls", "1") == 0
        assert len(read_records(workplace)) == 1
    assert run_roles(workplace, file, "--calls", "2") == 0
    assert len(read_records(workplace)) == 2


def make_quoting_act(quote: str) -> str:
    sentence = {"quotes": [{"chunk": 1, "quote": quote}], "text": quote}
    return json.dumps({"answer": {"sentences": [sentence], "short_answer": "x"}})


@pytest.mark.parametrize(
    ("replies", "call"),
    [
        (["no", "neither"], {"requests": 2, "valid": False, "repaired": False, "used": False}),
        (["no", '{"answer": null}'], {"requests": 2, "valid": True, "repaired": True}),
        (
            # The model is asked once more, as nobody said so, and has no other answer.
            [make_quoting_act("Nobody said that, ever."), '{"answer": null}'],
            {"requests": 1, "valid": True, "named": 1, "found": 0},
        ),
    ],
)
def test_the_usage_reported_by_a_server_is_counted(
    workplace: Path, replies: list[str], call: dict[str, object]
) -> None:
    file = write_plan(workplace, READER | {"queries": "1"})
    with serve(*map(says, replies)) as server:
        at = ("-m", "openai:m", "--set", f"llm.base_url={server.base_url}")
        assert run_roles(workplace, file, *at, "--set", "llm.key_env=") == 0
        assert server.calls == len(replies)
    (entry,) = read_records(workplace)
    counted = entry["calls"][0]
    assert counted.items() >= call.items()
    assert bool(counted["failure"]) is not counted["valid"]
    assert counted["prompt_tokens"] > 0
    assert entry["overshoot"] is False


def test_the_plan_asks_every_role_that_a_question_has() -> None:
    read = read_plan(command.PLAN)
    assert {row.role for row in read.role} == set(ROLES) - {"questioner"}  # writes questions
    for row in read.role:
        messages = read.assignments(row, model="openai:m")
        assert f"roles.{row.role}=llm" in messages
        assert not any(
            "llm" in assignment for assignment in read.assignments(row) if "roles." in assignment
        )


def test_an_unknown_role_is_refused(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_plan(workplace, READER)
    assert run_roles(workplace, file, "poet") == UsageError.exit_code
    assert "there is no role 'poet'; there are reader" in capsys.readouterr().err
    file.write_text(file.read_text().replace("title", "titel"))
    assert run_roles(workplace, file) == UsageError.exit_code
    assert f"{file}: " in capsys.readouterr().err
