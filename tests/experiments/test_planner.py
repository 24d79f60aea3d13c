"""The experiment on the planner of `mao`, from records to the page."""

from dataclasses import replace
from pathlib import Path

import pytest
from experiments.planner import (
    ARMS,
    CLEAN,
    DEVELOPMENT,
    PAGE,
    PUBLISHED,
    TITLES,
    Measured,
    compose_page,
    format_systems,
    locate_records,
    measure_arm,
    publish,
    read_published,
)
from tests.planner.test_process import make_plan_questions

from fathom.evaluation.outcomes import OutcomeFile
from fathom.evaluation.planning import RULES, PlannerTable, SystemRun
from fathom.planner.environment import Environment, Reward
from fathom.planner.ppo import Training

QUICK = Training(updates=2, episodes=64)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    for arm in ARMS:
        file = OutcomeFile(locate_records(tmp_path, arm), "mao")
        for number, question in enumerate(make_plan_questions(30)):
            name = (DEVELOPMENT if number < 20 else CLEAN)[number % 2]
            file.add(replace(question, dataset=name, setup="of this machine"))
    publish(tmp_path, tmp_path / "workflows.jsonl.gz")
    return tmp_path / "workflows.jsonl.gz"


def test_outcomes_are_published_whole_and_without_what_depends_on_the_machine(
    published: Path,
) -> None:
    questions = read_published(published, "default", (*DEVELOPMENT, *CLEAN))
    recorded = make_plan_questions(30)
    assert [question.outcomes for question in questions] == [item.outcomes for item in recorded]
    assert {question.setup for question in questions} == {"default"}
    assert all(item.dataset in CLEAN for item in read_published(published, "default", CLEAN))


def test_the_page_measures_every_system_on_held_out_and_on_clean_questions(
    published: Path,
) -> None:
    measured = [item for arm in ARMS for item in measure_arm(published, arm, QUICK, (0.0, 0.1))]
    page = compose_page(measured)
    for title in TITLES.values():
        assert f"## {title}: held out questions\n\n20 questions" in page
        assert f"## {title}: clean questions\n\n10 questions" in page
    for system in ("R,AG", "best fixed sequence", "router by data set", "rules", "PPO"):
        assert page.count(f"\n| 0.1 | {system} |") >= 4
    assert "| 0.1 | rules | " in page


def test_the_published_page_is_that_of_the_published_outcomes() -> None:
    learning = read_published(PUBLISHED, "one search", DEVELOPMENT)
    world = Environment.from_questions(learning, Reward(alpha=0.1))
    rules = SystemRun.of(RULES, world.follow(world.choose_by(world.process.choose_by_rules)))
    oracle = SystemRun.of("hindsight", world.follow(world.choose_in_hindsight()))
    table = PlannerTable(reward=world.reward, systems=(rules, oracle))
    item = Measured(arm="one search", questions="held out", alpha=0.1, table=table)
    _, _, line, _ = format_systems([item])
    page = PAGE.read_text(encoding="utf-8")
    # The order of the questions, on which the intervals depend, is that of the folds.
    name_and_means = [cell.split(" [")[0] for cell in line.split(" | ")]
    rows = [[cell.split(" [")[0] for cell in row.split(" | ")] for row in page.splitlines()]
    assert name_and_means in rows
