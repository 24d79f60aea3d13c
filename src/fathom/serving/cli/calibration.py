"""The commands `fathom calibrate` and `fathom feedback`."""

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
    PaperOption,
    QueriesOption,
    RecordsOption,
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
        Path | None,
        typer.Argument(help="A file of questions with answers, or a data set's folder."),
    ] = None,
    with_feedback: Annotated[
        bool, typer.Option("--feedback", help="Also learn from people's feedback on answers.")
    ] = False,
    max_error: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.5, help="An error rate to certify besides 1, 2, 5 and 10 %."),
    ] = None,
    delta: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="Probability that a certificate fails.")
    ] = 0.05,
    strategy: StrategyOption = None,
    paper: PaperOption = None,
    queries: QueriesOption = None,
    records: RecordsOption = None,
    index: IndexOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Learn the probability of right answers from questions with answers; store it in the index."""
    from fathom.evaluation.calibration import calibrate as learn
    from fathom.serving.cli.output import show_outcome

    if questions is None and not with_feedback:
        raise UsageError("calibrate: name a file of questions, or add --feedback")
    if records is not None:
        check_folder(records)
    flags = {"llm.model": llm, "ask.strategy": strategy, "ask.paper": paper}
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        report = learn(
            engine,
            questions,
            feedback=with_feedback,
            max_error=max_error,
            delta=delta,
            queries=queries,
            records=records,
            on_progress=show_count,
        )
    show_outcome(report.to_dict(), report.to_text(), as_json=as_json)


def feedback(
    trace_id: Annotated[
        str, typer.Argument(metavar="TRACE", help="Id of the answer's trace, or its beginning.")
    ],
    right: Annotated[bool, typer.Option("--right", help="The answer was right.")] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="The answer was wrong.")] = False,
    answer: Annotated[str, typer.Option(help="The right answer.")] = "",
    source: Annotated[
        list[str] | None,
        typer.Option(help="A document that holds it, by id or path; may be repeated."),
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Record that an answer was right or wrong, or give the right answer."""
    from fathom.serving.cli.output import show_outcome

    if [right, wrong, bool(answer)].count(True) != 1:
        raise UsageError("feedback: give one of --right, --wrong and --answer TEXT")
    if source and not answer:
        raise UsageError("--source names a document with the right answer; add --answer TEXT")
    if not _is_utf8(answer):
        raise UsageError("--answer is not UTF-8 text; type it again or convert it")
    with build_engine(index, assignments, offline=offline) as engine:
        entry = engine.calibration.add_feedback(
            trace_id, right=None if answer else right, answer=answer, sources=source or ()
        )
    show_outcome(entry, format_feedback(entry), as_json=as_json)


def _is_utf8(text: str) -> bool:
    """Return whether an argument was UTF-8; Python decodes other bytes to surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def format_feedback(entry: "Feedback") -> str:
    """Return stored feedback and its effect in one line."""
    summary = f"stored: {entry.said}" + (f", {entry.answer}" if entry.answer else "")
    # The question gets this answer only as long as its quotes are in the documents.
    if entry.again is not None:
        count = len(entry.again["citations"])
        condition = "its quote is" if count == 1 else f"its {count} quotes are"
        return f"{summary}; this question gets it again while {condition} in the documents"
    if entry.said == "wrong":
        return f"{summary}; `fathom calibrate --feedback` learns from it"
    return f"{summary}; no cited document contains it word for word, so it is not given again"


def format_calibration(calibration: "Calibration") -> str:
    """Return a calibration in one line."""
    counts = ", ".join(f"{name} {value}" for name, value in calibration.made_of.items())
    rates = [
        f"at most {certificate.max_error * 100:.4g}% wrong from {certificate.threshold:.2f} on "
        f"({certificate.coverage:.0%} answered)"
        for certificate in calibration.certificates
        if certificate.threshold is not None
    ]
    outcome = "no rate of errors certified"
    if rates:
        # All certificates of a calibration have the same `delta`.
        chance = 100 * (1 - calibration.certificates[0].delta)
        outcome = f"{'; '.join(rates)}; each with a probability of {chance:.4g}%"
    strategy = calibration.identity["strategy"]
    return f"{strategy} is calibrated on {calibration.source} ({counts}): {outcome}"
