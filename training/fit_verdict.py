"""Fits how sure a verdict of yes or no is: PYTHONPATH=. python training/fit_verdict.py.

Needs the cross-reader and the rows of `reader-train-*` (`SHARED_DATA`, default ../shared/data).
Questions for yes or no with their texts, and questions made of statements that a text supports,
contradicts or does not decide (`cross_reader/yesno.py`); of those only such as the cross-reader
did not learn from. One half, by the hash of the question, is fitted on and the other one reported.
A verdict on a text that does not decide counts as wrong. Each source has the same weight.
StrategyQA is only reported: its answers follow from several facts and do not stand in a sentence.
"""

import argparse
import gzip
import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from research.contamination import fingerprint, locate_manifest, read_manifest
from training.cross_reader.rows import number_of
from training.cross_reader.yesno import as_question, as_question_id
from training.fit_span_reader import fit
from training.written_questions import query_of
from training.written_questions import rows as own_rows

import fathom.models
from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.yes_no import SentenceStance, VerdictLaw, YesNoJudge
from fathom.models.reader_loading import MULTILINGUAL, SHIPPED, load_shipped_reader
from fathom.question.question import Question
from fathom.types import Chunk, Hit, Span

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
RESOURCES = Path(fathom.models.__file__).parent / "resources"
MANIFESTS = Path(__file__).parent / "manifests"
WRITTEN = "written"
FILES = {"en": ("nli", "contrast", "strategyqa", WRITTEN), "id": ("indonli", WRITTEN)}
_REPORTED = "strategyqa"
_LABELS = {"supported": "yes", "contradicted": "no", "unrelated": "none"}
_USED = {"yes", "no", "none"}


class Asked(NamedTuple):
    """A question with a text; `label` is yes, no or none, `seen` that it was learned from."""

    source: str
    question: str
    title: str
    text: str
    label: str
    seen: bool


def raws(name: str, language: str) -> Iterator[dict[str, Any]]:
    """The rows of a file; of our own the development rows in the language."""
    if name == WRITTEN:
        yield from (raw for raw in own_rows() if raw["source"].endswith(language) and query_of(raw))
    else:
        with gzip.open(DATA / f"reader-train-{name}" / "reader_train.jsonl.gz", "rt") as lines:
            yield from map(json.loads, lines)


def rows(name: str, language: str, known: frozenset[str]) -> Iterator[Asked]:
    """The questions of a file."""
    for raw in raws(name, language):
        question, label = raw["question"], raw.get("label", "")
        if raw.get("task") == "nli" and raw["source"].startswith(("mnli", "snli", "indonli")):
            asked = (as_question_id if raw["lang"] == "id" else as_question)(question)
            seen = fingerprint(question) in known or fingerprint(asked) in known
            if asked and not seen:
                made = _LABELS[label]
                yield Asked("statements", asked, raw["title"], raw["context"], made, seen)
        elif raw.get("task") == "yesno" and label in _USED:
            seen = fingerprint(question) in known
            yield Asked(name, question, raw["title"], raw["context"], label, seen)


def best_of(verdicts: YesNoJudge, asked: Asked) -> SentenceStance | None:
    """The sentence that decides most; `None` where the form is not known."""
    statement = Question(asked.question).statement
    if statement is None:
        return None
    chunk = Chunk(
        id="c", document_id="d", title=asked.title, text=asked.text,
        span=Span(0, len(asked.text)), ordinal=0,
    )  # fmt: skip
    (reading,) = verdicts.pairs.open_session(asked.question, spans=0).read([chunk])
    look = ReadHit(
        hit=Hit(chunk=chunk, score=1.0, rank=1, retriever=""), reading=reading, trust=1.0
    )
    return max(
        verdicts.weigh_sentences(statement, look, every=True),
        key=lambda each: each.factors[1],
        default=None,
    )


def law_of(found: Sequence[tuple[Asked, SentenceStance]], *, yes: bool) -> tuple[float, ...]:
    """The slopes for one side; none but the offset below 0."""
    own = [(asked, each) for asked, each in found if each.yes == yes]
    sources = [asked.source for asked, _ in own]
    values = np.asarray([each.factors for _, each in own])
    right = np.asarray([asked.label == ("yes" if yes else "no") for asked, _ in own], dtype=float)
    weights = np.asarray([200 / sources.count(source) for source in sources])
    used = list(range(values.shape[1]))
    while True:
        law = fit(values[:, used], right, weights)
        wrong = [at for at, slope in zip(used[:-1], law[:-1], strict=True) if slope < 0]
        if not wrong:
            break
        used = [at for at in used if at not in wrong]
    slopes = dict(zip(used, law.tolist(), strict=True))
    return tuple(round(slopes.get(at, 0.0), 2) for at in range(values.shape[1]))


def confidence(law: VerdictLaw, each: SentenceStance) -> float:
    """How sure a verdict is by a law."""
    logit = np.dot(law.yes if each.yes else law.no, each.factors)
    return float(1 / (1 + np.exp(-logit)))


def report(found: Sequence[tuple[Asked, SentenceStance]], law: VerdictLaw) -> None:
    """How many are said at each floor of confidence, and how many of those are right."""
    for source in dict.fromkeys(asked.source for asked, _ in found):
        own = [(a.label, each, confidence(law, each)) for a, each in found if a.source == source]
        known = [each for each in own if each[0] != "none"]
        cells = []
        for floor in (0.5, 0.6, 0.7, 0.75, 0.8, 0.9):
            said = [(label, each.yes) for label, each, sure in own if sure >= floor]
            right = [label == ("yes" if yes else "no") for label, yes in said]
            decided = [label for label, _ in said if label != "none"]
            cells.append(
                f"{floor}: {len(decided) / max(1, len(known)):.2f} said, "
                f"{sum(right) / max(1, len(right)):.2f} right of {len(said)}"
            )
        print(f"{source:12} n={len(own)} {' | '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", choices=FILES, default="en")
    parser.add_argument("--rows", type=int, default=800, help="of each file, at most")
    parser.add_argument("--model", help="a folder; without it the shipped one")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    language = arguments.language
    folder = RESOURCES / MULTILINGUAL
    card = (Path(arguments.model) if arguments.model else folder) / "cross-reader.json"
    known = read_manifest(locate_manifest(card, MANIFESTS)).questions
    reader = load_shipped_reader(arguments.model or SHIPPED, threads=arguments.threads)
    verdicts = YesNoJudge(pairs=reader)
    halves: tuple[list[tuple[Asked, SentenceStance]], ...] = ([], [])
    for name in FILES[language]:
        every = list(rows(name, language, known))
        chosen = random.Random(1).sample(every, min(arguments.rows, len(every)))
        found = [(asked, best_of(verdicts, asked)) for asked in chosen]
        told = [(asked, each) for asked, each in found if each is not None]
        for pair in told:
            halves[number_of(pair[0].question) % 2].append(pair)
        seen = sum(each.seen for each in chosen)
        print(
            f"{name}: {len(chosen)} rows, {seen} learned from, {len(told)} of a known form",
            flush=True,
        )
    fitted = [each for each in halves[0] if each[0].source != _REPORTED]
    law = VerdictLaw(yes=law_of(fitted, yes=True), no=law_of(fitted, yes=False))
    print(f"{law}\nthe other half:")
    report(halves[1], law)


if __name__ == "__main__":
    main()
