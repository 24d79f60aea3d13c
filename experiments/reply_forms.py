"""Measure the forms in which a language model can answer from pruned evidence.

    python -m experiments.reply_forms FOLDER... --indexes PLACE --model local:FILE --records FILE

Each folder is a data set with answers; its index lies below PLACE by its name, or is made there.
Every question is asked once in each form and for each number of tokens of evidence; a line of the
file of records holds one reply, so that a run which was stopped goes on where it was. `--table`
prints the table of the records, with intervals.

The forms: `bare` is the answer and nothing else; `lines` is the numbers of the sentences in one
line and the answer in the next; `short` is the same as a JSON object, held to a schema; `prose` is
the sentences of an answer with their numbers and a short answer, as nested JSON.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from pydantic import ValidationError

from fathom.agents.prompt_delimiters import fence_once, format_rule, make_fence
from fathom.agents.reader.citations import number_sentences
from fathom.agents.reader.reply_forms import NumberForm, ShortForm
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.evaluation.datasets import DatasetQuestion, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.evaluation.statistics import bootstrap_interval
from fathom.llm.base import Call, ChatModel, Message
from fathom.llm.schema import build_schema
from fathom.llm.structured_reply import parse_reply
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner, PrunedHit
from fathom.settings import Settings
from fathom.text.answer_match import contains_answer
from fathom.text.answer_scores import is_right, score_f1
from fathom.types import Hit

CHUNKS = 8
MOST_S = 600.0
_TASK = "You answer a question from {} of documents, and from nothing else."
_BARE = "the bare answer: a name, a number, a date, yes or no, or a few words"
_UNKNOWN = "unanswerable"
BARE_PROMPT = f"""\
{_TASK.format("parts")}
Write {_BARE}, in the language of the question, and nothing else.
If they do not answer it, write: {_UNKNOWN}"""
LINES_PROMPT = f"""\
{_TASK.format("the numbered sentences")}
Write two lines. The first: the numbers of the sentences that say it. The second: {_BARE}, in the \
language of the question.
If they do not answer it, write: {_UNKNOWN}"""


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply as it was understood.

    Attributes:
        answer: The short answer; empty for none.
        numbers: The numbers of the sentences that it names.
        is_valid: Whether the reply has the form that was asked for.
    """

    answer: str
    numbers: tuple[int, ...] = ()
    is_valid: bool = True


@dataclass(frozen=True, slots=True)
class TriedForm:
    """A form: how it asks, and how its reply is understood."""

    name: str
    build: Callable[[Question, Sequence[PrunedHit]], tuple[list[Message], dict[str, Any] | None]]
    parse: Callable[[str], ParsedReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One reply to one question."""

    dataset: str
    question: str
    model: str
    form: str
    tokens: int
    text: str
    answer: str
    valid: bool
    answerable: bool
    f1: float
    right: bool
    cited: bool
    prompt: int
    written: int
    seconds: float

    @property
    def is_wrong(self) -> bool:
        """True for an answer that is not right."""
        return bool(self.answer) and not self.right


def build_bare(
    question: Question, shown: Sequence[PrunedHit]
) -> tuple[list[Message], dict[str, Any] | None]:
    texts = [f"{item.hit.chunk.breadcrumb}\n{item.text}".strip() for item in shown]
    return _build_messages(BARE_PROMPT, question, texts), None


def build_lines(
    question: Question, shown: Sequence[PrunedHit]
) -> tuple[list[Message], dict[str, Any] | None]:
    texts, _ = number_sentences(shown)
    return _build_messages(LINES_PROMPT, question, texts), None


def build_short(
    question: Question, shown: Sequence[PrunedHit]
) -> tuple[list[Message], dict[str, Any] | None]:
    form = ShortForm()
    request = form.build_request(question, shown)
    return list(request.messages), build_schema(form.kind, request.choices)


def build_prose(
    question: Question, shown: Sequence[PrunedHit]
) -> tuple[list[Message], dict[str, Any] | None]:
    form = NumberForm()
    request = form.build_request(question, shown)
    schema = build_schema(form.kind, request.choices)
    first, *rest = request.messages
    shape = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return [Message(first.role, f"{first.text}\n{shape}"), *rest], schema


def _build_messages(prompt: str, question: Question, texts: Sequence[str]) -> list[Message]:
    fence = make_fence(question.text, texts)
    body = f"{fence_once(fence, texts)}\n\nQuestion: {question.text}"
    return [Message("system", f"{prompt}\n{format_rule(fence)}"), Message("user", body)]


def _clean(answer: str) -> str:
    """Return an answer without a label; empty for one that says that there is none."""
    bare = re.sub(r"(?i)^\s*(?:the )?(?:bare )?(?:answer|jawaban)\s*:\s*", "", answer.strip())
    bare = bare.strip().strip("`\"'").rstrip(".").strip()
    is_none = re.match(rf"(?i){_UNKNOWN}|unknown\b|not (?:stated|given|found)", bare)
    return "" if is_none else bare


def parse_bare(text: str) -> ParsedReply:
    lines = [line for line in text.splitlines() if line.strip()]
    return ParsedReply(_clean(lines[0] if lines else ""), is_valid=len(lines) == 1)


def parse_lines(text: str) -> ParsedReply:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not _clean(lines[0]):
        return ParsedReply("", is_valid=bool(lines))
    numbers = tuple(int(digits) for digits in re.findall(r"\d+", lines[0]))
    if len(lines) < 2:
        return ParsedReply(_clean(lines[0]), is_valid=False)
    return ParsedReply(_clean(lines[1]), numbers, is_valid=bool(numbers) and len(lines) == 2)


def parse_short(text: str) -> ParsedReply:
    try:
        reply = parse_reply(ShortForm().kind, text)
    except ValueError:
        return ParsedReply("", is_valid=False)
    return ParsedReply(_clean(reply.answer), tuple(reply.sentences))


def parse_prose(text: str) -> ParsedReply:
    try:
        reply = parse_reply(NumberForm().kind, text).answer
    except (ValueError, ValidationError):
        return ParsedReply("", is_valid=False)
    if reply is None:
        return ParsedReply("")
    numbers = tuple(number for sentence in reply.sentences for number in sentence.evidence)
    return ParsedReply(_clean(reply.short_answer) or reply.sentences[0].text, numbers)


FORMS = {
    "bare": TriedForm("bare", build_bare, parse_bare),
    "lines": TriedForm("lines", build_lines, parse_lines),
    "short": TriedForm("short", build_short, parse_short),
    "prose": TriedForm("prose", build_prose, parse_prose),
}


def ask(
    chat: ChatModel, form: TriedForm, question: DatasetQuestion, shown: Sequence[PrunedHit]
) -> dict[str, Any]:
    """Return the measured part of a row."""
    messages, schema = form.build(Question(question.text), shown)
    start = time.monotonic()
    call = Call(messages, schema=schema, max_tokens=200, deadline=start + MOST_S)
    reply = asyncio.run(chat.complete(call))
    seconds = time.monotonic() - start
    parsed = form.parse(reply.text)
    _, places = number_sentences(shown)
    cited = " ".join(
        places[number - 1].quote for number in parsed.numbers if 1 <= number <= len(places)
    )
    gold = question.answers
    right = is_right(parsed.answer, gold) if parsed.answer and gold else False
    return {
        "text": reply.text,
        "answer": parsed.answer,
        "valid": parsed.is_valid,
        "answerable": bool(gold),
        "f1": score_f1(parsed.answer, gold) if gold else float(not parsed.answer),
        "right": right,
        "cited": any(contains_answer(cited, answer) for answer in gold),
        "prompt": reply.usage.prompt_tokens,
        "written": reply.usage.completion_tokens,
        "seconds": round(seconds, 2),
    }


def iterate_samples(
    folder: Path, settings: Settings, count: int
) -> Iterator[tuple[DatasetQuestion, list[Hit], Engine]]:
    """Yield a fixed sample of the questions with their hits."""
    dataset = load(folder)
    questions = dataset.questions
    with prepare_engine(Engine(settings), dataset) as engine:
        for question in questions[:: max(1, len(questions) // count)][:count]:
            yield question, engine.search(question.text, k=CHUNKS), engine


def record_set(folder: Path, arguments: argparse.Namespace, seen: set[tuple[Any, ...]]) -> None:
    """Add the rows of a data set that the file does not hold yet."""
    settings = parse_settings(
        {"index.directory": str(arguments.indexes / folder.name), "llm.model": arguments.model}
    )
    name = Path(arguments.model).name
    for question, hits, engine in iterate_samples(folder, settings, arguments.questions):
        chat = engine.assembly.models.language_models.get_by_name(arguments.model).chat
        for tokens in arguments.tokens:
            pruner = EvidencePruner(
                pairs=engine.assembly.cross_reader,
                limit=tokens,
                share=engine.settings.llm.evidence_share,
            )
            shown = pruner.prune(Question(question.text), hits)
            for form in arguments.forms:
                if (folder.name, question.id, name, form, tokens) in seen:
                    continue
                row = Row(
                    dataset=folder.name,
                    question=question.id,
                    model=name,
                    form=form,
                    tokens=tokens,
                    **ask(chat, FORMS[form], question, shown),
                )
                append_line(arguments.records, asdict(row))


def format_table(rows: Sequence[Row]) -> str:
    """Return the table of the rows."""
    groups: dict[tuple[str, str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.dataset, row.model, row.form, row.tokens), []).append(row)
    lines = [
        "| set | model | form | evidence | questions | valid | F1 | 95 % | right | wrong | none | "
        "cited | prompt | written | p50 s |",
        "|" + "---|" * 15,
    ]
    for (dataset, model, form, tokens), group in sorted(groups.items()):
        low, high = bootstrap_interval([row.f1 for row in group])
        shares = [
            fmean(values)
            for values in (
                [row.valid for row in group],
                [row.f1 for row in group],
                [row.right for row in group],
                [row.is_wrong for row in group],
                [not row.answer for row in group],
                [row.cited for row in group],
            )
        ]
        valid, f1, right, wrong, none, cited = (f"{share:.3f}" for share in shares)
        lines.append(
            f"| {dataset} | {model} | {form} | {tokens} | {len(group)} | {valid} | {f1} | "
            f"{low:.3f} to {high:.3f} | {right} | {wrong} | {none} | {cited} | "
            f"{fmean(row.prompt for row in group):.0f} | "
            f"{fmean(row.written for row in group):.0f} | "
            f"{median(row.seconds for row in group):.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--records", required=True, type=Path)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--tokens", type=int, nargs="+", default=[450])
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    rows = [Row(**json.loads(line)) for line in read_whole_lines(arguments.records)]
    if arguments.table:
        print(format_table(rows))
        return
    seen = {(row.dataset, row.question, row.model, row.form, row.tokens) for row in rows}
    for folder in arguments.folders:
        record_set(folder, arguments, seen)


if __name__ == "__main__":
    main()
