"""`fathom tune`: which strategy and which settings do best on a user's own questions."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.extensions import STRATEGIES
from fathom.serving.cli.evaluate import (
    ALL_FAILED,
    Reports,
    loaded,
    names_of,
    variants,
)
from fathom.serving.cli.options import (
    STRATEGY_NAMES,
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    SetOption,
    build_engine,
)
from fathom.serving.cli.progress import ingest_progress, show_count
from fathom.serving.cli.terminal import plain

if TYPE_CHECKING:
    from fathom.engine import Engine
    from fathom.evaluation.tuning import Tuning

SETTINGS_FILE = Path("fathom.toml")


def tune(
    questions: Annotated[
        Path, typer.Argument(help="A file of questions about the index, or a data set folder.")
    ],
    strategies: Annotated[
        str | None, typer.Option(help=f"By commas: {STRATEGY_NAMES}; all of them by default.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(help="Values to try for a setting, a.b=1,2,3; may be repeated."),
    ] = None,
    measure: Annotated[str, typer.Option(help="What is to be best, as `eval` names it.")] = "F1",
    queries: Annotated[
        int | None, typer.Option(min=1, help="Only so many: a sample, the same every time.")
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="Keep a record per question here; a later run goes on.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write what is recommended to ./fathom.toml.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report with plots here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table here.")] = None,
    index: IndexOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Try strategies and settings on questions; recommend one where it is surely better."""
    from fathom.evaluation.harness import Evaluation, Systems
    from fathom.evaluation.harness import evaluate as measure_all
    from fathom.evaluation.tuning import check_measure, compare_trials

    check_measure(measure)
    reports = Reports(html=html, markdown=markdown, records=records)
    reports.check()
    wanted = names_of(strategies) or list(STRATEGIES)
    Systems.of([], wanted).check()

    def opening(more: Mapping[str, str]) -> AbstractContextManager["Engine"]:
        given = [*(assignments or ()), *(f"{key}={value}" for key, value in more.items())]
        return build_engine(index, given, offline=offline, flags={"llm.model": llm})

    (dataset,) = loaded([questions], opening({}))
    with opening({}) as engine:
        now = engine.settings.ask.strategy
    parts = []
    for varied in _choices(settings or ()):
        with opening(varied) as engine:
            part = measure_all(
                engine,
                dataset,
                strategies=wanted if varied else list(dict.fromkeys([now, *wanted])),
                queries=queries,
                records=records,
                varied=varied,
                ingesting=ingest_progress(verbose=False),
                on_progress=show_count,
            )
        parts.append(part)
    found = Evaluation.combine(parts)
    made = compare_trials(found.answered, now, measure=measure)
    if html is not None:
        html.write_text(plain(made.to_html(found)), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(f"{plain(made.to_markdown())}\n", encoding="utf-8")
    _show(made, _written(made) if write else None, as_json=as_json)
    return ALL_FAILED if found.all_failed else 0


def _show(made: "Tuning", written: str | None, *, as_json: bool) -> None:
    from fathom.serving.cli.output import show, show_json

    if as_json:
        show_json({**made.to_dict(), "written": written})
    else:
        show("\n".join([made.to_text(), *([f"written to {written}"] if written else [])]))


def _choices(settings: Sequence[str]) -> list[dict[str, str]]:
    """The settings as they are, and each choice of values to try."""
    return [{}, *(each for each in variants(settings) if each)]


def _written(made: "Tuning") -> str | None:
    """Where the recommendation was written; `None` where there is none."""
    if made.recommendation is None:
        return None
    from fathom.config import save_settings

    save_settings(SETTINGS_FILE, made.recommendation.assignments)
    return str(SETTINGS_FILE)
