"""The confidence of a yes/no verdict: PYTHONPATH=. python training/fit_verdict.py.

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
from training.cross_reader.rows import hash_to_number
from training.cross_reader.yesno import make_question, make_question_id
from training.fit_span_reader import fit_logistic
from training.written_questions import make_query
from training.written_questions import read_rows as own_rows

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


class LabelledQuestion(NamedTuple):
    """A question with a text; `label` is yes, no or none, `seen` that it was learned from."""

    source: str
    question: str
    title: str
    text: str
    label: str
    seen: bool


def read_raws(name: str, language: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a file; of the package's own the development rows in the language."""
    if name == WRITTEN:
        yield from (
            raw for raw in own_rows() if raw["source"].endswith(language) and make_query(raw)
        )
    else:
        with gzip.open(DATA / f"reader-train-{name}" / "reader_train.jsonl.gz", "rt") as lines:
            yield from map(json.loads, lines)


def read_questions(
    name: str, language: str, fingerprints: frozenset[str]
) -> Iterator[LabelledQuestion]:
    """Yield the questions of a file."""
    for raw in read_raws(name, language):
        question, label = raw["question"], raw.get("label", "")
        if raw.get("task") == "nli" and raw["source"].startswith(("mnli", "snli", "indonli")):
            text = (make_question_id if raw["lang"] == "id" else make_question)(question)
            seen = fingerprint(question) in fingerprints or fingerprint(text) in fingerprints
            if text and not seen:
                answer_label = _LABELS[label]
                yield LabelledQuestion(
                    "statements", text, raw["title"], raw["context"], answer_label, seen
                )
        elif raw.get("task") == "yesno" and label in _USED:
            seen = fingerprint(question) in fingerprints
            yield LabelledQuestion(name, question, raw["title"], raw["context"], label, seen)


def find_best(verdicts: YesNoJudge, question: LabelledQuestion) -> SentenceStance | None:
    """Return the most decisive sentence; `None` if the form is unknown."""
    statement = Question(question.question).statement
    if statement is None:
        return None
    chunk = Chunk(
        id="c", document_id="d", title=question.title, text=question.text,
        span=Span(0, len(question.text)), ordinal=0,
    )  # fmt: skip
    (reading,) = verdicts.pairs.open_session(question.question, spans=0).read([chunk])
    look = ReadHit(
        hit=Hit(chunk=chunk, score=1.0, rank=1, retriever=""), reading=reading, trust=1.0
    )
    return max(
        verdicts.weigh_sentences(statement, look, every=True),
        key=lambda stance: stance.factors[1],
        default=None,
    )


def fit_law(
    pairs: Sequence[tuple[LabelledQuestion, SentenceStance]], *, yes: bool
) -> tuple[float, ...]:
    """Fit the slopes for one side; none is below 0 except the offset."""
    of_side = [(question, stance) for question, stance in pairs if stance.yes == yes]
    sources = [question.source for question, _ in of_side]
    values = np.asarray([stance.factors for _, stance in of_side])
    right = np.asarray(
        [question.label == ("yes" if yes else "no") for question, _ in of_side], dtype=float
    )
    weights = np.asarray([200 / sources.count(source) for source in sources])
    used = list(range(values.shape[1]))
    while True:
        law = fit_logistic(values[:, used], right, weights)
        wrong = [at for at, slope in zip(used[:-1], law[:-1], strict=True) if slope < 0]
        if not wrong:
            break
        used = [at for at in used if at not in wrong]
    slopes = dict(zip(used, law.tolist(), strict=True))
    return tuple(round(slopes.get(at, 0.0), 2) for at in range(values.shape[1]))


def compute_confidence(law: VerdictLaw, stance: SentenceStance) -> float:
    """Return the confidence of a verdict under a law."""
    logit = np.dot(law.yes if stance.yes else law.no, stance.factors)
    return float(1 / (1 + np.exp(-logit)))


def report(pairs: Sequence[tuple[LabelledQuestion, SentenceStance]], law: VerdictLaw) -> None:
    """Print the number of verdicts at each floor of confidence, and how many are right."""
    for source in dict.fromkeys(question.source for question, _ in pairs):
        of_source = [
            (a.label, entry, compute_confidence(law, entry))
            for a, entry in pairs
            if a.source == source
        ]
        labelled = [entry for entry in of_source if entry[0] != "none"]
        cells = []
        for floor in (0.5, 0.6, 0.7, 0.75, 0.8, 0.9):
            verdicts = [(label, entry.yes) for label, entry, sure in of_source if sure >= floor]
            right = [label == ("yes" if yes else "no") for label, yes in verdicts]
            decided = [label for label, _ in verdicts if label != "none"]
            cells.append(
                f"{floor}: {len(decided) / max(1, len(labelled)):.2f} said, "
                f"{sum(right) / max(1, len(right)):.2f} right of {len(verdicts)}"
            )
        print(f"{source:12} n={len(of_source)} {' | '.join(cells)}")


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
    fingerprints = read_manifest(locate_manifest(card, MANIFESTS)).questions
    reader = load_shipped_reader(arguments.model or SHIPPED, threads=arguments.threads)
    verdicts = YesNoJudge(pairs=reader)
    halves: tuple[list[tuple[LabelledQuestion, SentenceStance]], ...] = ([], [])
    for name in FILES[language]:
        every = list(read_questions(name, language, fingerprints))
        chosen = random.Random(1).sample(every, min(arguments.rows, len(every)))
        pairs = [(question, find_best(verdicts, question)) for question in chosen]
        decided = [(question, entry) for question, entry in pairs if entry is not None]
        for pair in decided:
            halves[hash_to_number(pair[0].question) % 2].append(pair)
        seen = sum(entry.seen for entry in chosen)
        print(
            f"{name}: {len(chosen)} rows, {seen} learned from, {len(decided)} of a known form",
            flush=True,
        )
    fitted = [entry for entry in halves[0] if entry[0].source != _REPORTED]
    law = VerdictLaw(yes=fit_law(fitted, yes=True), no=fit_law(fitted, yes=False))
    print(f"{law}\nthe other half:")
    report(halves[1], law)


if __name__ == "__main__":
    main()
