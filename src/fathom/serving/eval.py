"""`fathom eval`: how good retrievers and strategies are on data sets with judgements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.asked import answers, engine_for
from fathom.serving.options import (
    CallsOption,
    CostOption,
    DeadlineOption,
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    SetOption,
    TokensOption,
    build_engine,
    run_flags,
)
from fathom.serving.panel import Panel
from fathom.serving.reports import Reports, as_object, exit_code
from fathom.serving.reports import markdown as as_markdown

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.datasets import Dataset
    from fathom.evaluation.findings import Findings
    from fathom.evaluation.grading import Judgement
    from fathom.evaluation.records import Record
    from fathom.evaluation.runner import Row


def evaluate(
    datasets: Annotated[list[Path], typer.Argument(help="Folders in the BEIR layout.")],
    retriever: Annotated[
        str | None, typer.Option(help="Retrievers: vector, keyword, hybrid (default), by commas.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="Strategies that answer the questions, by commas.")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(help="Two strategies, tested against each other.")
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
    html: Annotated[Path | None, typer.Option(help="Write a report with plots here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables here.")] = None,
    gate: Annotated[
        Path | None, typer.Option(help="Exit with 7 if quality fell below this baseline.")
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Write a baseline for --gate here.")
    ] = None,
    index: IndexOption = None,
    llm: LlmOption = None,
    max_tokens: TokensOption = None,
    max_calls: CallsOption = None,
    max_cost: CostOption = None,
    deadline: DeadlineOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Measure retrieval and answers; a data set that --index does not hold gets its own index."""
    from fathom.serving.output import show, show_json

    strategies = list(dict.fromkeys([*_names(strategy), *(compare or ())]))
    _check(strategies)
    panel = Panel(names=_names(judge), model=judge_model, labels=labels, folder=records)
    panel.check(strategies)
    reports = Reports(html=html, markdown=markdown, gate=gate, save_baseline=save_baseline)
    baseline = reports.check(strategies)
    retrievers = _names(retriever) or ([] if strategies else ["hybrid"])
    plan = Plan(
        retrievers=retrievers, strategies=strategies, queries=queries, folder=records, panel=panel
    )
    flags = run_flags(llm, max_tokens, max_calls, max_cost, deadline)
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        panel.seated(engine)  # a judge without a model is known before hours are spent
    parts = []
    for dataset, varied in product(loaded(datasets), variants(vary or ())):
        given = [*(assignments or ()), *(f"{key}={value}" for key, value in varied.items())]
        build = partial(build_engine, assignments=given, offline=offline, flags=flags)
        with engine_for(dataset, index, build) as engine:
            parts.append(plan.carried_out(dataset, engine, varied))
    findings = reports.judged(together(parts, compare, panel), baseline)
    reports.write(findings)
    if as_json:
        show_json(as_object(findings))
    else:
        show(as_markdown(findings))
    return exit_code(findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What came of one data set with one choice of settings.

    Attributes:
        answered: Records by strategy.
    """

    rows: "Sequence[Row]"
    answered: "Mapping[str, Sequence[Record]]"
    judgements: "Sequence[Judgement]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is done with each data set.

    Attributes:
        folder: Where records are kept.
    """

    retrievers: Sequence[str]
    strategies: Sequence[str]
    queries: int | None
    folder: Path | None
    panel: Panel

    def carried_out(self, dataset: "Dataset", engine: "Engine", varied: Mapping[str, str]) -> Part:
        """Measure all systems on a data set.

        Raises:
            UsageError: If what was asked for cannot be had.
        """
        judges = self.panel.seated(engine)
        rows = _retrieval(dataset, engine, self.retrievers, self.queries, varied)
        answered = {
            name: answers(
                dataset, engine, name, queries=self.queries, folder=self.folder, varied=varied
            )
            for name in self.strategies
        }
        judgements = [
            judgement
            for group in answered.values()
            for judgement in self.panel.graded(judges, engine, group)
        ]
        return Part(rows=rows, answered=answered, judgements=judgements)


def together(parts: Sequence[Part], compare: tuple[str, str] | None, panel: Panel) -> "Findings":
    """All parts as one, with two strategies compared where that is wanted."""
    from fathom.evaluation.comparison import compare as tested
    from fathom.evaluation.findings import Findings
    from fathom.evaluation.grading import with_grades
    from fathom.evaluation.report import row_of

    groups = [group for part in parts for group in part.answered.values()]
    judgements = [each for part in parts for each in part.judgements]
    first, second = compare or ("", "")
    pairs = [(part.answered[first], part.answered[second]) for part in parts if compare]
    return Findings(
        retrieval=[row for part in parts for row in part.rows],
        rows=[with_grades(row_of(group), judgements) for group in groups],
        answered=groups,
        comparisons=tested(pairs),
        judgements=judgements,
        agreements=panel.believed(judgements, groups),
    )


def loaded(folders: Sequence[Path]) -> "list[Dataset]":
    """The data sets of these folders.

    Raises:
        UsageError: If one is malformed, or two have the same name.
    """
    from fathom.evaluation.datasets import load

    found: dict[str, Dataset] = {}
    for folder in folders:
        dataset = load(folder)
        if dataset.name in found:
            raise UsageError(f"{folder}: two data sets are called {dataset.name}; rename one")
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
        if not key.strip() or not _names(listed):
            raise UsageError(f"--vary {each!r}: expected a setting and its values, a.b=1,2,3")
        keys.append(key.strip())
        choices.append(_names(listed))
    return [dict(zip(keys, chosen, strict=True)) for chosen in product(*choices)]


def _names(listed: str | None) -> list[str]:
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


def _check(strategies: Sequence[str]) -> None:
    if strategies:
        from fathom.asking import check_strategy

        for name in strategies:
            check_strategy(name)


def _retrieval(
    dataset: "Dataset",
    engine: "Engine",
    retrievers: Sequence[str],
    queries: int | None,
    varied: Mapping[str, str],
) -> "list[Row]":
    from fathom.evaluation.runner import evaluate_retriever

    rankers = [engine.retriever(name) for name in retrievers]
    rows = [evaluate_retriever(dataset, ranker, queries=queries) for ranker in rankers]
    told = ", ".join(f"{key}={value}" for key, value in varied.items())
    return [replace(row, system=f"{row.system} ({told})") for row in rows] if told else rows
