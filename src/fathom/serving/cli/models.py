"""The commands `fathom models`, which manage the files of local language models."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import JsonOption, OfflineOption, SetOption

models = typer.Typer(help="Files of language models.", no_args_is_help=True)


@models.command("list")
def list_models(as_json: JsonOption = False) -> None:
    """List the pulled models, and those that can be pulled by name."""
    from fathom.llm.catalogue import KNOWN_MODELS, estimate_memory
    from fathom.llm.model_store import ModelStore
    from fathom.serving.cli.output import show, show_json

    store = ModelStore()
    stored = [
        ("pulled" if model.is_whole else "unfinished", model.name, model.size, str(model.path))
        for model in store.list()
    ]
    names = {name for _, name, _, _ in stored}
    available = [
        ("available", model.name, model.size, None)
        for model in KNOWN_MODELS.values()
        if model.name not in names
    ]
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "status": status,
            "bytes": size,
            "memory": None if status == "unfinished" else estimate_memory(name, size),
            "path": path,
        }
        for status, name, size, path in (*stored, *available)
    ]
    if as_json:
        show_json({"folder": str(store.folder), "models": rows})
    else:
        show(
            "\n".join(
                f"{row['name']:<24} {row['status']:<10} {_format_size(row['bytes'])}"
                for row in rows
            )
        )


@models.command()
def pull(
    source: Annotated[
        str, typer.Argument(metavar="NAME|URL", help="A known model, or the URL of a GGUF file.")
    ],
    sha256: Annotated[
        str | None, typer.Option("--sha256", help="The digest of the file at the URL.")
    ] = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Fetch a model; after an interruption the same command continues."""
    from fathom.config import Layers
    from fathom.llm.catalogue import parse_source
    from fathom.llm.model_store import ModelStore
    from fathom.serving.cli.output import show, show_json

    file = parse_source(source, sha256)
    flags = {"offline": offline or None}
    layers = Layers.load(cwd=Path.cwd(), flags=flags, assignments=assignments or [])
    if layers.build_settings().offline:
        raise UsageError("pull needs a socket and --offline allows none; drop one of the two")
    path = ModelStore().pull(file, _ProgressLine(file.name).show)
    if as_json:
        show_json(
            {
                "name": file.name,
                "model": f"local:{file.name}",
                "path": str(path),
                "bytes": path.stat().st_size,
                "sha256": file.sha256,
            }
        )
    else:
        show(f"{path}\nuse it with -m local:{file.name}, or -m auto")


@models.command()
def remove(
    name: Annotated[str, typer.Argument(help="As `fathom models list` shows it.")],
    as_json: JsonOption = False,
) -> None:
    """Remove a model, or the rest of an interrupted pull."""
    from fathom.llm.model_store import ModelStore
    from fathom.serving.cli.output import show, show_json

    freed = ModelStore().remove(name)
    if as_json:
        show_json({"removed": name, "bytes": freed})
    else:
        show(f"{name} removed, {_format_size(freed)} freed")


@models.command()
def recommend(as_json: JsonOption = False) -> None:
    """Recommend models for the memory of this machine, the best first."""
    from dataclasses import asdict

    from fathom.llm.catalogue import measure_memory, recommend_models
    from fathom.serving.cli.output import show, show_json

    memory = measure_memory()
    recommendations = recommend_models(memory)
    if as_json:
        show_json({"memory": memory, "models": [asdict(model) for model in recommendations]})
    else:
        lines = [
            f"{model.command:<32} # needs {_format_size(model.memory)} of memory; then -m auto"
            for model in recommendations
        ]
        show("\n".join([f"memory: {_format_size(memory)}", *lines]))


def _format_size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


class _ProgressLine:
    """A line on stderr, if it is a terminal, with the size, the speed and the time left."""

    _INTERVAL_S = 0.2

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin: tuple[float, int] | None = None
        self._next_s = 0.0

    def show(self, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        now = time.monotonic()
        # The speed does not include the bytes of an earlier pull.
        self._begin = self._begin or (now, done)
        if now < self._next_s and done < total:
            return
        self._next_s = now + self._INTERVAL_S
        speed = (done - self._begin[1]) / max(now - self._begin[0], 0.001)
        from fathom.serving.cli.progress_bar import format_duration

        left = f", {format_duration((total - done) / speed)} left" if speed and done < total else ""
        sys.stderr.write(
            f"\r\x1b[K{self._name}: {_format_size(done)} of {_format_size(total)}, "
            f"{_format_size(round(speed))}/s{left}" + ("\n" if done == total else "")
        )
        sys.stderr.flush()
