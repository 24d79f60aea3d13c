"""What several commands share: options, and an engine built from them."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.extensions import RETRIEVERS, STRATEGIES

if TYPE_CHECKING:  # each command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine

IndexOption = Annotated[
    str | None,
    typer.Option("--index", help="Index directory (default .fathom), or postgresql:// URL."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, a.b=c; may be repeated.")
]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Open no socket but that to a local: model.")
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
RetrieverOption = Annotated[
    str | None, typer.Option("--retriever", help=f"Way of searching: {RETRIEVER_NAMES}.")
]
LlmOption = Annotated[
    str | None, typer.Option("-m", "--llm", help="Language model, PROVIDER:MODEL.")
]
HistoryOption = Annotated[
    Path | None,
    typer.Option("--history", help="What was said before: JSON turns with role and content."),
]
EffortOption = Annotated[
    str | None, typer.Option("--effort", help="A budget: low, medium or high; see \\[effort].")
]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Tokens, all together.")]
CallsOption = Annotated[int | None, typer.Option("--max-calls", help="Calls of language models.")]
CostOption = Annotated[float | None, typer.Option("--max-cost", help="Money, in USD.")]
MaxErrorOption = Annotated[
    float | None,
    typer.Option("--max-error", help="Share of answers that may be wrong; see calibrate."),
]
DeadlineOption = Annotated[float | None, typer.Option("--deadline", help="Seconds.")]


def run_flags(
    llm: str | None,
    effort: str | None,
    max_tokens: int | None,
    max_calls: int | None,
    max_cost: float | None,
    deadline: float | None,
) -> dict[str, Any]:
    """The settings that the flags of a run give; what is not given is `None`."""
    return {
        "llm.model": llm,
        "budget.effort": effort,
        "budget.tokens": max_tokens,
        "budget.calls": max_calls,
        "budget.cost_usd": max_cost,
        "budget.seconds": deadline,
    }


def index_flags(index: str | Path | None) -> dict[str, Any]:
    """The settings that `--index` gives."""
    if not index:
        return {}
    from fathom.index.engines import place_of

    return {f"index.{key}": str(value) for key, value in place_of(str(index)).items()}


@contextmanager
def build_engine(
    index: str | Path | None,
    assignments: list[str] | None,
    *,
    offline: bool = False,
    flags: Mapping[str, Any] | None = None,
) -> Iterator["Engine"]:
    """An engine over the settings of files, environment and flags, closed at the end.

    Args:
        index: Its directory or URL.
        assignments: `a.b=c` texts; these win.
        offline: Open no socket.
        flags: Settings given by flags of their own; `None` values are not given.

    Raises:
        SettingsError: For an unknown key or an illegal value.
    """
    from fathom.config import Layers
    from fathom.engine import Engine

    given: dict[str, Any] = {
        **index_flags(index),
        "offline": offline or None,
    }
    given |= flags or {}
    layers = Layers.load(cwd=Path.cwd(), flags=given, assignments=assignments or [])
    with Engine(layers.settings()) as engine:
        yield engine


def note_writer(engine: "Engine") -> None:
    """Say on stderr that the index is still being filled, where it is."""
    writer = engine.index.writer()
    if writer:
        sys.stderr.write(
            f"fathom: {writer} is writing to the index; what is not stored yet is not found\n"
        )


def note_lacking(engine: "Engine") -> None:
    """Say on stderr that a search passed over chunks, where they have no vectors yet."""
    from fathom.index.filling import still_filled

    for line in still_filled(engine.reader(checked=False).lacking_vectors()):
        sys.stderr.write(f"fathom: {line}\n")


def note_unmet(engine: "Engine", filters: Sequence[str]) -> None:
    """Say on stderr which conditions no document can meet, where nothing was found."""
    for line in engine.check_filters(filters):
        sys.stderr.write(f"fathom: {line}\n")
