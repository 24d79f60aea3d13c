"""The commands that look after an index: docs, config, status, doctor."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    SetOption,
    build_engine,
    index_flags,
)

docs = typer.Typer(help="List, show and remove documents.", no_args_is_help=True)
vectors = typer.Typer(help="Vectors of further embedders.", no_args_is_help=True)
config = typer.Typer(help="Settings and where they come from.", no_args_is_help=True)


@docs.command("list")
def docs_list(
    index: IndexOption = None, as_json: JsonOption = False, assignments: SetOption = None
) -> None:
    """All documents with id, language, chunks, path and title."""
    from dataclasses import asdict

    from fathom.serving.cli.output import documents_text, show, show_json

    with build_engine(index, assignments) as engine:
        documents = list(engine.documents.list())
    if as_json:
        show_json({"documents": [asdict(document) for document in documents]})
    else:
        show(documents_text(documents))


@docs.command("show")
def docs_show(
    document: Annotated[str, typer.Argument(help="Id or path.")],
    at: Annotated[
        str | None,
        typer.Option(help="Open at a place: a citation's line, or its START-END characters."),
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
) -> None:
    """The text of a document as it was read, or what stands around one place of it."""
    from fathom.serving.cli.document_view import opened_json, opened_text, place_of
    from fathom.serving.cli.output import show, show_json
    from fathom.serving.cli.terminal import is_terminal
    from fathom.serving.shapes import document_json

    with build_engine(index, assignments) as engine:
        found = engine.documents.get(document)
    span = place_of(found, at) if at is not None else None
    if as_json:
        whole = document_json(found)
        show_json(whole if span is None else {**whole, "at": opened_json(found, span)})
    elif span is None:
        show(found.text)
    else:
        styled = is_terminal() and not os.environ.get("NO_COLOR")
        sys.stdout.write(opened_text(found, span, styled=styled) + "\n")


@docs.command("rm")
def docs_rm(
    documents: Annotated[list[str], typer.Argument(help="Ids, paths, folders, '*.md'.")],
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
) -> None:
    """Remove documents with all their chunks; the files themselves stay."""
    from fathom.serving.cli.output import show, show_json

    with build_engine(index, assignments) as engine:
        removed = engine.documents.remove(documents)
    if as_json:
        show_json({"removed": removed})
    else:
        show(f"{removed} removed")


@vectors.command("list")
def vectors_list(
    index: IndexOption = None, as_json: JsonOption = False, assignments: SetOption = None
) -> None:
    """Of which further embedders there are vectors, and of how many chunks."""
    from dataclasses import asdict

    from fathom.serving.cli.output import show, show_json, space_text

    with build_engine(index, assignments) as engine:
        state = engine.status()
    if as_json:
        show_json({"vectors": [asdict(space) for space in state.spaces]})
    else:
        lines = [space_text(space, state.chunks) for space in state.spaces]
        show("\n".join(lines) or "none beside those of models.embedder")


@vectors.command("drop")
def vectors_drop(
    name: Annotated[str, typer.Argument(help="The embedder, as in retrieval.embedders.")],
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
) -> None:
    """Remove the vectors of one further embedder; documents and other vectors stay."""
    from fathom.serving.cli.output import show, show_json

    with build_engine(index, assignments) as engine:
        engine.drop_vectors(name)
    if as_json:
        show_json({"dropped": name})
    else:
        show(f"vectors of {name} dropped")


def status(
    index: IndexOption = None,
    as_json: JsonOption = False,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="Which files changed or vanished since they were read."),
    ] = False,
    assignments: SetOption = None,
) -> None:
    """Counts, sizes and identity of the index."""
    from fathom.serving.cli.calibration import calibration_text
    from fathom.serving.cli.output import outdated_text, show, show_json, status_text
    from fathom.serving.shapes import status_json

    with build_engine(index, assignments) as engine:
        if stale:
            found = engine.documents.outdated()
            if as_json:
                show_json({"stale": found})
            else:
                show(outdated_text(found))
            return
        state = engine.status()
        kept, place = engine.calibration.list(), str(engine.index)
    if as_json:
        show_json(status_json(state, kept))
    else:
        told = [place, status_text(state), *map(calibration_text, kept.values())]
        show("\n".join(told))


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Index directory or URL.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Likewise; empty, or a copy of it.")],
    as_json: JsonOption = False,
    assignments: SetOption = None,
) -> None:
    """Copy an index to another engine, with its traces, and keys and talks of a server."""
    from fathom.serving.cli.output import show, show_json
    from fathom.serving.http.moving import move_kept

    told: list[str] = []
    with build_engine(source, assignments) as engine, build_engine(target, assignments) as other:

        def beside() -> None:
            told.extend(move_kept(engine.index, other.index, engine.directory))

        state = engine.copy_to(other, beside)
    if as_json:
        copied = {"documents": state.documents, "chunks": state.chunks, "content": state.content}
        show_json({**copied, "beside": told})
    else:
        show("\n".join([f"{state.documents} documents, {state.chunks} chunks copied", *told]))


@config.command("show")
def config_show(
    index: IndexOption = None, as_json: JsonOption = False, assignments: SetOption = None
) -> None:
    """Every setting with its value and where it came from."""
    from fathom.config import Layers
    from fathom.serving.cli.output import settings_text, show, show_json

    flags = index_flags(index)
    values = Layers.load(cwd=Path.cwd(), flags=flags, assignments=assignments or []).values()
    if as_json:
        show_json({value.key: {"value": value.value, "origin": value.origin} for value in values})
    else:
        show(settings_text(values))


@config.command("prompts")
def config_prompts(
    name: Annotated[str | None, typer.Argument(help="Show this one alone, whole.")] = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
) -> None:
    """What language models are told: every prompt with its version, or the text of one."""
    from fathom.assembly.prompts import choose_prompts
    from fathom.config import Layers
    from fathom.evaluation.judges import load_grading_prompts
    from fathom.serving.cli.output import prompt_json, prompts_text, show, show_json

    settings = Layers.load(cwd=Path.cwd(), assignments=assignments or []).settings()
    graders = {each.name: each for each in load_grading_prompts(settings).values()}
    prompts = {**choose_prompts(settings), **graders}
    if name is None:
        if as_json:
            show_json({"prompts": [prompt_json(each) for each in prompts.values()]})
        else:
            show(prompts_text(list(prompts.values())))
        return
    if name not in prompts:
        raise UsageError(f"there is no prompt {name!r}; there are {', '.join(prompts)}")
    if as_json:
        show_json(prompt_json(prompts[name]))
    else:
        show(prompts[name].text)


def doctor(
    index: IndexOption = None,
    as_json: JsonOption = False,
    fix: Annotated[bool, typer.Option(help="Rebuild what can be rebuilt.")] = False,
    assignments: SetOption = None,
) -> int:
    """Check the installation, the model and the index."""
    from fathom.serving.cli.doctor import diagnose
    from fathom.serving.cli.output import findings_text, show, show_json

    with build_engine(index, assignments) as engine:
        findings = diagnose(engine, fix=fix)
    if as_json:
        show_json({"findings": findings})
    else:
        show(findings_text(findings))
    return 0 if all(finding.ok for finding in findings) else 5
