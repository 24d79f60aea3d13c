"""`fathom eval`: how good retrievers and strategies are on data sets with judgements."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import __version__
from fathom.errors import IndexMissing
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

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.comparison import Comparison
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
    from fathom.evaluation.datasets import load
    from fathom.evaluation.report import row_of
    from fathom.serving.output import show, show_json

    strategies = list(dict.fromkeys([*_names(strategy), *(compare or ())]))
    retrievers = _names(retriever) or ([] if strategies else ["hybrid"])
    _check(strategies)
    flags = run_flags(llm, max_tokens, max_calls, max_cost, deadline)

    def build(place: Path | None) -> Any:  # noqa: ANN401 - a context
        return build_engine(place, assignments, offline=offline, flags=flags)

    rows, pairs, failed = [], [], bool(strategies)
    for folder in datasets:
        dataset = load(folder)
        with engine_for(dataset, index, build) as engine:
            rows += _retrieval(dataset, engine, retrievers, queries)
            answered = {
                name: answers(dataset, engine, name, queries=queries, folder=records)
                for name in strategies
            }
        rows += [row_of(each) for each in answered.values()]
        failed &= all(r.status == "failed" for each in answered.values() for r in each)
        if compare:
            pairs.append((answered[compare[0]], answered[compare[1]]))
    comparisons = tested(pairs)
    if as_json:
        told = [{**asdict(each), "sentence": each.sentence} for each in comparisons]
        show_json({"rows": [asdict(row) for row in rows]} | ({"comparisons": told} if told else {}))
    else:
        show(report_text(rows, comparisons))
    return 5 if failed else 0


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
) -> "list[Record]":
    """What a strategy makes of the questions of a data set.

    Args:
        dataset: The engine's index must hold its corpus.
        engine: Asked.
        strategy: Its name.
        queries: A seeded sample of so many questions.
        folder: Where records are kept, in `<data set>/<strategy>.jsonl`.
    """
    from fathom.evaluation.records import Records
    from fathom.evaluation.strategies import record_strategy

    asked = dataset.sample(queries)
    file = None if folder is None else folder / dataset.name / f"{strategy}.jsonl"
    kept = Records(file, setup=setup_of(engine))
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
    dataset: "Dataset", engine: "Engine", retrievers: Sequence[str], queries: int | None
) -> "list[Row]":
    from fathom.evaluation.runner import evaluate_retriever

    rankers = [engine.retriever(name) for name in retrievers]
    return [evaluate_retriever(dataset, ranker, queries=queries) for ranker in rankers]


def report_text(rows: "Sequence[Row]", comparisons: "Sequence[Comparison]") -> str:
    """Tables of retrieval and of answers, and a sentence for each comparison."""
    from fathom.evaluation.report import HEADLINES, table

    of_answers = [row for row in rows if "answered" in row.measures]
    of_retrieval = [row for row in rows if "answered" not in row.measures]
    parts = [table(of_retrieval)] if of_retrieval else []
    parts += [table(of_answers, HEADLINES)] if of_answers else []
    parts += ["\n".join(each.sentence for each in comparisons)] if comparisons else []
    return "\n\n".join(parts)
