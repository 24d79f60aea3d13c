"""`fathom calibrate` and `fathom feedback`: what answers are worth, by those who know better."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.files import check_folder
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    SetOption,
    StrategyOption,
    build_engine,
)
from fathom.serving.cli.progress import show_count

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.calibration.law import Calibration
    from fathom.index.feedback import Feedback


def calibrate(
    questions: Annotated[
        Path | None, typer.Argument(help="Questions with answers: a file, or a data set's folder.")
    ] = None,
    said: Annotated[
        bool, typer.Option("--feedback", help="Learn from what people said of answers too.")
    ] = False,
    max_error: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.5, help="A rate to certify beside 1, 2, 5 and 10 %."),
    ] = None,
    delta: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="How often a certificate may fail.")
    ] = 0.05,
    strategy: StrategyOption = None,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Only so many: a sample, the same every time.")
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="Keep a record per question here; a later run goes on after them."),
    ] = None,
    index: IndexOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Learn from questions with answers how sure answers are; kept with the index."""
    from fathom.evaluation.calibration import calibrate as learn
    from fathom.serving.cli.output import show, show_json

    if questions is None and not said:
        raise UsageError("calibrate: name a file of questions, or add --feedback")
    if records is not None:
        check_folder(records)
    flags = {"llm.model": llm, "ask.strategy": strategy}
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        report = learn(
            engine,
            questions,
            feedback=said,
            max_error=max_error,
            delta=delta,
            queries=queries,
            records=records,
            on_progress=show_count,
        )
    if as_json:
        show_json(report.to_dict())
    else:
        show(report.to_text())


def feedback(
    trace_id: Annotated[
        str, typer.Argument(metavar="TRACE", help="Id of the answer's trace, or its beginning.")
    ],
    right: Annotated[
        bool | None, typer.Option("--right/--wrong", help="Whether the answer was right.")
    ] = None,
    answer: Annotated[str, typer.Option(help="What the right answer is.")] = "",
    source: Annotated[
        list[str] | None,
        typer.Option(help="A document that holds it, by id or path; may be repeated."),
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
) -> None:
    """Say that an answer was right or wrong, or what the right one is."""
    from fathom.serving.cli.output import show, show_json

    with build_engine(index, assignments) as engine:
        made = engine.calibration.add_feedback(
            trace_id, right=right, answer=answer, sources=source or ()
        )
    if as_json:
        show_json(made)
    else:
        show(told(made))


def told(made: "Feedback") -> str:
    """What was kept, and what comes of it."""
    kept = f"kept: {made.said}" + (f", {made.answer}" if made.answer else "")
    if made.again is not None:
        count = len(made.again["citations"])
        stands = "its quote stands" if count == 1 else f"its {count} quotes stand"
        return f"{kept}; given again to this question while {stands}"
    if made.said == "wrong":
        return f"{kept}; `fathom calibrate --feedback` learns from it"
    return f"{kept}; no document cited holds it word for word, so it is not given again"


def calibration_text(made: "Calibration") -> str:
    """A calibration in one line."""
    told = ", ".join(f"{name} {value}" for name, value in made.made_of.items())
    rates = [
        f"at most {each.max_error:.0%} wrong from {each.threshold:.2f} on "
        f"({each.coverage:.0%} answered)"
        for each in made.certificates
        if each.threshold is not None
    ]
    certified = "; ".join(rates) or "no rate of errors certified"
    return f"{made.identity['strategy']} is calibrated on {made.source} ({told}): {certified}"
