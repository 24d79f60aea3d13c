"""`fathom calibrate`: how sure answers are, learned from questions whose answers are known."""

from pathlib import Path
from typing import Annotated

import typer

from fathom.serving.cli.evaluate import show_count
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


def calibrate(
    questions: Annotated[
        Path, typer.Argument(help="Questions with answers: a file, or a data set's folder.")
    ],
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

    if records is not None:
        check_folder(records)
    flags = {"llm.model": llm, "ask.strategy": strategy}
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        report = learn(
            engine,
            questions,
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
