"""The quality of completed follow-up questions: python -m experiments.followups.

The questions of samples/followups.jsonl are asked of the samples' documents as they are, as the
rewriter's rules (or the language model of -m) put them, and as a person puts them (`standalone`).
What counts is whether the first document that the retriever ranks is the right one, or with
--strategy whether the answer holds a right one. The rules were written with the development half in
view; the other half was held out. --shifts counts what must not be: changes of questions of data
sets that only stand behind another one.
"""

import argparse
import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fathom import Engine
from fathom.agents.rewriter import Rewriter
from fathom.evaluation.datasets import load
from fathom.question.conversation import parse_dialogue
from fathom.question.followup import complete_question
from fathom.question.question import Question
from fathom.registry import REWRITER
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin
from fathom.text.answer_match import normalize_answer
from fathom.usage import Budget

SAMPLES = Path(__file__).parent.parent / "samples"
FAR = 37
"""So many questions before it stands the one that has nothing to do with it."""
SPLITS = ("development", "held-out")
Row = Mapping[str, Any]
Judge = Callable[[str, Row], bool]
"""A function that returns whether an understood question leads to the right answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question: its wording, and whether the right document came first.

    Attributes:
        way: `as asked`, `rewritten` or `by a person`.
        verdict: Who rewrote it; empty where nobody did.
    """

    row: Row
    way: str
    text: str
    right: bool
    verdict: str = ""


def read_rows() -> list[Row]:
    """Return the committed questions."""
    text = (SAMPLES / "followups.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def rewrite(rewriter: Rewriter, row: Row) -> tuple[str, str]:
    """Return a question as the rewriter puts it, and its author: the rules or the model."""
    with ThreadPoolExecutor(1) as executor:
        recorder = Recorder(Origin(question=row["text"], strategy="followups"))
        context = RunContext(ledger=Ledger(Budget()), scope=recorder, executor=executor)
        turns = parse_dialogue(row["history"])
        whole = asyncio.run(rewriter.make_standalone(Question(row["text"]), turns, context))
        steps = {step.name: step for step in recorder.seal(None).steps}
    return whole.text, steps["stand alone"].verdict or "rules"


def make_document_judge(engine: Engine, retriever: str) -> Judge:
    """Return a judge of whether the first document is the right one."""

    def is_right(text: str, row: Row) -> bool:
        (best,) = engine.documents.locate(engine.search(text, k=1, retriever=retriever))
        return Path(best.path.partition("#")[0]).name in row["metadata"]["relevant"]

    return is_right


def make_answer_judge(engine: Engine, strategy: str) -> Judge:
    """Return a judge of whether the answer contains a right one."""

    def is_right(text: str, row: Row) -> bool:
        given = normalize_answer(engine.ask(text, strategy=strategy).answer)
        return any(normalize_answer(answer) in given for answer in row["answers"])

    return is_right


def measure_wordings(engine: Engine, right: Judge, questions: Sequence[Row]) -> Iterator[Outcome]:
    """Yield the outcome of each question in the three wordings."""
    for row in questions:
        text, verdict = rewrite(engine.assembly.agent(REWRITER), row)
        for way, words in (
            ("as asked", row["text"]),
            ("rewritten", text),
            ("by a person", row["standalone"]),
        ):
            changed = verdict if way == "rewritten" else ""
            yield Outcome(row=row, way=way, text=words, right=right(words, row), verdict=changed)


def format_table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts of right first documents by half and language, in each wording."""
    ways = tuple(dict.fromkeys(outcome.way for outcome in outcomes))
    groups: dict[str, Callable[[Row], bool]] = {
        f"{split}, {language}": lambda row, split=split, language=language: (  # type: ignore[misc]
            row["metadata"]["split"] == split and row["metadata"]["language"] == language
        )
        for split in SPLITS
        for language in ("en", "id")
    }
    groups["all"] = lambda _row: True
    lines = [f"| questions | n | {' | '.join(ways)} |", f"|---|---|{'---|' * len(ways)}"]
    for name, among in groups.items():
        mine = [outcome for outcome in outcomes if among(outcome.row)]
        counts = [sum(outcome.right for outcome in mine if outcome.way == way) for way in ways]
        cells = " | ".join(map(str, counts))
        lines.append(f"| {name} | {len(mine) // len(ways)} | {cells} |")
    return "\n".join(lines)


def count_shifts(folder: Path) -> str:
    """Count the complete questions that the rules change behind another question."""
    texts = [question.text for question in load(folder).questions][:600]
    after = ((text, texts[n - FAR]) for n, text in enumerate(texts))
    pairs = [(text, parse_dialogue([{"role": "user", "content": other}])) for text, other in after]
    changed = sum(complete_question(text, turns) != text for text, turns in pairs)
    return f"| {folder.name} | {len(texts)} | {changed} |"


def main() -> None:
    """Print the table, and with --show the wording of each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", "--llm", help="rewrite with this language model, provider:model")
    parser.add_argument("--base-url", default="", help="where it is")
    parser.add_argument("--retriever", default="hybrid")
    parser.add_argument("--strategy", help="ask this strategy for answers, rather than search")
    parser.add_argument("--split", choices=SPLITS)
    parser.add_argument("--show", action="store_true", help="the questions, one a line")
    parser.add_argument("--shifts", nargs="+", type=Path, help="data sets of other questions")
    args = parser.parse_args()
    if args.shifts:
        print("\n".join(map(count_shifts, args.shifts)))
        return
    settings: dict[str, Any] = {"trace.enabled": False}
    if args.llm:
        settings |= {"llm.model": args.llm, "roles.rewriter": "llm", "roles.reader": "local"}
        settings |= {"llm.base_url": args.base_url} if args.base_url else {}
    questions = [row for row in read_rows() if args.split in {None, row["metadata"]["split"]}]
    with TemporaryDirectory() as folder, Engine.open(Path(folder) / "index", settings) as engine:
        engine.ingest(SAMPLES / "corpus")
        asks = make_answer_judge(engine, args.strategy) if args.strategy else None
        right = asks or make_document_judge(engine, args.retriever)
        outcomes = list(measure_wordings(engine, right, questions))
    if args.show:
        for outcome in outcomes:
            mark = "+" if outcome.right else "-"
            print(
                f"{outcome.row['_id']} {mark} {outcome.way:<11} {outcome.verdict:<6} {outcome.text}"
            )
    print(format_table(outcomes))


if __name__ == "__main__":
    main()
