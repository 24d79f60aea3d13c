"""The command `fathom eval`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.errors import UsageError
from fathom.registry import PAPERS
from fathom.serving.cli.files import check_folder, check_outputs
from fathom.serving.cli.options import (
    RETRIEVER_NAMES,
    STRATEGY_NAMES,
    CallsOption,
    CostOption,
    DeadlineOption,
    EffortOption,
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    QueriesOption,
    RecordsOption,
    SetOption,
    TokensOption,
    build_engine,
    collect_run_flags,
    note_warnings,
)
from fathom.serving.cli.progress import show_count, show_ingest_progress
from fathom.serving.invisible import replace_controls

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.breakdown import Field
    from fathom.evaluation.datasets import Dataset
    from fathom.evaluation.gate import Baseline
    from fathom.evaluation.harness import Evaluation, Systems

QUALITY_FELL = 7
"""The exit code if quality fell below the baseline."""
ALL_FAILED = 5
"""The exit code if every question failed."""


def evaluate(
    datasets: Annotated[
        list[Path],
        typer.Argument(help="Folders in the BEIR layout, or files of questions about the index."),
    ],
    retriever: Annotated[
        str | None,
        typer.Option(help=f"Retrievers to measure, comma-separated: {RETRIEVER_NAMES}."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help=f"Strategies to measure, comma-separated: {STRATEGY_NAMES}."),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(
            help=f"Systems of papers to measure too, comma-separated: {', '.join(PAPERS)}."
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Two strategies, or two retrievers of --retriever, to compare by a test."
        ),
    ] = None,
    queries: QueriesOption = None,
    records: RecordsOption = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Run with each value of a setting, a.b=1,2,3; may be repeated."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Split the tables: phase, kind (of question), or phase,kind."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Judges of answers: correctness, conciseness, no-hallucination, similarity."
        ),
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(help="Language model of the judges, PROVIDER:MODEL.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labels to compare the judges with, JSON lines.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a report with plots here; the web page shows it too.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables here.")] = None,
    gate: Annotated[
        Path | None, typer.Option(help="Exit with 7 if quality fell below this baseline.")
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Write a baseline for --gate here.")
    ] = None,
    index: IndexOption = None,
    llm: LlmOption = None,
    effort: EffortOption = None,
    max_tokens: TokensOption = None,
    max_calls: CallsOption = None,
    max_cost: CostOption = None,
    deadline: DeadlineOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Measure retrieval and answers; a data set that --index does not hold gets its own index."""
    from fathom.evaluation.breakdown import parse_fields
    from fathom.evaluation.gate import compare_with_baseline
    from fathom.evaluation.grading import Panel
    from fathom.evaluation.harness import Evaluation
    from fathom.evaluation.harness import evaluate as measure
    from fathom.serving.cli.output import show, show_json

    runs = list_runs(
        split_names(retriever), split_names(strategy), compare, split_names(paper), vary or ()
    )
    answering = [name for chosen, _ in runs for name in chosen.strategies]
    Panel(names=split_names(judge), model=judge_model, labels=labels).check(answering)
    reports = ReportFiles(
        html=html, markdown=markdown, gate=gate, baseline=save_baseline, records=records
    )
    baseline = reports.check([*list_inputs(datasets), labels])
    fields = parse_fields(split_names(by))
    open_engine = partial(
        open_variant,
        index,
        assignments,
        offline=offline,
        flags=collect_run_flags(llm, effort, max_tokens, max_calls, max_cost, deadline),
    )
    check_variants(open_engine, [varied for _, varied in runs])
    planned_runs = plan_runs(load_datasets(datasets, open_engine({})), runs, queries, baseline)
    evaluations = []
    # Each variant has its own engine, because the settings of an engine never change.
    for dataset, (chosen, varied) in planned_runs:
        with open_engine(varied) as engine:
            evaluated = measure(
                engine,
                dataset,
                retrievers=chosen.retrievers,
                strategies=chosen.strategies,
                compare=chosen.compared,
                queries=queries,
                judges=split_names(judge),
                judge_model=judge_model,
                labels=labels,
                records=records,
                varied=varied,
                ingesting=show_ingest_progress(verbose=False),
                on_progress=show_count,
            )
            directory = engine.directory
        note_warnings(evaluated.warnings)
        evaluations.append(evaluated)
    evaluation = Evaluation.combine(evaluations)
    if baseline:
        evaluation = replace(evaluation, verdict=compare_with_baseline(baseline, evaluation.groups))
    reports.write(evaluation, fields, directory)
    if as_json:
        show_json(evaluation.to_dict(fields))
    else:
        show(evaluation.to_text(fields))
    return choose_exit_code(evaluation)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """The files of an evaluation; `None` for a file that was not requested.

    Attributes:
        html: The report with plots.
        markdown: The tables.
        gate: The baseline to compare the run with.
        baseline: The new baseline.
        records: The folder of the records, one for each question.
    """

    html: Path | None = None
    markdown: Path | None = None
    gate: Path | None = None
    baseline: Path | None = None
    records: Path | None = None

    def check(self, inputs: Iterable[Path | None]) -> "Baseline | None":
        """Check that all files can be written or read, before the run, which may take hours.

        Args:
            inputs: The files that the command reads besides; no report may replace one.

        Returns:
            The baseline of the gate; `None` without a gate.

        Raises:
            UsageError: If a file cannot be written or would replace another one, plots cannot be
                drawn, or the file of the gate is not a baseline.
        """
        # A new baseline may take the place of the one that the gate has read.
        gate = None if self.gate == self.baseline else self.gate
        check_outputs((self.html, self.markdown, self.baseline), [*inputs, gate])
        if self.records is not None:
            check_folder(self.records)
        if self.html is not None:
            from fathom.evaluation.report.render import check_html

            check_html()
        if self.gate is None:
            return None
        from fathom.evaluation.gate import Baseline

        return Baseline.load(self.gate)

    def write(self, evaluation: "Evaluation", by: "Sequence[Field]", directory: Path) -> None:
        """Write all files; a report with plots is also stored with the index in `directory`."""
        if self.html is not None:
            from fathom.evaluation.report.build import build_full_report
            from fathom.evaluation.report.render import render_html
            from fathom.evaluation.report.storage import save_report

            report = build_full_report(evaluation)
            self.html.write_text(replace_controls(render_html(report)), encoding="utf-8")
            # The web page lists the reports in this folder, which an index on a server may lack.
            if directory.is_dir():
                save_report(report, directory)
        if self.markdown is not None:
            self.markdown.write_text(
                replace_controls(evaluation.to_markdown(by)) + "\n", encoding="utf-8"
            )
        if self.baseline is not None:
            from fathom.evaluation.gate import Baseline

            Baseline.of(evaluation.groups).save(self.baseline)


def choose_exit_code(evaluation: "Evaluation") -> int:
    """Return the exit code of an evaluation."""
    if evaluation.all_failed:
        return ALL_FAILED
    return QUALITY_FELL if evaluation.verdict is not None and evaluation.verdict.regressions else 0


def list_inputs(paths: Sequence[Path]) -> list[Path]:
    """Return the files and folders that are read of data sets and of files of questions."""
    from fathom.evaluation.datasets import list_places

    return [place for path in paths for place in list_places(path)]


def load_datasets(
    paths: Sequence[Path], opening: AbstractContextManager["Engine"]
) -> "list[Dataset]":
    """Load data sets from folders and from files of questions.

    Args:
        paths: The folders and files.
        opening: A context that yields the engine whose index the files of questions are about.

    Raises:
        UsageError: If a data set is malformed, or two have the same name.
        IndexMissing: If there is a file of questions but no index.
    """
    from fathom.evaluation.harness import open_dataset

    by_name: dict[str, Dataset] = {}
    with opening as engine:
        datasets = [open_dataset(path, engine) for path in paths]
    for path, dataset in zip(paths, datasets, strict=True):
        # Tables and records identify data sets by name only.
        if dataset.name in by_name:
            raise UsageError(f"{path}: two data sets are called {dataset.name}; rename one")
        by_name[dataset.name] = dataset
    return list(by_name.values())


def open_variant(
    index: str | None,
    assignments: Sequence[str] | None,
    varied: Mapping[str, str],
    *,
    offline: bool,
    flags: Mapping[str, Any],
) -> AbstractContextManager["Engine"]:
    """Open an engine as `build_engine` does, with the settings of a variant."""
    assigned = [*(assignments or ()), *(f"{key}={value}" for key, value in varied.items())]
    return build_engine(index, assigned, offline=offline, flags=flags)


def check_variants(
    open_engine: "Callable[[Mapping[str, str]], AbstractContextManager[Engine]]",
    variants: Sequence[Mapping[str, str]],
) -> None:
    """Check that an engine can be built with each variant, before the run, which may take hours.

    Raises:
        SettingsError: For an unknown key or an illegal value.
    """
    for varied in variants:
        with open_engine(varied):
            pass


def plan_runs(
    datasets: "Sequence[Dataset]",
    runs: "Sequence[tuple[Systems, dict[str, str]]]",
    queries: int | None,
    baseline: "Baseline | None",
) -> "list[tuple[Dataset, tuple[Systems, dict[str, str]]]]":
    """Return all pairs of a data set and a run, and check that their questions can be asked.

    Args:
        datasets: The data sets.
        runs: The systems of each run, with the varied settings.
        queries: The size of the sample of questions; by default all.
        baseline: The baseline of the gate; `None` without a gate.

    Raises:
        UsageError: If a ranking has no judged questions, or the baseline asked other questions.
    """
    from fathom.evaluation.gate import check_questions

    planned_runs = list(product(datasets, runs))
    plan = [
        records
        for dataset, (systems, varied) in planned_runs
        for records in systems.plan_records(dataset, queries=queries, varied=varied)
    ]
    if baseline is not None:
        check_questions(baseline, plan)
    return planned_runs


def expand_variants(vary: Sequence[str]) -> list[dict[str, str]]:
    """Return all combinations with one value for each setting; without settings, one empty one.

    Args:
        vary: Texts such as `a.b=1,2,3`.

    Raises:
        UsageError: If a text does not have this form, or a setting comes twice.
    """
    keys, choices = [], []
    for assignment in vary:
        key, _, values = assignment.partition("=")
        if not key.strip() or not split_names(values):
            raise UsageError(f"--vary {assignment!r}: expected a setting and its values, a.b=1,2,3")
        if key.strip() in keys:
            raise UsageError(f"{key.strip()} is varied twice: name all its values at once, a.b=1,2")
        keys.append(key.strip())
        choices.append(list(dict.fromkeys(split_names(values))))
    return [dict(zip(keys, combination, strict=True)) for combination in product(*choices)]


def list_runs(
    retrievers: Sequence[str],
    strategies: Sequence[str],
    compared: tuple[str, str] | None,
    papers: Sequence[str],
    vary: Sequence[str],
) -> "list[tuple[Systems, dict[str, str]]]":
    """Return the systems of each run, with the settings that vary.

    Args:
        retrievers: The names of retrievers; the default one if nothing else is named.
        strategies: The names of strategies.
        compared: Two names to compare by a test.
        papers: Papers whose systems are measured too.
        vary: Texts such as `a.b=1,2,3`.

    Raises:
        UsageError: If a system does not exist, or a text of `vary` is malformed.
    """
    from fathom.evaluation.harness import Systems

    systems = Systems.of(retrievers, strategies, compared)
    systems.check()
    if unknown := sorted({*papers} - {*PAPERS}):
        raise UsageError(f"there is no paper {unknown[0]!r}; there are {', '.join(PAPERS)}")
    is_named = bool(retrievers or strategies or compared or not papers)
    runs = []
    for varied in expand_variants(vary):
        runs += [(systems, varied)] if is_named else []
        runs += [(Systems.of([], [name]), {**varied, "ask.paper": name}) for name in papers]
    return runs


def split_names(listed: str | None) -> list[str]:
    """Split a comma-separated list of names."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]
