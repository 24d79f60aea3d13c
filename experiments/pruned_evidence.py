"""Measure how often the answer stands in pruned evidence, beside whole chunks of the same size.

    python -m experiments.pruned_evidence FOLDER... --indexes PLACE [--questions 120]

Each folder is a data set with answers; its index lies below PLACE by its name, or is made there. No
language model is asked: a sentence that is not shown cannot be read, so these shares bound what a
model can answer. The tokens are those of the reader's whole prompt in its short form.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from fathom.agents.reader.reply_forms import ShortForm
from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.statistics import bootstrap_interval
from fathom.llm.tokens import count_tokens
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner, PrunedHit, keep_whole
from fathom.settings import IndexSettings, Settings
from fathom.text.answer_match import contains_answer
from fathom.types import Hit

Evidence = tuple[str, Sequence[PrunedHit]]
CHUNKS = 8
WHOLE = (1, 2, 3, 4, 6, 8)
LIMITS = ((200, 0.0), (300, 0.0), (300, 0.2), (450, 0.0), (450, 0.2), (450, 0.4), (700, 0.2))
"""Tokens of evidence, and the share of the best score that a sentence needs."""
HEAD = "| set | evidence | mean tokens | answer stands in it | 95 % |\n|---|---|---|---|---|"


def iterate_evidence(hits: Sequence[Hit], question: Question, engine: Engine) -> Iterator[Evidence]:
    """Yield the evidence of each kind."""
    for chunks in WHOLE:
        yield f"{chunks} whole chunks", keep_whole(hits[:chunks])
    for tokens, share in LIMITS:
        pruner = EvidencePruner(pairs=engine.assembly.cross_reader, limit=tokens, share=share)
        name = f"at most {tokens} tokens, from {share:g} of the best score on"
        yield name, pruner.prune(question, hits)


def count_prompt(question: Question, shown: Sequence[PrunedHit]) -> int:
    """Return the likely tokens of the reader's prompt."""
    messages = ShortForm().build_request(question, shown).messages
    return sum(count_tokens(message.text) for message in messages)


def measure_set(folder: Path, index: Path, count: int) -> list[str]:
    """Return the rows of one data set."""
    dataset = load(folder)
    answerable = [question for question in dataset.questions if question.answers]
    sample = answerable[:: max(1, len(answerable) // count)][:count]
    sizes: dict[str, list[int]] = {}
    matches: dict[str, list[bool]] = {}
    engine = Engine(Settings(index=IndexSettings(directory=index)))
    with prepare_engine(engine, dataset) as ready:
        for question in sample:
            hits = ready.search(question.text, k=CHUNKS)
            parsed = Question(question.text)
            for name, shown in iterate_evidence(hits, parsed, ready):
                text = "\n".join(f"{item.hit.chunk.breadcrumb}\n{item.text}" for item in shown)
                sizes.setdefault(name, []).append(count_prompt(parsed, shown))
                matches.setdefault(name, []).append(
                    any(contains_answer(text, answer) for answer in question.answers)
                )
    return [format_row(folder.name, name, sizes[name], matches[name]) for name in sizes]


def format_row(dataset: str, evidence: str, sizes: Sequence[int], matches: Sequence[bool]) -> str:
    """Return a row of the table."""
    low, high = bootstrap_interval([float(match) for match in matches])
    return (
        f"| {dataset} | {evidence} | {fmean(sizes):.0f} | {fmean(matches):.3f} | "
        f"{low:.3f} to {high:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=120)
    arguments = parser.parse_args()
    print(HEAD)
    for folder in arguments.folders:
        rows = measure_set(folder, arguments.indexes / folder.name, arguments.questions)
        print("\n".join(rows), flush=True)


if __name__ == "__main__":
    main()
