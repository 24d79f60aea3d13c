"""What several commands share: options, and an engine built from them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # each command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine

IndexOption = Annotated[
    Path | None, typer.Option("--index", help="Index directory (default .fathom).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, a.b=c; may be repeated.")
]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Open no socket.")]
FilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", help="Condition on metadata, such as year>=2020; may be repeated."),
]


@contextmanager
def build_engine(
    index: Path | None, assignments: list[str] | None, *, offline: bool = False
) -> Iterator["Engine"]:
    """An engine over the settings of files, environment and flags, closed at the end.

    Raises:
        SettingsError: For an unknown key or an illegal value.
    """
    from fathom.config import Layers
    from fathom.engine import Engine

    given = {"index.directory": str(index) if index else None, "offline": offline or None}
    layers = Layers.load(cwd=Path.cwd(), flags=given, assignments=assignments or [])
    with Engine(layers.settings()) as engine:
        yield engine
