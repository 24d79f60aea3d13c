"""`fathom eval`: how good retrievers and strategies are on data sets with judgements."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.files import check_folder, check_writable
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
    SetOption,
    TokensOption,
    build_engine,
    run_flags,
)
from fathom.serving.cli.progress import ingest_progress, show_count
from fathom.serving.cli.terminal import plain

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.breakdown import Field
    from fathom.evaluation.datasets import Dataset
    from fathom.evaluation.gate import Baseline
    from fathom.evaluation.harness import Evaluation

FELL = 7
"""The exit code where quality fell below the baseline."""
ALL_FAILED = 5


def evaluate(
    datasets: Annotated[
        list[Path],
        typer.Argument(help="Folders in the BEIR layout, or files of questions about the index."),
    ],
    retriever: Annotated[
        str | None, typer.Option(help=f"What is measured, by commas: {RETRIEVER_NAMES}.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help=f"What answers the questions, by commas: {STRATEGY_NAMES}.")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two strategies, or two of --retriever, tested against each other."),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(min=1, help="Only so many: a sample, the same every time."),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="Keep a record per question here; a later run goes on after them."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Ask with each value of a setting, a.b=1,2,3; may be repeated."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Show systems by phase, by kind of question, or phase,kind.")
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
        Path | None, typer.Option(help="Labels to hold the judges against, JSON lines.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a report with plots here; the page shows it too.")
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
    from fathom.evaluation.harness import Evaluation, Systems
    from fathom.evaluation.harness import evaluate as measure
    from fathom.serving.cli.output import show, show_json

    systems = Systems.of(names_of(retriever), names_of(strategy), compare)
    systems.check()
    Panel(names=names_of(judge), model=judge_model, labels=labels).check(systems.strategies)
    reports = Reports(
        html=html, markdown=markdown, gate=gate, baseline=save_baseline, records=records
    )
    baseline = reports.check()
    shown_by = parse_fields(names_of(by))
    flags = run_flags(llm, effort, max_tokens, max_calls, max_cost, deadline)
    parts = []
    named = loaded(datasets, build_engine(index, assignments, offline=offline, flags=flags))
    for dataset, varied in product(named, variants(vary or ())):
        given = [*(assignments or ()), *(f"{key}={value}" for key, value in varied.items())]
        with build_engine(index, given, offline=offline, flags=flags) as engine:
            part = measure(
                engine,
                dataset,
                retrievers=systems.retrievers,
                strategies=systems.strategies,
                compare=compare,
                queries=queries,
                judges=names_of(judge),
                judge_model=judge_model,
                labels=labels,
                records=records,
                varied=varied,
                ingesting=ingest_progress(verbose=False),
                on_progress=show_count,
            )
            directory = engine.directory
        sys.stderr.writelines(f"{plain(each)}\n" for each in part.warnings)
        parts.append(part)
    found = Evaluation.combine(parts)
    if baseline:
        found = replace(found, verdict=compare_with_baseline(baseline, found.groups))
    reports.write(found, shown_by, directory)
    if as_json:
        show_json(found.to_dict(shown_by))
    else:
        show(found.to_text(shown_by))
    return exit_code(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """What is wanted beside the tables of the terminal, each a file or nothing.

    Attributes:
        gate: A baseline to hold the run against.
        baseline: Where to write a new one.
        records: The folder where a record of each question is kept.
    """

    html: Path | None = None
    markdown: Path | None = None
    gate: Path | None = None
    baseline: Path | None = None
    records: Path | None = None

    def check(self) -> "Baseline | None":
        """See to it that what is wanted can be had, before hours are spent on it.

        Returns:
            The baseline of the gate, where there is one.

        Raises:
            UsageError: If a file cannot be written, nothing can be drawn, or the gate's file is no
                baseline.
        """
        for file in (self.html, self.markdown, self.baseline):
            if file is not None:
                check_writable(file)
        if self.records is not None:
            check_folder(self.records)
        if self.html is not None:
            from fathom.evaluation.report.render import check_html

            check_html()
        if self.gate is None:
            return None
        from fathom.evaluation.gate import Baseline

        return Baseline.load(self.gate)

    def write(self, found: "Evaluation", by: "Sequence[Field]", directory: Path) -> None:
        """Write all files; a report with plots is also kept beside the index in `directory`."""
        if self.html is not None:
            from fathom.evaluation.report.build import build_full_report
            from fathom.evaluation.report.kept import save_report
            from fathom.evaluation.report.render import render_html

            report = build_full_report(found)
            self.html.write_text(plain(render_html(report)), encoding="utf-8")
            if directory.is_dir():
                save_report(report, directory)
        if self.markdown is not None:
            self.markdown.write_text(plain(found.to_markdown(by)) + "\n", encoding="utf-8")
        if self.baseline is not None:
            from fathom.evaluation.gate import Baseline

            Baseline.of(found.groups).save(self.baseline)


def exit_code(found: "Evaluation") -> int:
    """That of the command."""
    if found.all_failed:
        return ALL_FAILED
    return FELL if found.verdict is not None and found.verdict.regressions else 0


def loaded(paths: Sequence[Path], opening: AbstractContextManager["Engine"]) -> "list[Dataset]":
    """The data sets of these folders and files of questions.

    Args:
        paths: What was named.
        opening: Gives the engine whose index files of questions are about.

    Raises:
        UsageError: If one is malformed, or two have the same name.
        IndexMissing: If there is a file of questions and no index.
    """
    from fathom.evaluation.harness import open_dataset

    found: dict[str, Dataset] = {}
    with opening as engine:
        datasets = [open_dataset(path, engine) for path in paths]
    for path, dataset in zip(paths, datasets, strict=True):
        if dataset.name in found:
            raise UsageError(f"{path}: two data sets are called {dataset.name}; rename one")
        found[dataset.name] = dataset
    return list(found.values())


def variants(vary: Sequence[str]) -> list[dict[str, str]]:
    """Each choice of values, one for each setting; without settings one empty choice.

    Args:
        vary: `a.b=1,2,3` each.

    Raises:
        UsageError: If one is not of this form.
    """
    keys, choices = [], []
    for each in vary:
        key, _, listed = each.partition("=")
        if not key.strip() or not names_of(listed):
            raise UsageError(f"--vary {each!r}: expected a setting and its values, a.b=1,2,3")
        keys.append(key.strip())
        choices.append(names_of(listed))
    return [dict(zip(keys, chosen, strict=True)) for chosen in product(*choices)]


def names_of(listed: str | None) -> list[str]:
    """The names of a list by commas."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]
