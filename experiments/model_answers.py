"""Record what a language model and the local reader answer from the same evidence.

    python -m experiments.model_answers SET... --indexes PLACE --model local:FILE --records FILE

Each set is a folder below SHARED_DATA; its index lies below PLACE by its name, or is made there. A
line of the file is one question: whether each of the two is right, how sure the local reader is,
and the factors of the confidence in the model's answer. A run that was stopped goes on where it
was. `--publish` adds the lines, without the answers themselves, to
`experiments/results/model_answers.jsonl.gz`: what stands there is not asked again, and
`training/fit_model_calibration.py` learns from it. `--table` asks nothing, and prints from which
confidence on the local answer should count, and who answers better by the P(right) of the reader's
draft.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import fmean

from experiments.lab.samples import draw_unlearned
from research.model_answers import (
    REPORTED,
    build_key,
    name_file,
    name_model,
    read_records,
    write_records,
)

from fathom.agents.reader.llm import LLMReader
from fathom.agents.reader.signals import AnswerSignals
from fathom.assembly.calibrations import load_shipped_calibrations
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.evaluation.datasets import DatasetQuestion, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.evaluation.statistics import bootstrap_interval
from fathom.question.question import Question
from fathom.settings import Settings
from fathom.testing.doubles import run_context
from fathom.text.answer_scores import is_right, score_f1
from fathom.types import Draft
from fathom.usage import Usage

THRESHOLDS = (0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95, 2)
PROBABILITIES = (0, 0.1, 0.2, 0.3, 0.4, inf)
DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The answers of a model and of the local reader to one question.

    Attributes:
        has_reply: Whether the model gives an answer.
        has_answer: Whether something of it holds.
        model_answer: Its short answer, or its text; empty if nothing of it holds.
        factors: The factors of the confidence in it; empty without evidence.
        places: Chunk, start and end of each of its quotes; not published.
        local_places: The same of the local answer.
        signals: The signals of the model's answer, `sure` by the present law of its confidence.
        local_signals: The signals of the local answer.
        calls: The calls of the model; 2 if its first answer had a fault.
        prompt: The tokens of the prompts.
        seconds: The time of the model and of the checks of its answer; `None` if the model ran on
            another machine.
    """

    dataset: str
    question: str
    model: str
    language: str
    form: str
    answerable: bool
    has_reply: bool
    has_answer: bool
    model_right: bool
    model_f1: float
    factors: tuple[float, ...]
    local_right: bool
    local_f1: float
    local_confidence: float
    local_places: tuple[tuple[str, int, int], ...]
    calls: int
    signals: Mapping[str, float]
    local_signals: Mapping[str, float]
    prompt: int
    written: int
    seconds: float | None
    places: tuple[tuple[str, int, int], ...] = ()
    model_answer: str = ""
    local_answer: str = ""


def get_text(draft: Draft) -> str:
    """Return the short answer of a draft, or its sentences, or its quotes."""
    sentences = [claim.text for claim in draft.claims] or [item.quote for item in draft.evidence]
    return draft.short_answer or " ".join(sentences)


def list_places(draft: Draft) -> tuple[tuple[str, int, int], ...]:
    """Return the chunk, the start and the end of each quote."""
    return tuple((item.hit.chunk.id, item.span.start, item.span.end) for item in draft.evidence)


def grade(answer: str, question: DatasetQuestion) -> tuple[bool, float]:
    """Return whether an answer is right, and its F1; no answer is right where there is none."""
    if not question.answerable:
        return not answer, float(not answer)
    return bool(answer) and is_right(answer, question.answers), score_f1(answer, question.answers)


def ask(engine: Engine, reader: LLMReader, question: DatasetQuestion, dataset: str) -> ModelAnswer:
    """Return the answers to one question."""
    parsed = Question(question.text)
    hits = engine.search(question.text, k=engine.settings.ask.chunks)

    async def read() -> tuple[Draft, Draft | None, float, Usage]:
        with run_context() as context:
            local_draft = await reader.local.read(parsed, hits, context)
            start = time.monotonic()
            draft = await reader.ask_for_draft(parsed, hits, context)
            seconds = time.monotonic() - start
            return local_draft, draft, seconds, context.ledger.usage

    local_draft, draft, seconds, usage = asyncio.run(read())
    local_answer, answer = get_text(local_draft), get_text(draft or Draft())
    factors: tuple[float, ...] = ()
    if draft and draft.evidence:
        factors = reader.confidence.compute_factors(parsed, draft, local_draft)
        draft = replace(draft, confidence=reader.confidence(parsed, draft, local_draft))
    describe = AnswerSignals(pairs=engine.assembly.cross_reader)
    model_right, model_f1 = grade(answer, question)
    local_right, local_f1 = grade(local_answer, question)
    return ModelAnswer(
        dataset=dataset,
        question=question.id,
        model=name_file(reader.model.chat.name),
        language=parsed.language,
        form=parsed.form,
        answerable=question.answerable,
        has_reply=draft is not None,
        has_answer=bool(answer),
        model_answer=answer,
        model_right=model_right,
        model_f1=round(model_f1, 4),
        factors=tuple(round(factor, 4) for factor in factors),
        local_answer=local_answer,
        local_right=local_right,
        local_f1=round(local_f1, 4),
        local_confidence=local_draft.confidence,
        places=list_places(draft or Draft()),
        local_places=list_places(local_draft),
        calls=usage.llm_calls,
        signals=describe(parsed, draft or Draft(), hits),
        local_signals=describe(parsed, local_draft, hits),
        prompt=usage.prompt_tokens,
        written=usage.completion_tokens,
        seconds=round(seconds, 2),
    )


def iterate_answers(
    name: str, arguments: argparse.Namespace, seen: set[tuple[str, str, str]]
) -> Iterator[ModelAnswer]:
    """Yield the answers to a fixed sample of a set, except those seen."""
    dataset = load(DATA / name)
    settings = parse_settings(
        {"index.directory": str(arguments.indexes / name), "llm.model": arguments.model}
    )
    sample = draw_unlearned(dataset, arguments.most)
    with prepare_engine(Engine(settings), dataset) as engine:
        model = engine.assembly.models.language_models.get_by_name(arguments.model)
        reader = LLMReader.of(engine.assembly, model)
        key = name_model(name_file(arguments.model))
        chosen = [question for question in sample if (name, question.id, key) not in seen]
        for question in chosen[: arguments.questions]:
            yield ask(engine, reader, question, name)


def choose_answer(answer: ModelAnswer, threshold: float) -> tuple[float, bool, int]:
    """Return F1, whether it is right, and tokens of the answer that counts with a threshold.

    The local answer counts if its confidence reaches the threshold, or if nothing of the model's
    holds.
    """
    if answer.local_confidence >= threshold:
        return answer.local_f1, answer.local_right, 0
    tokens = answer.prompt + answer.written
    if answer.has_answer:
        return answer.model_f1, answer.model_right, tokens
    return answer.local_f1, answer.local_right, tokens


def format_tables(answers: Sequence[ModelAnswer]) -> str:
    """Return a table of each model over the sets that may be chosen on, and one of each other."""
    groups: dict[str, list[ModelAnswer]] = {}
    for answer in sorted(
        answers, key=lambda answer: (name_model(answer.model), answer.dataset in REPORTED)
    ):
        is_reported = answer.dataset in REPORTED
        suffix = f", {answer.dataset}, reported only" if is_reported else ""
        groups.setdefault(f"{name_model(answer.model)}{suffix}", []).append(answer)
    return "\n\n".join(
        f"{name}: {format_table(group)}\n\n{format_probabilities(group)}"
        for name, group in groups.items()
    )


def format_table(answers: Sequence[ModelAnswer]) -> str:
    """Return a row for each threshold, over all answers."""
    lines = [
        f"{len(answers)} questions",
        "| local from | F1 | 95 % | right | asked the model | tokens |",
        "|---|---|---|---|---|---|",
    ]
    for threshold in THRESHOLDS:
        chosen = [choose_answer(answer, threshold) for answer in answers]
        low, high = bootstrap_interval([f1 for f1, _, _ in chosen])
        lines.append(
            f"| {threshold:g} | {fmean(f1 for f1, _, _ in chosen):.3f} | {low:.3f} to {high:.3f} | "
            f"{fmean(right for _, right, _ in chosen):.3f} | "
            f"{fmean(tokens > 0 for _, _, tokens in chosen):.2f} | "
            f"{fmean(tokens for _, _, tokens in chosen):.0f} |"
        )
    return "\n".join(lines)


def format_probabilities(answers: Sequence[ModelAnswer]) -> str:
    """Return a row for each range of P(right) of a local draft that is not sure."""
    law = load_shipped_calibrations()["adaptive"].law
    lines = [
        "| P(right) of the local draft | questions | F1 of the model | F1 of the reader |",
        "|---|---|---|---|",
    ]
    sure = Settings().llm.choose_skip_confidence("local:")
    unsure = [answer for answer in answers if answer.local_confidence < sure]
    for low, high in pairwise(PROBABILITIES):
        group = [answer for answer in unsure if low <= law(answer.local_signals) < high]
        if group:
            lines.append(
                f"| {low:g} to {min(high, 1):g} | {len(group)} "
                f"| {fmean(a.model_f1 for a in group):.3f} "
                f"| {fmean(a.local_f1 for a in group):.3f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--records", type=Path)
    parser.add_argument("--questions", type=int, default=40, help="new ones of each set")
    parser.add_argument("--most", type=int, default=250, help="the size of a set's sample")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--publish", action="store_true")
    arguments = parser.parse_args()
    rows = [*read_records(), *map(json.loads, read_whole_lines(arguments.records))]
    if arguments.publish:
        write_records(rows)
        return
    if arguments.table:
        print(format_tables([ModelAnswer(**row) for row in rows]))
        return
    seen = {build_key(row) for row in rows}
    for name in arguments.sets:
        for answer in iterate_answers(name, arguments, seen):
            append_line(arguments.records, asdict(answer))


if __name__ == "__main__":
    main()
