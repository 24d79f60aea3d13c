"""What `fathom eval` does for one data set: the index, the questions, the records."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fathom import __version__
from fathom.errors import IndexMissing, UsageError

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.datasets import Dataset
    from fathom.evaluation.records import Record, Records
    from fathom.evaluation.runner import Ask

Build = Callable[[Path | None], Any]
"""Gives the engine over an index directory, as a context."""
LONGEST, SHORTENED = 240, 200
"""File systems take names of 255 bytes, endings included."""


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
    from fathom.evaluation.runner import record_strategy

    asked = dataset.sample(queries)
    kept = _kept(engine, folder, dataset, file_name(strategy, varied), varied)
    told = counted(f"{dataset.name} {strategy}", len(asked))
    found = record_strategy(
        strategy, dataset, asked, asker(engine, strategy), kept, on_question=told
    )
    _tell_failures(found)
    return found


def rankings(
    dataset: "Dataset",
    engine: "Engine",
    retriever: str,
    *,
    queries: int | None = None,
    folder: Path | None = None,
    varied: Mapping[str, str] = MappingProxyType({}),
) -> "list[Record]":
    """How a retriever ranks the documents for the judged questions of a data set.

    Args:
        dataset: The engine's index must hold its corpus.
        engine: Gives the retriever.
        retriever: Its name.
        queries: A seeded sample of so many judged questions.
        folder: Where records are kept, in `<data set>/<retriever>.ranked.jsonl`: a strategy may
            have the same name.
        varied: As in `answers`.

    Raises:
        UsageError: If no question is judged, or there is no such retriever.
    """
    from fathom.evaluation.runner import record_retriever

    asked = dataset.sample(queries, judged=True)
    if not asked:
        raise UsageError(f"{dataset.name}: no judged question, so no ranking can be measured")
    ranker = engine.retriever(retriever)
    name = f"{file_name(retriever, varied)}.ranked"
    kept = _kept(engine, folder, dataset, name, varied)
    told = counted(f"{dataset.name} {retriever}", len(asked))
    found = record_retriever(dataset, asked, ranker, kept, on_question=told)
    _tell_failures(found)
    return found


def _kept(
    engine: "Engine",
    folder: Path | None,
    dataset: "Dataset",
    name: str,
    varied: Mapping[str, str],
) -> "Records":
    """What is known already, and where more is kept."""
    from fathom.evaluation.records import Records

    file = None if folder is None else folder / dataset.name / f"{name}.jsonl"
    return Records(file, setup=setup_of(engine), varied=varied)


def file_name(strategy: str, varied: Mapping[str, str]) -> str:
    """Names the files of a system, without their ending; each choice of settings its own.

    A name that file systems would refuse ends in a hash in place of its last settings.
    """
    from fathom.jsonable import digest

    choice = "".join(f"@{key}={value}" for key, value in varied.items())
    name = quote(f"{strategy}{choice}", safe="@=")
    return name if len(name) <= LONGEST else f"{name[:SHORTENED]}-{digest(name)[:16]}"


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

    from fathom.evaluation.runner import filters_of

    return lambda question: asyncio.run(
        engine.aoutcome(question.text, strategy=strategy, filters=filters_of(question))
    )


def setup_of(engine: "Engine") -> str:
    """A short hash of what can change an answer: version, index, settings, budget, models.

    Raises:
        ModelError: If a model cannot be loaded, or the card of the cross-reader is missing.
    """
    from fathom.jsonable import canonical, digest
    from fathom.models.shipped import card_of

    made = {
        "version": __version__,
        "index": engine.reader().revision(),
        "identity": engine.assembly.identity,
        "cross_reader": card_of(engine.settings.models.cross_reader),
        "settings": engine.settings.recorded(),
        "budget": engine.settings.budget.model_dump(mode="json"),
    }
    return digest(canonical(made))[:16]


def counted(what: str, total: int) -> Callable[[int], None]:
    """Shows how many questions are done, where stderr is a terminal."""

    def show(done: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{what}: {done}/{total}" + ("\n" if done == total else ""))
            sys.stderr.flush()

    return show
