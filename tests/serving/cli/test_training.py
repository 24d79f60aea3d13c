"""`fathom train planner`: records, learns, says how good it is, and writes what `ask` can use."""

import json
from pathlib import Path

import pytest
from tests.planner.worlds import make_questions
from tests.serving.cli.test_app import Run, one_line, run
from tests.serving.cli.test_evaluate import QUESTION, toy

from fathom.evaluation.outcomes import OutcomeFile
from fathom.planner.policy import LearnedPolicy

__all__ = ["run", "toy"]


@pytest.fixture
def records(tmp_path: Path) -> str:
    file = OutcomeFile(tmp_path / "outcomes.jsonl")
    for each in make_questions(20):
        file.add(each)
    return str(file.file)


def test_questions_are_recorded_and_what_is_learned_of_them_can_be_asked(
    run: Run, toy: str, tmp_path: Path
) -> None:
    briefly = ("--updates", "5", "--no-measure", "--json")
    done = run("train", "planner", toy, "--records", "kept.jsonl", *briefly).json
    assert done["origin"]["data"] == {"toy": 2}
    assert (done["rows"], done["tests"]) == ([], [])
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 2
    policy = LearnedPolicy.from_json((tmp_path / "planner.json").read_text())
    assert policy.origin == done["origin"]
    assert run("ingest", f"{toy}/corpus.jsonl").code == 0
    settings = ("--strategy", "adaptive", "--set", "adaptive.policy=planner.json")
    assert run("ask", QUESTION, *settings).code in {0, 3}
    # What was recorded is enough to learn from, without the questions.
    again = run("train", "planner", "--records", "kept.jsonl", *briefly).json
    assert again["origin"] == done["origin"]


def test_the_same_seed_writes_the_same_bytes(run: Run, records: str, tmp_path: Path) -> None:
    given = ("train", "planner", "--records", records, "--updates", "5", "--no-measure")
    for name, seed in (("a.json", "1"), ("b.json", "1"), ("c.json", "2")):
        assert run(*given, "--out", name, "--seed", seed).code == 0
    first, second, third = ((tmp_path / f"{name}.json").read_bytes() for name in "abc")
    assert first == second != third


def test_curves_and_checkpoints_are_kept(run: Run, records: str, tmp_path: Path) -> None:
    given = ("--curves", "curve.jsonl", "--checkpoints", "way", "--no-measure")
    assert run("train", "planner", "--records", records, *given).code == 0
    curve = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert [each["update"] for each in curve] == list(range(1, len(curve) + 1))
    assert curve[-1]["earned"] > curve[0]["earned"]
    assert (tmp_path / "way").exists()
    assert sorted(file.name for file in (tmp_path / "way").iterdir())[0] == "policy-00050.json"


def test_it_says_what_the_policy_is_against_what_learns_nothing(run: Run, records: str) -> None:
    done = run("train", "planner", "--records", records, "--updates", "5")
    for system in ("best fixed sequence", "router by data set", "rules", "hindsight"):
        assert system in done.out
    for alpha in ("0", "0.05", "0.1", "0.2", "0.3"):
        assert f"PPO, alpha {alpha}" in done.out
    assert "adaptive.policy=planner.json" in done.out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((), "name questions to record outcomes of, or --records that hold some"),
        (("--records", "none.jsonl"), "name questions"),
        (("--records", "{records}", "--out", "no/where.json"), "cannot be written"),
    ],
)
def test_what_is_lacking_is_said_before_the_work(
    run: Run, records: str, given: tuple[str, ...], told: str
) -> None:
    done = run("train", "planner", *(each.format(records=records) for each in given))
    one_line(done, code=2)
    assert told in done.err
