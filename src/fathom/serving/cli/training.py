"""The commands `fathom train`, which learn policies and weights from questions with answers."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.evaluate import list_inputs, load_datasets
from fathom.serving.cli.files import check_folder, check_outputs, choose_output
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    OfflineOption,
    SetOption,
    build_engine,
)
from fathom.serving.cli.progress import show_count, show_ingest_progress

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.outcomes import OutcomeFile
    from fathom.evaluation.planning import PlannerTable
    from fathom.planner.environment import RecordedQuestion
    from fathom.planner.ppo import Training, TrainingProgress
    from fathom.planner.train import OnUpdate, TrainingRun

train = typer.Typer(help="Learn from questions with answers.", no_args_is_help=True)
POLICY_FILE, WEIGHTS_FILE = Path("planner.json"), Path("weights.json")
"""The files that the commands write by default."""
DEFAULT_ALPHA = 0.1
DEFAULT_UPDATES = 150


@train.callback()
def _train() -> None:
    """Learn from questions with answers."""


@train.command()
def planner(
    datasets: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders in the BEIR layout, or files of questions about the index."),
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="The strategy whose planner learns: adaptive or mao.")
    ] = "adaptive",
    records: Annotated[
        Path | None,
        typer.Option(help="Keep outcomes here; outcomes in it are not recorded again."),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(min=1, help="Ask only a fixed sample of this size of each data set."),
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0, help="Weight of cost against an F1 of 1.")
    ] = DEFAULT_ALPHA,
    wrong: Annotated[float, typer.Option(min=0, help="Penalty of a wrong answer.")] = 0.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same policy.")] = 0,
    updates: Annotated[
        int, typer.Option(min=1, help="Rounds of sampling and learning.")
    ] = DEFAULT_UPDATES,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the policy here; by default planner.json, if there is none yet."),
    ] = None,
    curves: Annotated[
        Path | None, typer.Option(help="Write progress here, a line of JSON for each update.")
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(help="Write policies during the training into this folder.")
    ] = None,
    measure: Annotated[
        bool, typer.Option(help="Compare with fixed plans, a router, rules and hindsight.")
    ] = True,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Record the outcomes of all choices of a strategy's planner, and train its policy by PPO."""
    from fathom.evaluation.outcomes import OutcomeFile
    from fathom.evaluation.planning import cross_fit
    from fathom.planner.environment import Reward
    from fathom.planner.ppo import Training
    from fathom.planner.train import ALPHAS
    from fathom.planner.train import train_policy as learn

    file = _check_arguments(datasets, records, out, curves, checkpoints)
    outcomes = OutcomeFile(records, strategy)
    if datasets:
        with build_engine(index, assignments, offline=offline) as engine:
            _record_outcomes(engine, datasets, outcomes, queries)
    questions = _list_questions(outcomes, measured=measure)
    reward, training = Reward(alpha=alpha, wrong=wrong), Training(seed=seed, updates=updates)
    trained = learn(
        questions,
        reward,
        training,
        checkpoints=checkpoints,
        on_update=_make_update_callback(training),
    )
    file.write_text(trained.policy.to_json(), encoding="utf-8")
    if curves is not None:
        _write_curve(curves, trained.curve)
    # The comparison trains a policy on each fold of the questions, which takes a while.
    table = None
    if measure:
        alphas = sorted({*ALPHAS, alpha})
        table = cross_fit(questions, reward, training, alphas=alphas, on_progress=show_count)
    _show_policy(file, trained, table, as_json=as_json)


@train.command()
def weights(
    datasets: Annotated[
        list[Path],
        typer.Argument(help="Folders in the BEIR layout, or files of questions about the index."),
    ],
    queries: Annotated[
        int | None,
        typer.Option(min=1, help="Use only a fixed sample of this size of each data set."),
    ] = None,
    measure: Annotated[str, typer.Option(help="The measure of rankings to maximize.")] = "nDCG@10",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the weights here (.json); by default weights.json, if there is none yet."
        ),
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Learn the weights of `hybrid`'s branches from questions with their relevant documents."""
    from fathom.evaluation.branch_weights import LearnedWeights, check_measure, gather_lists
    from fathom.evaluation.harness import prepare_engine
    from fathom.serving.cli.output import show, show_json

    if out is not None and out.suffix != ".json":
        raise UsageError(f"--out {out}: hybrid.weights takes a file whose name ends in .json")
    check_measure(measure)
    file = choose_output(out, WEIGHTS_FILE, list_inputs(datasets))
    # Both branches must search, whatever weights are in use.
    chosen = [*(assignments or ()), "hybrid.weights=complexity"]
    lists = []
    with build_engine(index, chosen, offline=offline) as engine:
        for dataset in load_datasets(datasets, nullcontext(engine)):
            with prepare_engine(engine, dataset, show_ingest_progress(verbose=False)) as prepared:
                sample = dataset.sample(queries, judged=True)
                lists += gather_lists(prepared, dataset, sample, on_progress=show_count)
    learned = LearnedWeights.learn(lists, measure)
    file.write_text(learned.to_json(), encoding="utf-8")
    if as_json:
        pairs = {level: list(pair) for level, pair in learned.weights.items()}
        rows = learned.rows()
        show_json({"file": str(file), "weights": pairs, "rows": rows, "sentence": learned.verdict})
    else:
        use = f"{file}: `--set hybrid.weights={file}` uses them, or the same in fathom.toml"
        show(f"{learned.to_text()}\n{use}")


def _record_outcomes(
    engine: "Engine", paths: Sequence[Path], outcomes: "OutcomeFile", queries: int | None
) -> None:
    """Record the outcomes of data sets; one that the engine's index lacks gets its own index."""
    from fathom.evaluation.harness import prepare_engine
    from fathom.evaluation.outcomes import record_outcomes

    for dataset in load_datasets(paths, nullcontext(engine)):
        with prepare_engine(engine, dataset, show_ingest_progress(verbose=False)) as prepared:
            sample = dataset.sample(queries)
            record_outcomes(prepared, dataset, sample, outcomes, on_progress=show_count)


def _list_questions(outcomes: "OutcomeFile", *, measured: bool) -> "list[RecordedQuestion]":
    """Return the recorded questions.

    Raises:
        UsageError: If `measured`, and there are too few questions to measure a policy on.
    """
    from fathom.evaluation.planning import check_folds

    questions = outcomes.list_questions()
    # Checked before the training, so that a failed command writes no policy.
    if measured:
        check_folds(questions)
    return questions


def _show_policy(
    file: Path, trained: "TrainingRun", table: "PlannerTable | None", *, as_json: bool
) -> None:
    """Show a policy and, if it was measured, its comparison with other systems."""
    from fathom.serving.cli.output import show, show_json

    policy = trained.policy
    if as_json:
        rows, tests = (table.rows(), table.compare_with_baselines()) if table else ([], [])
        show_json({"policy": str(file), "origin": policy.origin, "rows": rows, "tests": tests})
    else:
        measured = f"{table.to_text()}\n" if table else ""
        use = f"`--set {policy.strategy}.policy={file}` uses it, or the same in fathom.toml"
        show(f"{measured}{file}: {use}")


def _write_curve(file: Path, curve: "Sequence[TrainingProgress]") -> None:
    """Write a line of JSON for each update of a training."""
    from fathom.jsonable import dump_canonical

    file.write_text("".join(dump_canonical(asdict(update)) + "\n" for update in curve), "utf-8")


def _check_arguments(
    datasets: list[Path] | None,
    records: Path | None,
    out: Path | None,
    curves: Path | None,
    checkpoints: Path | None,
) -> Path:
    """Check that there are questions or records and that all files can be written.

    Returns:
        The file of the policy.

    Raises:
        UsageError: If there are none, or a file cannot be written.
    """
    if not datasets and (records is None or not records.exists()):
        missing = f"{records}: no such file; " if records else ""
        raise UsageError(
            f"{missing}name data sets to record outcomes of, or a file of them with --records"
        )
    inputs = [*list_inputs(datasets or ()), records]
    file = choose_output(out, POLICY_FILE, inputs)
    check_outputs([curves], [*inputs, file])
    if checkpoints is not None:
        check_folder(checkpoints)
    return file


def _make_update_callback(training: "Training") -> "OnUpdate":
    """Return a callback that shows the progress of training if stderr is a terminal."""

    def show_update(at: "TrainingProgress") -> None:
        show_count(f"training, reward {at.earned:.3f}", at.update, training.updates)

    return show_update
