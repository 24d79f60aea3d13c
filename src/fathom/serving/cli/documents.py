"""The commands about a whole index: vectors, config, status, copy, backup and doctor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    OfflineOption,
    SetOption,
    build_engine,
    collect_index_flags,
)

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.index.engines import Index

vectors = typer.Typer(help="Vectors of further embedders.", no_args_is_help=True)
config = typer.Typer(help="Settings and where they come from.", no_args_is_help=True)


@vectors.command("list")
def list_vectors(
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """List the further embedders that have vectors, with the number of their chunks."""
    from fathom.serving.cli.output import format_space, show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        state = engine.status()
    lines = [format_space(space, state.chunks) for space in state.spaces]
    text = "\n".join(lines) or "no vectors except those of models.embedder"
    show_outcome({"vectors": state.spaces}, text, as_json=as_json)


@vectors.command("drop")
def drop_vectors(
    name: Annotated[str, typer.Argument(help="The embedder, as in retrieval.embedders.")],
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Remove the vectors of one further embedder; documents and other vectors stay."""
    from fathom.serving.cli.output import show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        engine.drop_vectors(name)
    show_outcome({"dropped": name}, f"vectors of {name} dropped", as_json=as_json)


def status(
    index: IndexOption = None,
    as_json: JsonOption = False,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="List files that have changed or are gone since ingestion."),
    ] = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Show the counts, sizes and identity of the index."""
    from fathom.serving.cli.calibration import format_calibration
    from fathom.serving.cli.output import format_outdated, format_status, show_outcome
    from fathom.serving.shapes import serialize_status

    with build_engine(index, assignments, offline=offline) as engine:
        # Only on request, because it reads every file again.
        if stale:
            outdated = engine.documents.list_outdated()
            show_outcome({"stale": outdated}, format_outdated(outdated), as_json=as_json)
            return
        state = engine.status()
        calibrations, place = engine.calibration.list(), str(engine.index)
    sections = [place, format_status(state), *map(format_calibration, calibrations.values())]
    show_outcome(serialize_status(state, calibrations), "\n".join(sections), as_json=as_json)


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Index directory or URL.")],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="Another directory or URL, which is empty or has a copy of FROM."
        ),
    ],
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Copy an index to another engine, with its traces, and a server's keys and conversations."""
    from fathom.serving.cli.output import show_outcome
    from fathom.serving.http.migration import copy_server_tables

    notes: list[str] = []
    with (
        build_engine(source, assignments, offline=offline) as engine,
        build_engine(target, assignments, offline=offline) as target_engine,
    ):
        if _is_same_place(engine.index, target_engine.index):
            raise UsageError(
                f"{source} and {target} are the same index; name another one to copy to"
            )

        def copy_more() -> None:
            notes.extend(copy_server_tables(engine.index, target_engine.index, engine.directory))

        state = engine.copy_to(target_engine, copy_more)
    counts = {"documents": state.documents, "chunks": state.chunks, "content": state.content}
    lines = [f"{state.documents} documents, {state.chunks} chunks copied", *notes]
    show_outcome({**counts, "beside": notes}, "\n".join(lines), as_json=as_json)


def _is_same_place(index: "Index", other: "Index") -> bool:
    """Return whether both are the same index; one folder can have several names."""
    if index.is_shared or other.is_shared:
        return str(index) == str(other)
    return Path(str(index)).resolve() == Path(str(other)).resolve()


def backup(
    folder: Annotated[Path, typer.Argument(help="The new folder of the backup.")],
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Copy the whole folder of an index, also while a server uses it."""
    from fathom.serving.cli.output import show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        finished = engine.back_up(folder)
    megabytes = finished.size / 1_000_000
    text = f"{finished.files} files, {megabytes:.1f} MB, in {finished.folder}"
    show_outcome(finished, text, as_json=as_json)


@config.command("show")
def show_settings(
    index: IndexOption = None,
    constants: Annotated[
        bool, typer.Option("--constants", help="Also show the constants, which cannot be set.")
    ] = False,
    paper: Annotated[
        str | None,
        typer.Option(help="Show only the settings that a paper fixes, with its sections."),
    ] = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Show every setting with its value and its origin, or those that a paper fixes."""
    from fathom.config import Layers
    from fathom.serving.cli.output import format_settings, show_outcome

    flags = {**collect_index_flags(index), "offline": offline or None, "ask.paper": paper}
    layers = Layers.load(cwd=Path.cwd(), flags=flags, assignments=assignments or [])
    values = layers.list_paper_values() if paper else layers.list_values(constants=constants)
    show_outcome(
        {value.key: {"value": value.value, "origin": value.origin} for value in values},
        format_settings(values),
        as_json=as_json,
    )


@config.command("prompts")
def show_prompts(
    name: Annotated[str | None, typer.Argument(help="Show the whole text of this prompt.")] = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """List the prompts for language models with their versions, or show the text of one."""
    from fathom.assembly.prompts import choose_prompts
    from fathom.config import Layers
    from fathom.evaluation.judges import load_grading_prompts
    from fathom.serving.cli.output import format_prompts, serialize_prompt, show_outcome

    flags = {"offline": offline or None}
    layers = Layers.load(cwd=Path.cwd(), flags=flags, assignments=assignments or [])
    settings = layers.build_settings()
    # The settings can replace the prompts of the judges of `fathom eval` too.
    graders = {prompt.name: prompt for prompt in load_grading_prompts(settings).values()}
    prompts = {**choose_prompts(settings), **graders}
    if name is None:
        show_outcome(
            {"prompts": [serialize_prompt(prompt) for prompt in prompts.values()]},
            format_prompts(list(prompts.values())),
            as_json=as_json,
        )
        return
    if name not in prompts:
        raise UsageError(f"there is no prompt {name!r}; there are {', '.join(prompts)}")
    show_outcome(serialize_prompt(prompts[name]), prompts[name].text, as_json=as_json)


def doctor(
    index: IndexOption = None,
    as_json: JsonOption = False,
    fix: Annotated[bool, typer.Option(help="Rebuild damaged data where possible.")] = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Check the installation, the models and the index."""
    from fathom.serving.cli.doctor import diagnose
    from fathom.serving.cli.output import format_checks, show_outcome

    with build_engine(index, assignments, offline=offline) as engine:
        findings = diagnose(engine, fix=fix)
    show_outcome({"findings": findings}, format_checks(findings), as_json=as_json)
    return 0 if all(finding.ok for finding in findings) else 5
