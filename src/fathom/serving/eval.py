"""`fathom eval`: how good retrievers and strategies are on data sets with judgements."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.asked import engine_for
from fathom.serving.files import check_folder
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
from fathom.serving.plan import Plan, Systems
from fathom.serving.reports import Reports, as_object, exit_code
from fathom.serving.reports import markdown as as_markdown

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.evaluation.datasets import Dataset


def evaluate(
    datasets: Annotated[list[Path], typer.Argument(help="Folders in the BEIR layout.")],
    retriever: Annotated[
        str | None,
        typer.Option(help="Retrievers: keyword, vector, hybrid (default) ...; by commas."),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="Strategies that answer the questions, by commas.")
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
    from fathom.evaluation.breakdown import fields
    from fathom.serving.output import show, show_json

    systems = Systems.of(_names(retriever), _names(strategy), compare)
    systems.check()
    panel = Panel(names=_names(judge), model=judge_model, labels=labels, folder=records)
    panel.check(systems.strategies)
    reports = Reports(
        html=html,
        markdown=markdown,
        gate=gate,
        save_baseline=save_baseline,
        by=fields(_names(by)),
    )
    baseline = reports.check()
    if records is not None:
        check_folder(records)
    plan = Plan(systems=systems, queries=queries, folder=records, panel=panel)
    flags = run_flags(llm, max_tokens, max_calls, max_cost, deadline)
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        panel.seated(engine)  # a judge without a model is known before hours are spent
    parts = []
    for dataset, varied in product(loaded(datasets), variants(vary or ())):
        given = [*(assignments or ()), *(f"{key}={value}" for key, value in varied.items())]
        build = partial(build_engine, assignments=given, offline=offline, flags=flags)
        with engine_for(dataset, index, build) as engine:
            parts.append(plan.carried_out(dataset, engine, varied))
    findings = reports.judged(plan.together(parts), baseline)
    reports.write(findings)
    if as_json:
        show_json(as_object(findings, reports.by))
    else:
        show(as_markdown(findings, reports.by))
    return exit_code(findings)


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
