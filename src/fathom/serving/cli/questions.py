"""The command `fathom questions make`, which makes questions from the documents of an index."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.serving.cli.evaluate import split_names
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
_USUAL_FILE = Path("questions.jsonl")


@questions.callback()
def _root() -> None:
    """Define the group of commands about questions."""


@questions.command()
def make(
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the questions here, one JSON object a line; by default questions.jsonl, "
            "if there is none yet."
        ),
    ] = None,
    number: Annotated[
        int, typer.Option("--number", help="Number of questions of all kinds together.")
    ] = 120,
    kinds: Annotated[
        str | None,
        typer.Option(
            help="Kinds of questions, comma-separated: single-hop, multi-hop, numeric, list, "
            "conflicting, unanswerable; by default all."
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="en or id; by default the documents' languages.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other questions.")] = 0,
    llm: LlmOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Make questions from the documents, some with answers and some without."""
    from fathom.serving.cli.files import check_documents, choose_output
    from fathom.serving.cli.output import show_outcome

    file = choose_output(out, _USUAL_FILE)
    with build_engine(index, assignments, offline=offline, flags={"llm.model": llm}) as engine:
        check_documents(file, engine)
        question_set = engine.make_questions(
            number,
            kinds=split_names(kinds),
            languages=[language] if language else (),
            seed=seed,
            on_made=partial(show_count, "questions"),
        )
    question_set.write(file)
    show_outcome(
        _serialize_questions(question_set, file),
        _format_questions(question_set, file),
        as_json=as_json,
    )
    # An empty file is a failure, so that a script that measures with it notices.
    return 0 if question_set.questions else 3


def _format_questions(question_set: "QuestionSet", file: Path) -> str:
    """Return the counts of questions by kind, and of rejected questions by reason."""
    counts = ", ".join(f"{made} {kind}" for kind, made in question_set.counts.items())
    count = len(question_set.questions)
    noun = "question" if count == 1 else "questions"
    lines = [f"{count} synthetic {noun} in {file}: {counts or 'none'}"]
    if count < question_set.target:
        lines.append(
            f"{question_set.target} were requested, equally many of each kind; the documents gave "
            f"too few of {', '.join(question_set.lacking)}"
        )
    if question_set.refusals:
        reasons = ", ".join(f"{lost} {reason}" for reason, lost in question_set.refusals.items())
        lines.append(f"rejected: {reasons}")
    return "\n".join(lines)


def _serialize_questions(question_set: "QuestionSet", file: Path) -> dict[str, Any]:
    """Return the counts in the shape of `--json`."""
    return {
        "file": str(file),
        "synthetic": True,
        "questions": len(question_set.questions),
        "wanted": question_set.target,
        "kinds": question_set.counts,
        "refused": dict(question_set.refusals),
    }
