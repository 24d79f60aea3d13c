"""Answers to the second set: python -m benchmarks.second_set.ask DIR --index INDEX --run RUN.

Asks every question with default settings (`fathom ask`) and searches for it (`fathom search`, 1,200
characters) over an index of `DIR/documents`, and writes `RUN/answers.jsonl`: answer, confidence,
files cited, and whether the gold sentences stand in the excerpts. What RUN holds already is not
asked again. `--eye FILE` adds what somebody made of the answers: lines of an id, a grade and, where
it is not right, a reason. `python -m benchmarks.second_set.tables` counts them.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.manuals import Gold, contains_words, read_golds, split_words

_MOST = 300  # characters of an answer that are kept
_FEW = 5  # words of a quote that says too little without an answer beside it


def run_command(
    command: Sequence[str], golds: Sequence[Gold], file: Path
) -> list[Mapping[str, Any]]:
    """Return what a command of Fathom says to each question; a kept file is read, not made anew."""
    if not file.exists():
        name, *options = command
        questions = "".join(f"{gold.text}\n" for gold in golds)
        with file.open("w", encoding="utf-8") as stream:
            subprocess.run(
                [sys.executable, "-m", "fathom", name, "-", *options],
                input=questions.encode(),
                stdout=stream,
                check=False,  # an abstention has an exit code of its own
            )
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    if len(rows) != len(golds):
        raise SystemExit(f"{file}: {len(rows)} of {len(golds)} questions; remove it and ask again")
    return rows


def is_found(gold: Gold, excerpts: Sequence[str]) -> bool:
    """Return whether every gold quote stands in an excerpt, a short one beside an answer."""

    def holds(excerpt: str, quote: str) -> bool:
        options = [option for item in gold.items for option in item]
        says_enough = len(split_words(quote)) >= _FEW or bool(gold.yes_or_no)
        return contains_words(excerpt, quote) and (
            says_enough or any(contains_words(excerpt, option) for option in options)
        )

    return all(any(holds(excerpt, quote) for excerpt in excerpts) for quote in gold.quotes)


def make_row(
    gold: Gold, answer: Mapping[str, Any], excerpts: Sequence[str], judgement: Sequence[str]
) -> dict[str, Any]:
    """Return the line of a question: what was answered, and the judgement if there is one."""
    row = {"_id": gold.id, "status": answer["status"], "tentative": answer["tentative"]}
    row |= {"confidence": answer["confidence"], "short_answer": answer["short_answer"][:_MOST]}
    row |= {"answer": " ".join(answer["answer"].split())[:_MOST]}
    row |= {"files": sorted({Path(citation["path"]).name for citation in answer["citations"]})}
    if gold.answerable:
        row |= {"found": is_found(gold, excerpts)}
    if judgement:
        row |= {"eye": judgement[0]}
    if len(judgement) > 1:
        row |= {"why": " ".join(judgement[1:])}
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, search, and write the answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="what benchmarks.second_set.fetch made")
    parser.add_argument("--index", required=True, help="an index of its documents")
    parser.add_argument("--run", type=Path, required=True, help="where to write")
    parser.add_argument("--eye", type=Path, help="grades of a person")
    options = parser.parse_args(arguments)
    run: Path = options.run
    run.mkdir(parents=True, exist_ok=True)
    golds = list(read_golds(options.folder))
    shared = ["--json", "--index", options.index]
    answers = run_command(["ask", *shared], golds, run / "ask.jsonl")
    searches = run_command(["search", "--brief", *shared], golds, run / "search.jsonl")
    lines = options.eye.read_text("utf-8").splitlines() if options.eye else []
    judgements = {line.split()[0]: line.split()[1:] for line in lines if line.strip()}
    with (run / "answers.jsonl").open("w", encoding="utf-8") as stream:
        for gold, answer, search in zip(golds, answers, searches, strict=True):
            excerpts = [hit["text"] for hit in search["hits"]]
            row = make_row(gold, answer, excerpts, judgements.get(gold.id, ()))
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
