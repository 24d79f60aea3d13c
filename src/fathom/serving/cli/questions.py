"""`fathom questions make`: a file of questions made of the index's own documents."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    SetOption,
    build_engine,
)
from fathom.serving.cli.progress import show_count

if TYPE_CHECKING:
    from fathom.question_maker import QuestionSet

questions = typer.Typer(no_args_is_help=True, help="Questions to measure and calibrate with.")


@questions.callback()
def _root() -> None:
    """See the help of each command."""


@questions.command()
def make(
    out: Annotated[
        Path, typer.Option("--out", help="Write them here, one JSON object a line.")
    ] = Path("questions.jsonl"),
    number: Annotated[int, typer.Option("--number", help="How many, all kinds together.")] = 120,
    kinds: Annotated[
        str | None,
        typer.Option(
            help="By commas: single-hop, multi-hop, numeric, list, conflicting, unanswerable."
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="en or id; by default what the documents are in.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, other questions.")] = 0,
    llm: LlmOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Make questions from the documents, with their answers and some that have none."""
    from fathom.serving.cli.files import check_writable
    from fathom.serving.cli.output import show, show_json

    check_writable(out)
    with build_engine(index, assignments, offline=offline, flags={"llm.model": llm}) as engine:
        made = engine.make_questions(
            number,
            kinds=[each.strip() for each in kinds.split(",")] if kinds else (),
            languages=[language] if language else (),
            seed=seed,
            on_made=partial(show_count, "questions"),
        )
    made.write(out)
    if as_json:
        show_json(_told(made, out))
    else:
        show(_text(made, out))
    return 0 if made.questions else 3


def _text(made: "QuestionSet", file: Path) -> str:
    """What was made, by kind, and that nobody asked it."""
    counts = ", ".join(f"{count} {kind}" for kind, count in made.counts.items())
    lines = [f"{len(made.questions)} synthetic questions in {file}: {counts or 'none'}"]
    if len(made.questions) < made.target:
        lines.append(f"{made.target} were wanted; the documents gave no more of these kinds")
    if made.refusals:
        told = ", ".join(f"{count} {reason}" for reason, count in made.refusals.items())
        lines.append(f"not taken: {told}")
    return "\n".join(lines)


def _told(made: "QuestionSet", file: Path) -> dict[str, Any]:
    """The same for programs."""
    return {
        "file": str(file),
        "synthetic": True,
        "questions": len(made.questions),
        "wanted": made.target,
        "kinds": made.counts,
        "refused": dict(made.refusals),
    }
