"""The shipped policy of the planner: records outcomes, trains, writes the policy.

    nice python -m training.fit_planner --data DATA --indexes DIR --records FILE [--each 60]

`--indexes` holds one index for each data set, under its name. Recording goes on where it was
stopped; training takes a minute. Learned from are questions of even number (see `chosen.toml`);
with --reported the odd ones, and sets that nothing is fitted on, are recorded and reported on too.
"""

import argparse
import subprocess
from pathlib import Path

from training.cross_reader.rows import hash_to_number

from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, DatasetQuestion, load
from fathom.evaluation.outcomes import DEPTH, OutcomeFile, record_outcomes
from fathom.evaluation.planning import PlannerTable, cross_fit, run_systems
from fathom.planner.environment import RecordedQuestion, Reward
from fathom.planner.policy import SHIPPED_POLICY
from fathom.planner.ppo import Training
from fathom.planner.train import train_policy

FITTED = (
    "hotpotqa-200",
    "musique-300",
    "squad-retrieval",
    "facqa-id",
    "idk-mrc-retrieval",
    "ramdocs",
)
REPORTED = ("squad-fresh", "covid-qa")
"""Nothing is fitted on these; the odd questions of the others are reported on too."""


def select_half(dataset: Dataset, *, rest: int) -> list[DatasetQuestion]:
    """Return the questions whose number leaves this rest by two, in the order of a sample."""
    return [question for question in dataset.sample() if hash_to_number(question.id) % 2 == rest]


def record_all(
    arguments: argparse.Namespace,
) -> tuple[list[RecordedQuestion], list[RecordedQuestion]]:
    """Return the outcomes to learn from, and with --reported those to report on."""
    file = OutcomeFile(arguments.records)
    recordings: tuple[list[RecordedQuestion], list[RecordedQuestion]] = ([], [])
    for name in (*FITTED, *REPORTED) if arguments.reported else FITTED:
        dataset = load(arguments.data / name)
        with Engine.open(arguments.indexes / name) as engine:
            for rest in (0, 1) if arguments.reported else (0,):
                questions = select_half(dataset, rest=rest)[: arguments.each]
                recording = record_outcomes(
                    engine,
                    dataset,
                    questions,
                    file,
                    most=arguments.most,
                    on_progress=_report_progress,
                )
                recordings[rest == 1 or name in REPORTED].extend(recording)
    return recordings


def _report_progress(what: str, done: int, of: int) -> None:
    if done % 10 == 0 or done == of:
        print(f"{what}: {done} of {of}", flush=True)


def read_commit() -> str:
    """Return the commit of the code that recorded and trained."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--each", type=int, default=60, help="questions of each set and half")
    parser.add_argument("--most", type=int, default=DEPTH, help="executors in a row")
    parser.add_argument("--reported", action="store_true", help="record what is reported on too")
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--out", type=Path, default=SHIPPED_POLICY)
    arguments = parser.parse_args()
    for_training, reported = record_all(arguments)
    reward, training = Reward(alpha=arguments.alpha, wrong=arguments.wrong), Training()
    print(f"{len(for_training)} questions, each by what the others taught:")
    print(cross_fit(for_training, reward, training).to_text())
    if reported:
        print(f"\n{len(reported)} others, by what all of the former taught:")
        systems = tuple(run_systems(for_training, reported, reward, training))
        print(PlannerTable(reward=reward, systems=systems).to_text())
    origin = {"commit": read_commit(), "questions": "even numbers; see training/fit_planner.py"}
    policy = train_policy(for_training, reward, training, origin=origin).policy
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(policy.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
