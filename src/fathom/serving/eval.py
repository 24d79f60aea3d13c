"""`fathom eval`: how good retrievers and strategies are on data sets with judgements."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from fathom import __version__
from fathom.errors import IndexMissing, UsageError
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
from fathom.serving.reports import Reports, as_object, exit_code
from fathom.serving.reports import markdown as as_markdown

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.datasets import Dataset
    from fathom.evaluation.records import Record
    from fathom.evaluation.runner import Row
    from fathom.evaluation.strategies import Ask

Build = Callable[[Path | None], Any]
"""Gives the engine over an index directory, as a context."""


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
    from fathom.evaluation.comparison import compare as tested
    from fathom.evaluation.findings import Findings
    from fathom.evaluation.report import row_of
    from fathom.serving.output import show, show_json

    strategies = list(dict.fromkeys([*_names(strategy), *(compare or ())]))
    retrievers = _names(retriever) or ([] if strategies else ["hybrid"])
    _check(strategies)
    reports = Reports(html=html, markdown=markdown, gate=gate, save_baseline=save_baseline)
    baseline = reports.check(strategies)
    flags = run_flags(llm, max_tokens, max_calls, max_cost, deadline)
    rows: list[Row] = []
    groups: list[list[Record]] = []
    pairs = []
    for dataset, varied in product(loaded(datasets), variants(vary or ())):
        given = [*(assignments or ()), *(f"{key}={value}" for key, value in varied.items())]
        build = partial(build_engine, assignments=given, offline=offline, flags=flags)
        with engine_for(dataset, index, build) as engine:
            rows += _retrieval(dataset, engine, retrievers, queries, varied)
            answered = {
                name: answers(dataset, engine, name, queries=queries, folder=records, varied=varied)
                for name in strategies
            }
        groups += answered.values()
        pairs += [(answered[compare[0]], answered[compare[1]])] if compare else []
    findings = Findings(
        retrieval=rows,
        rows=[row_of(each) for each in groups],
        answered=groups,
        comparisons=tested(pairs),
    )
    findings = reports.judged(findings, baseline)
    reports.write(findings)
    if as_json:
        show_json(as_object(findings))
    else:
        show(as_markdown(findings))
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


def _check(strategies: Sequence[str]) -> None:
    if strategies:
        from fathom.asking import check_strategy

        for name in strategies:
            check_strategy(name)


@contextmanager
def engine_for(dataset: "Dataset", index: Path | None, build: Build) -> Iterator["Engine"]:
    """The engine over an index of the data set.

    Args:
        dataset: What is evaluated.
        index: Used as it stands if its documents are those of the data set; else the data set
            is ingested below it, in a folder of its own.
        build: Gives an engine over a directory.
    """
    from fathom.serving.progress import ingest_progress

    with build(index) as base:
        ready = holds(base, dataset)
        place = base.directory if ready else base.directory / "eval" / dataset.name
    with build(place) as engine:
        if not ready:
            with ingest_progress(verbose=False) as on_progress:
                engine.ingest([dataset.corpus], on_progress=on_progress)
        yield engine


def holds(engine: "Engine", dataset: "Dataset") -> bool:
    """Whether the index holds the documents of the data set, and no others."""
    try:
        status = engine.status()
    except IndexMissing:
        return False
    if not status.documents or status.documents + status.failed < len(dataset.documents):
        return False
    return all(document.id in dataset.documents for document in engine.documents())


def answers(
    dataset: "Dataset",
    engine: "Engine",
    strategy: str,
    *,
    queries: int | None = None,
    folder: Path | None = None,
    varied: Mapping[str, str] = MappingProxyType({}),
) -> "list[Record]":
    """What a strategy makes of the questions of a data set.

    Args:
        dataset: The engine's index must hold its corpus.
        engine: Asked.
        strategy: Its name.
        queries: A seeded sample of so many questions.
        folder: Where records are kept, in `<data set>/<strategy>.jsonl`.
        varied: What was varied in the engine's settings; belongs to the file's name.
    """
    from fathom.evaluation.records import Records
    from fathom.evaluation.strategies import record_strategy

    asked = dataset.sample(queries)
    choice = "".join(f"@{key}={value}" for key, value in varied.items())
    name = quote(f"{strategy}{choice}.jsonl", safe="@=")
    file = None if folder is None else folder / dataset.name / name
    kept = Records(file, setup=setup_of(engine), varied=varied)
    told = counted(f"{dataset.name} {strategy}", len(asked))
    found = record_strategy(
        strategy, dataset, asked, asker(engine, strategy), kept, on_question=told
    )
    _tell_failures(found)
    return found


def _tell_failures(records: "Sequence[Record]") -> None:
    failed = [record for record in records if record.status == "failed"]
    if failed:
        first = failed[0]
        sys.stderr.write(
            f"{first.dataset} {first.strategy}: {len(failed)} of {len(records)} questions failed; "
            f"the first, {first.question}: {first.stop_reason}\n"
        )


def asker(engine: "Engine", strategy: str) -> "Ask":
    """Asks one question with a strategy."""
    import asyncio

    from fathom.evaluation.strategies import filters_of

    return lambda question: asyncio.run(
        engine.aoutcome(question.text, strategy=strategy, filters=filters_of(question))
    )


def setup_of(engine: "Engine") -> str:
    """A short hash of what can change an answer: version, index, settings, budget."""
    from fathom.plain import canonical, digest

    budget = engine.settings.budget.model_dump(mode="json")
    made = [__version__, engine.reader().revision(), engine.parts.recorded, budget]
    return digest(canonical(made))[:16]


def counted(what: str, total: int) -> Callable[[int], None]:
    """Shows how many questions are done, where stderr is a terminal."""

    def show(done: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{what}: {done}/{total}" + ("\n" if done == total else ""))
            sys.stderr.flush()

    return show


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
