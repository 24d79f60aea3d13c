"""The planner of `mao`, trained by PPO over the paper's workflows: python -m experiments.planner.

Without options, everything is trained on the published outcomes (`results/workflows.jsonl.gz`, no
texts) and the page `results/planner.md` is written. No index, model or data set is needed.

    python -m experiments.planner --record --data DATA --indexes DIR --records FOLDER
    python -m experiments.planner --publish --records FOLDER
    python -m experiments.planner --ship

The first asks every workflow of each question of the development sets and of the two clean sets,
and goes on where it was stopped; the second publishes what was recorded; the third trains the
shipped policy.

Measured is on questions that nothing was learned or chosen on: five folds of the development sets
(questions that share documents are in the same fold), and the clean sets.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from fathom.config import Layers
from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.evaluation.outcomes import OutcomeFile, record_outcomes
from fathom.evaluation.planning import (
    BEST,
    ORACLE,
    ROUTER,
    RULES,
    PlannerTable,
    SystemRun,
    cross_fit,
    deal_folds,
    name_ppo,
    run_systems,
)
from fathom.evaluation.statistics import bca_interval, holm, randomisation_p
from fathom.jsonable import dump_canonical
from fathom.planner.environment import Environment, RecordedOutcome, RecordedQuestion, Reward
from fathom.planner.ppo import Learner, Training
from fathom.planner.train import ALPHAS, train_policy
from fathom.planner.workflows import SHIPPED_WORKFLOWS

HERE = Path(__file__).parent
PUBLISHED = HERE / "results" / "workflows.jsonl.gz"
PAGE = HERE / "results" / "planner.md"
DEVELOPMENT = (
    "hotpotqa-200",
    "musique-300",
    "facqa-id",
    "ramdocs",
    "squad-retrieval",
    "idk-mrc-retrieval",
)
CLEAN = ("squad-fresh", "2wiki-fresh")
QUERIES = {**dict.fromkeys(DEVELOPMENT, 150), **dict.fromkeys(CLEAN, 100)}
ARMS: Mapping[str, tuple[str, ...]] = {
    "one search": ("mao.coverage_threshold=0",),
    "default": (),
}
"""The settings of each arm."""
TITLES = {
    "one search": "R is one search, as in the paper",
    "default": "The default settings: R follows bridges",
}
SHIPPED_ARM, SHIPPED_ALPHA = "one search", 0.1
"""The arm and the weight of cost that the shipped policy learns from; the paper's, as `--paper mao`
uses it."""
BLIND = (BEST, ROUTER, RULES)
READING = "PPO, workflows that read"


def record_all(data: Path, indexes: Path, folder: Path) -> None:
    """Record the outcomes of all data sets with the settings of each arm."""
    folder.mkdir(parents=True, exist_ok=True)
    for names in (DEVELOPMENT, CLEAN):
        for arm, assignments in ARMS.items():
            file = OutcomeFile(locate_records(folder, arm), "mao")
            for name in names:
                dataset = load(data / name)
                layers = Layers.load(
                    cwd=folder, environment={}, assignments=assignments, constants=True
                )
                with Engine.open(indexes / name, layers.build_settings()) as engine:
                    sample = dataset.sample(QUERIES[name])
                    record_outcomes(engine, dataset, sample, file, on_progress=report_progress)


def report_progress(what: str, done: int, of: int) -> None:
    """Print every tenth step."""
    if done % 10 == 0 or done == of:
        print(f"{what}: {done} of {of}", flush=True)


def locate_records(folder: Path, arm: str) -> Path:
    """Return the file of an arm's records."""
    return folder / f"{arm.replace(' ', '-')}.jsonl"


def publish(folder: Path, file: Path) -> None:
    """Write the outcomes of all arms, each with the name of its arm in place of its setup."""
    with (
        file.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=0) as packed,
    ):
        for arm in ARMS:
            for question in OutcomeFile(locate_records(folder, arm), "mao").list_questions():
                packed.write((dump_canonical(shorten(question, arm)) + "\n").encode())


def shorten(question: RecordedQuestion, arm: str) -> dict[str, Any]:
    """Return the question as a JSON object, without what is at its default, and without seconds."""
    plain = RecordedOutcome(tried=(), features={}, f1=0.0, wrong=False)
    kept = {"tried", "features", "f1", "wrong"}
    fields = replace(question, setup=arm).to_json()
    fields["outcomes"] = [
        {
            name: value
            for name, value in outcome.items()
            if name in kept or (name != "seconds" and value != getattr(plain, name))
        }
        for outcome in fields["outcomes"]
    ]
    return fields


def read_published(file: Path, arm: str, sets: Sequence[str]) -> list[RecordedQuestion]:
    """Return the published outcomes of an arm on some data sets."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        questions = [RecordedQuestion.from_json(json.loads(line)) for line in lines]
    return [item for item in questions if item.setup == arm and item.dataset in sets]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All systems on the same questions, at one weight of cost."""

    arm: str
    questions: str
    alpha: float
    table: PlannerTable

    @property
    def ppo(self) -> str:
        """The name of PPO at this weight."""
        return name_ppo(self.alpha)


def measure_arm(
    file: Path, arm: str, training: Training, alphas: Sequence[float]
) -> Iterator[Measured]:
    """Yield every system at every weight of cost, on held-out and on clean questions."""
    learning = read_published(file, arm, DEVELOPMENT)
    clean = read_published(file, arm, CLEAN)
    for alpha in alphas:
        reward = Reward(alpha=alpha)
        table = cross_fit(learning, reward, training, alphas=(alpha,))
        folds = deal_folds(learning)
        first, *rest = (
            run_reading(
                [item for fold in folds if fold is not asked for item in fold],
                asked,
                reward,
                training,
            )
            for asked in folds
        )
        table = replace(table, systems=(*table.systems, first.join(rest)))
        yield Measured(arm=arm, questions="held out", alpha=alpha, table=table)
        systems = (
            *run_systems(learning, clean, reward, training, alphas=(alpha,)),
            run_reading(learning, clean, reward, training),
        )
        table = PlannerTable(reward=reward, systems=systems)
        yield Measured(arm=arm, questions="clean", alpha=alpha, table=table)


def run_reading(
    learning: Sequence[RecordedQuestion],
    asked: Sequence[RecordedQuestion],
    reward: Reward,
    training: Training,
) -> SystemRun:
    """Return the run of PPO that learns and chooses among the workflows that read something."""
    learner = Learner.from_environment(keep_reading(learning, reward), training)
    for _ in learner.learn():
        pass
    world = keep_reading(asked, reward)
    return SystemRun.of(READING, world.follow(learner.choose_actions(world)))


def keep_reading(questions: Sequence[RecordedQuestion], reward: Reward) -> Environment:
    """Return the environment in which workflows without R, which never answer, are not legal."""
    world = Environment.from_questions(questions, reward)
    reads = [name in {"QDS", "QDP"} or "R" in name.split(",") for name in world.actions]
    return replace(world, legal=world.legal & np.array(reads))


def format_systems(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of a table: a line for each system at each weight of cost."""
    yield (
        "| alpha | system | F1 | right - wrong | abstained | cost | searches | reward | regret "
        "| entropy |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for item in measured:
        for row in item.table.rows():
            name = "PPO" if row["system"] == item.ppo else row["system"]
            means, intervals = row["measures"], row["intervals"]
            cells = [
                f"{item.alpha:g}",
                name,
                format_mean(means["F1"], intervals["F1"]),
                f"{means['CRAG-truthfulness']:.3f}",
                f"{means['abstained']:.3f}",
                f"{means['cost']:.2f}",
                f"{means['retrievals']:.1f}",
                format_mean(means["reward"], intervals["reward"]),
                format_mean(means["regret"], intervals["regret"]),
                f"{means['entropy']:.2f}",
            ]
            yield f"| {' | '.join(cells)} |"


def format_mean(mean: float, interval: Sequence[float]) -> str:
    """Return a mean with its interval."""
    return f"{mean:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def format_tests(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of a table: PPO against the systems that did not learn from questions."""
    yield "| alpha | system | against | F1 | reward | p of the reward, by Holm |"
    yield "|---|---|---|---|---|---|"
    for item, system in ((one, name) for one in measured for name in (one.ppo, READING)):
        ppo = item.table.find_system(system)
        others = [item.table.find_system(name) for name in BLIND]
        differences = [
            [mine - theirs for mine, theirs in zip(ppo.earned, other.earned, strict=True)]
            for other in others
        ]
        corrected = holm([randomisation_p(values) for values in differences])
        for other, rewards, p in zip(others, differences, corrected, strict=True):
            gains = [
                mine - theirs
                for mine, theirs in zip(ppo.values("F1"), other.values("F1"), strict=True)
            ]
            shown = "PPO" if system == item.ppo else system
            cells = [f"{item.alpha:g}", shown, other.name, format_gain(gains), format_gain(rewards)]
            yield f"| {' | '.join(cells)} | {'< 0.001' if p < 0.001 else f'{p:.3f}'} |"


def format_gain(values: Sequence[float]) -> str:
    """Return the mean of paired differences with its bootstrap interval."""
    low, high = bca_interval(values)
    return f"{fmean(values):+.3f} [{low:+.3f}, {high:+.3f}]"


def format_choices(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of a table: the workflows that PPO chose on each data set."""
    yield "| alpha | data set | questions | bits | chosen by PPO | best in hindsight |"
    yield "|---|---|---|---|---|---|"
    for item in measured:
        ppo, oracle = item.table.find_system(item.ppo), item.table.find_system(ORACLE)
        for dataset in dict.fromkeys(question.dataset for question in ppo.questions):
            mine, best = select_dataset(ppo, dataset), select_dataset(oracle, dataset)
            cells = [
                f"{item.alpha:g}",
                dataset,
                str(len(mine.questions)),
                f"{mine.entropy:.2f}",
                list_common(mine),
                list_common(best),
            ]
            yield f"| {' | '.join(cells)} |"


def select_dataset(run: SystemRun, dataset: str) -> SystemRun:
    """Return the part of a run on one data set."""
    places = [at for at, question in enumerate(run.questions) if question.dataset == dataset]
    return replace(
        run,
        questions=tuple(run.questions[at] for at in places),
        outcomes=tuple(run.outcomes[at] for at in places),
        sequences=tuple(run.sequences[at] for at in places),
        earned=tuple(run.earned[at] for at in places),
    )


def list_common(run: SystemRun, most: int = 3) -> str:
    """Return the workflows that were chosen most, with their counts."""
    names = [sequence[0] for sequence in run.sequences]
    counts = sorted({name: names.count(name) for name in names}.items(), key=lambda at: -at[1])
    shown = [f"{name} ({count})" for name, count in counts[:most]]
    rest = len(counts) - len(shown)
    return "; ".join([*shown, *([f"{rest} more"] if rest else [])])


def compose_page(measured: Sequence[Measured]) -> str:
    """Return the page."""
    lines = [
        "# The planner of mao, trained by PPO",
        "",
        "Made by `python -m experiments.planner` from "
        "[workflows.jsonl.gz](workflows.jsonl.gz); do not edit.",
        "",
        "Every legal workflow of MAO-ARAG (18 for the question, 5 for each sub-question) was asked "
        "on every question with the local reader, and PPO learned from these outcomes with the "
        "paper's reward: F1 - alpha x (tokens / 1000 + 0.25 a search + 0.25 a parallel split or "
        "serial sub-question). The best fixed workflow and the router, which knows the data set, "
        "are chosen for the same reward on the same questions as PPO learned from. No language "
        "model is asked, so tokens cost nothing. R pays for its search also where it takes the "
        "hits of the first look; the look itself costs nothing. Entropy is that of the question's "
        "workflow inside a data set, in bits; 4.17 is the most. A workflow without R has nothing "
        "to read, so it never answers: *PPO, workflows that read* learns and chooses without "
        "these. Intervals are 95 % bootstrap (BCa).",
    ]
    for arm in ARMS:
        for kind in ("held out", "clean"):
            part = [item for item in measured if (item.arm, item.questions) == (arm, kind)]
            if not part:
                continue
            counts = count_questions(part[0])
            lines += ["", f"## {TITLES[arm]}: {kind} questions", "", counts, ""]
            lines += [*format_systems(part), "", *format_tests(part), "", *format_choices(part)]
    return "\n".join(lines) + "\n"


def count_questions(item: Measured) -> str:
    """Return a sentence that counts the questions of each data set."""
    names = [question.dataset for question in item.table.systems[0].questions]
    counts = ", ".join(f"{name} {names.count(name)}" for name in dict.fromkeys(names))
    where = (
        "each by what the other folds taught"
        if item.questions == "held out"
        else (
            "by what all development questions taught; nothing was learned from or chosen on these"
        )
    )
    return f"{len(names)} questions ({counts}), {where}."


def ship(training: Training) -> None:
    """Train the shipped policy on all published development questions, and write it."""
    questions = read_published(PUBLISHED, SHIPPED_ARM, DEVELOPMENT)
    origin = {"command": "python -m experiments.planner --ship", "settings": TITLES[SHIPPED_ARM]}
    trained = train_policy(questions, Reward(alpha=SHIPPED_ALPHA), training, origin=origin)
    SHIPPED_WORKFLOWS.write_text(trained.policy.to_json(), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="ask all workflows")
    parser.add_argument("--publish", action="store_true", help="publish what was recorded")
    parser.add_argument("--ship", action="store_true", help="train the shipped policy")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--indexes", type=Path, help="an index of each data set")
    parser.add_argument("--records", type=Path, help="folder of the records")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    training = Training(seed=arguments.seed)
    if arguments.record:
        record_all(arguments.data, arguments.indexes, arguments.records)
    elif arguments.publish:
        publish(arguments.records, PUBLISHED)
    elif arguments.ship:
        ship(training)
    else:
        measured = [item for arm in ARMS for item in measure_arm(PUBLISHED, arm, training, ALPHAS)]
        PAGE.write_text(compose_page(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
