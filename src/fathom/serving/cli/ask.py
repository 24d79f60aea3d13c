"""The command `fathom ask`."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.serving.cli.cached_index import choose_index, fill_from
from fathom.serving.cli.many import STDIN, answer_lines
from fathom.serving.cli.options import (
    CallsOption,
    CostOption,
    DeadlineOption,
    DocsOption,
    EffortOption,
    FilterOption,
    HistoryOption,
    IndexOption,
    JsonOption,
    LlmOption,
    MaxErrorOption,
    OfflineOption,
    PaperOption,
    SetOption,
    StrategyOption,
    TokensOption,
    build_engine,
    collect_run_flags,
    note_partial_paths,
    note_warnings,
    note_writer,
)

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from collections.abc import Sequence

    from fathom.engine import Engine
    from fathom.types import Answer

OUT_OF_BUDGET = 4
TENTATIVE = 8
EXIT_CODES = {"answered": 0, "abstained": 3, "failed": 5}


def ask(
    question: Annotated[
        str, typer.Argument(help="The question; - reads one question a line from stdin.")
    ],
    docs: DocsOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    strategy: StrategyOption = None,
    paper: PaperOption = None,
    llm: LlmOption = None,
    effort: EffortOption = None,
    max_tokens: TokensOption = None,
    max_calls: CallsOption = None,
    max_cost: CostOption = None,
    deadline: DeadlineOption = None,
    max_error: MaxErrorOption = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="A few lines: answer, quotes, places and probability.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also show the steps with their reasons.")
    ] = False,
    history: HistoryOption = None,
    filters: FilterOption = None,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Answer a question with citations, or say that the documents hold no answer."""
    from dataclasses import asdict

    from fathom.question.conversation import load_dialogue
    from fathom.serving.brief import make_brief, serialize_brief
    from fathom.serving.cli.output import (
        format_answer,
        format_brief,
        link_citations,
        measure_running_seconds,
        show,
        show_json,
    )
    from fathom.serving.cli.steps import make_step_listener

    turns = load_dialogue(history) if history else ()
    flags = collect_run_flags(llm, effort, max_tokens, max_calls, max_cost, deadline)
    flags |= {"ask.strategy": strategy, "ask.paper": paper, "ask.max_error": max_error}

    def answer_question(engine: "Engine", text: str) -> "Answer":
        listener = make_step_listener()
        answer = engine.ask(text, filters=filters or (), history=turns, listener=listener)
        _note_remarks(engine, answer, filters or (), is_brief=brief)
        return answer

    def serialize(engine: "Engine", answer: "Answer") -> dict[str, Any]:
        shape = (
            serialize_brief(make_brief(engine, answer, filters or ())) if brief else asdict(answer)
        )
        return {**shape, **({"steps": engine.traces.steps(answer)} if explain else {})}

    with (
        build_engine(
            choose_index(docs, index), assignments, offline=offline, flags=flags
        ) as engine,
        fill_from(engine, docs),
    ):
        if not docs:
            note_writer(engine)
        if question == STDIN:
            return answer_lines(
                "question", lambda text: serialize(engine, answer_question(engine, text))
            )
        answer = answer_question(engine, question)
        # Print before the engine closes: closing may have to wait for a search that was cut off.
        if as_json:
            show_json(serialize(engine, answer))
        elif brief:
            show(format_brief(make_brief(engine, answer, filters or ())))
        else:
            show(format_answer(answer, seconds=measure_running_seconds()), link_citations(answer))
        if explain and not as_json:
            show(f"\n{engine.traces.explain(answer)}")
        sys.stdout.flush()
    return choose_exit_code(answer)


def _note_remarks(
    engine: "Engine", answer: "Answer", filters: "Sequence[str]", *, is_brief: bool
) -> None:
    """Write remarks on an answer to stderr, those that the answer itself does not show."""
    note_warnings(answer.warnings if is_brief else ())
    if answer.status == "abstained":
        note_partial_paths(engine, filters)


def choose_exit_code(answer: "Answer") -> int:
    """Return the exit code of an answer."""
    # A code of its own: only after this abstention a higher effort may help.
    if answer.status == "abstained" and answer.stop_reason == "budget":
        return OUT_OF_BUDGET
    return TENTATIVE if answer.tentative else EXIT_CODES[answer.status]
