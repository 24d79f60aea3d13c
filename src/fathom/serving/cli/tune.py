"""The command `fathom tune`, which finds the best strategy and settings for given questions."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.registry import STRATEGIES
from fathom.serving.cli.evaluate import (
    ALL_FAILED,
    ReportFiles,
    check_variants,
    expand_variants,
    list_inputs,
    load_datasets,
    open_variant,
    split_names,
)
from fathom.serving.cli.files import SETTINGS_FILE, check_writable
from fathom.serving.cli.options import (
    STRATEGY_NAMES,
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    QueriesOption,
    RecordsOption,
    SetOption,
    note_warnings,
)
from fathom.serving.cli.progress import show_count, show_ingest_progress
from fathom.serving.invisible import replace_controls

if TYPE_CHECKING:
    from fathom.evaluation.tuning import Tuning


def tune(
    questions: Annotated[
        Path, typer.Argument(help="A file of questions about the index, or a data set folder.")
    ],
    strategies: Annotated[
        str | None,
        typer.Option(
            help=f"Strategies to try, comma-separated: {STRATEGY_NAMES}; by default all shipped."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(help="Values to try for a setting, a.b=1,2,3; may be repeated."),
    ] = None,
    measure: Annotated[
        str, typer.Option(help="The measure to compare by, as `eval` names it.")
    ] = "F1",
    queries: QueriesOption = None,
    records: RecordsOption = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the recommendation to ./fathom.toml.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report with plots here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table here.")] = None,
    index: IndexOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Try strategies and settings on questions; recommend one if it is significantly better."""
    from fathom.evaluation.harness import Evaluation, Systems
    from fathom.evaluation.harness import evaluate as measure_all
    from fathom.evaluation.tuning import check_measure, compare_trials

    check_measure(measure)
    reports = ReportFiles(html=html, markdown=markdown, records=records)
    reports.check(list_inputs([questions]))
    if write:
        check_writable(SETTINGS_FILE)
    tried = split_names(strategies) or list(STRATEGIES)
    Systems.of([], tried).check()

    open_engine = partial(
        open_variant, index, assignments, offline=offline, flags={"llm.model": llm}
    )
    variants = _list_variants(settings or ())
    check_variants(open_engine, variants)
    (dataset,) = load_datasets([questions], open_engine({}))
    with open_engine({}) as engine:
        current = engine.settings.ask.strategy
    evaluations = []
    for varied in variants:
        with open_engine(varied) as engine:
            evaluated = measure_all(
                engine,
                dataset,
                # Every trial is compared with the strategy and the settings in use, so these are
                # always measured.
                strategies=tried if varied else list(dict.fromkeys([current, *tried])),
                queries=queries,
                records=records,
                varied=varied,
                ingesting=show_ingest_progress(verbose=False),
                on_progress=show_count,
            )
        note_warnings(evaluated.warnings)
        evaluations.append(evaluated)
    evaluation = Evaluation.combine(evaluations)
    tuning = compare_trials(evaluation.answered, current, measure=measure)
    if html is not None:
        html.write_text(replace_controls(tuning.to_html(evaluation)), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(f"{replace_controls(tuning.to_markdown())}\n", encoding="utf-8")
    _show_tuning(tuning, _write_recommendation(tuning) if write else None, as_json=as_json)
    return ALL_FAILED if evaluation.all_failed else 0


def _show_tuning(tuning: "Tuning", written: str | None, *, as_json: bool) -> None:
    from fathom.serving.cli.output import show, show_json

    if as_json:
        show_json({**tuning.to_dict(), "written": written})
    else:
        show("\n".join([tuning.to_text(), *([f"written to {written}"] if written else [])]))


def _list_variants(settings: Sequence[str]) -> list[dict[str, str]]:
    """Return an empty variant, which is the settings in use, and all combinations of values.

    Raises:
        UsageError: If a text is malformed, or names the strategy.
    """
    variants = [variant for variant in expand_variants(settings) if variant]
    # Each trial has its own strategy, which this setting would contradict.
    if any("ask.strategy" in variant for variant in variants):
        raise UsageError("--settings ask.strategy: name the strategies with --strategies")
    return [{}, *variants]


def _write_recommendation(tuning: "Tuning") -> str | None:
    """Write the recommendation; return the file, or `None` if there is no recommendation."""
    if tuning.recommendation is None:
        return None
    from fathom.config import save_settings

    save_settings(SETTINGS_FILE, tuning.recommendation.assignments)
    return str(SETTINGS_FILE)
