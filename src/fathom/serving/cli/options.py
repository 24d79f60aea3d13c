"""The options of several commands, and the engine built from them."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.registry import PAPERS, RETRIEVERS, STRATEGIES
from fathom.serving.invisible import replace_controls

if TYPE_CHECKING:  # each command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine

IndexOption = Annotated[
    str | None,
    typer.Option("--index", help="Index directory (default .fathom), or postgresql:// URL."),
]
DocsOption = Annotated[
    list[Path] | None,
    typer.Option("--docs", help="Ask about this file or folder; its index is kept in the cache."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="Set a setting, a.b=c; may be repeated.")
]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Open no socket except to a local: model.")
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", help="Condition on metadata, such as year>=2020; may be repeated."),
]
STRATEGY_NAMES = f"{', '.join(STRATEGIES)}, or an extension"
RETRIEVER_NAMES = f"{', '.join(RETRIEVERS)}, vector:EMBEDDER, hybrid:EMBEDDER, or an extension"
StrategyOption = Annotated[
    str | None, typer.Option("--strategy", help=f"Way of answering: {STRATEGY_NAMES}.")
]
PaperOption = Annotated[
    str | None,
    typer.Option("--paper", help=f"Answer as the system of a paper: {', '.join(PAPERS)}."),
]
RetrieverOption = Annotated[
    str | None, typer.Option("--retriever", help=f"Way of searching: {RETRIEVER_NAMES}.")
]
LlmOption = Annotated[
    str | None, typer.Option("-m", "--llm", help="Language model, PROVIDER:MODEL, or auto.")
]
HistoryOption = Annotated[
    Path | None,
    typer.Option("--history", help="File of earlier turns, a JSON list of role and content."),
]
EffortOption = Annotated[
    str | None, typer.Option("--effort", help="A budget: low, medium or high.")
]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Limit of all tokens.")]
CallsOption = Annotated[
    int | None, typer.Option("--max-calls", help="Limit of calls of language models.")
]
CostOption = Annotated[float | None, typer.Option("--max-cost", help="Limit of cost in USD.")]
MaxErrorOption = Annotated[
    float | None,
    typer.Option("--max-error", help="Share of wrong answers, at most; see calibrate."),
]
DeadlineOption = Annotated[
    float | None, typer.Option("--deadline", help="Limit of time in seconds.")
]
QueriesOption = Annotated[
    int | None,
    typer.Option("--queries", min=1, help="Ask only a sample of this size, always the same."),
]
RecordsOption = Annotated[
    Path | None,
    typer.Option("--records", help="Keep a record of each question here; a later run continues."),
]


def collect_run_flags(
    llm: str | None,
    effort: str | None,
    max_tokens: int | None,
    max_calls: int | None,
    max_cost: float | None,
    deadline: float | None,
) -> dict[str, Any]:
    """Return the settings of the flags of a run; `None` for a flag that is not given."""
    return {
        "llm.model": llm,
        "budget.effort": effort,
        "budget.tokens": max_tokens,
        "budget.calls": max_calls,
        "budget.cost_usd": max_cost,
        "budget.seconds": deadline,
    }


def collect_index_flags(index: str | Path | None) -> dict[str, Any]:
    """Return the settings of `--index`."""
    if not index:
        return {}
    from fathom.index.engines import make_index_settings

    return {f"index.{key}": str(value) for key, value in make_index_settings(str(index)).items()}


@contextmanager
def build_engine(
    index: str | Path | None,
    assignments: list[str] | None,
    *,
    offline: bool = False,
    flags: Mapping[str, Any] | None = None,
) -> Iterator["Engine"]:
    """Open an engine with the settings of files, environment and flags, and close it at the end.

    Args:
        index: The directory or the URL of the index.
        assignments: Texts `a.b=c`, which override all other settings.
        offline: Whether to open no socket.
        flags: The settings of other flags; `None` for a flag that is not given.

    Raises:
        SettingsError: For an unknown key or an illegal value.
    """
    from fathom.config import Layers
    from fathom.engine import Engine

    settings_by_flag: dict[str, Any] = {
        **collect_index_flags(index),
        # A flag that is not set must not override `offline = true` of a file.
        "offline": offline or None,
    }
    settings_by_flag |= flags or {}
    layers = Layers.load(cwd=Path.cwd(), flags=settings_by_flag, assignments=assignments or [])
    with Engine(layers.build_settings()) as engine:
        yield engine


def note_writer(engine: "Engine") -> None:
    """Write a note to stderr if another process is filling the index."""
    writer = engine.index.describe_writer()
    if writer:
        sys.stderr.write(
            f"fathom: {writer} is writing to the index; unfinished documents are not found yet\n"
        )


def note_lacking_vectors(engine: "Engine") -> None:
    """Write a note to stderr if there are chunks without vectors, which a search can miss."""
    from fathom.ingest.filling import describe_missing_vectors

    for line in describe_missing_vectors(engine.reader(checked=False).count_missing_vectors()):
        sys.stderr.write(f"fathom: {line}\n")


def note_unmet_filters(engine: "Engine", filters: Sequence[str]) -> None:
    """Write the conditions that no document can meet to stderr."""
    note_warnings(engine.check_filters(filters))
    note_partial_paths(engine, filters)


def note_partial_paths(engine: "Engine", filters: Sequence[str]) -> None:
    """Write the conditions on paths that no document meets, because a path is whole, to stderr."""
    from fathom.serving.cli.path_filters import describe_partial_paths

    note_warnings(describe_partial_paths(engine, filters))


def note_warnings(warnings: Sequence[str]) -> None:
    """Write the warnings of an answer or of an evaluation to stderr."""
    for warning in warnings:
        sys.stderr.write(f"fathom: {replace_controls(warning)}\n")
