"""Fits how sure a model's answer is: PYTHONPATH=. python training/fit_answer_confidence.py en.

Needs the cross-readers and the evaluation data (`SHARED_DATA`, default ../shared/data), as
`fit_span_reader`, whose questions it uses. Answers of a large language model with labels there are
none yet; so three scripted readers stand in for what models do with the best hits of a question:

- the careful one quotes a sentence that holds an accepted answer, with that answer, and says
  nothing where there is none;
- the eager one quotes the sentence that shares most words with the question, with what the
  cross-reader finds likeliest in it;
- the careless one does so with any sentence.

Each of them weighs the same.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from training.fit_span_reader import DATA, chosen, report_of

from fathom.agents.reader.confidence import FACTORS, LAWS, AnswerConfidence
from fathom.agents.reader.local import LocalReader
from fathom.engine import Engine
from fathom.evaluation.datasets import DatasetQuestion, load
from fathom.models.reading import CrossReader
from fathom.question.question import Question
from fathom.settings import IndexSettings, Settings
from fathom.settings.tree import ModelSettings
from fathom.text.answer_scores import holds_answer, is_right
from fathom.text.content_words import ContentTerms
from fathom.text.quotable import extract_chunk, list_units
from fathom.types import Draft, Evidence, Hit, Span

SETS = {"en": ("squad-retrieval", "hotpotqa-200"), "id": ("idk-mrc-retrieval", "facqa-id")}
_TERMS = ContentTerms()
_RIDGE, _ROUNDS = 2.0, 300
_READERS = ("careful", "eager", "careless")


class Said(NamedTuple):
    """What a scripted reader says, and whether it is right."""

    reader: str
    draft: Draft
    right: bool


def said(
    question: DatasetQuestion, hits: Sequence[Hit], pairs: CrossReader, dice: random.Random
) -> Iterator[Said]:
    """What the readers make of the hits."""
    places = [(hit, unit.span) for hit in hits for unit in list_units(hit.chunk)]
    if not places:
        return
    quotes = [span.cut(hit.chunk.text) for hit, span in places]
    for quote, place in zip(quotes, places, strict=True):
        known = next((answer for answer in question.answers if holds_answer(quote, answer)), "")
        if question.answerable and known:
            yield Said("careful", draft_of(*place, known), right=True)
            break
    asked = _TERMS(question.text)
    shared = [len(asked & _TERMS(quote)) for quote in quotes]
    eager = max(range(len(places)), key=lambda at: (shared[at], -at))
    for reader, at in (("eager", eager), ("careless", dice.randrange(len(places)))):
        hit, span = places[at]
        (read,) = pairs.open_session(question.text).read([extract_chunk(hit.chunk, span)])
        short = read.spans[0].span.cut(quotes[at]) if read.spans else ""
        right = question.answerable and is_right(short, question.answers)
        yield Said(reader, draft_of(hit, span, short), right)


def draft_of(hit: Hit, span: Span, short: str) -> Draft:
    """An answer with one quote."""
    return Draft(evidence=(Evidence(hit=hit, span=span, support=1.0),), short_answer=short)


def law_of(rows: np.ndarray, right: np.ndarray, weights: np.ndarray) -> tuple[float, ...]:
    """The slopes, none of them but the offset below 0: Newton's method, one after the other."""
    law, ridge = np.zeros(rows.shape[1]), np.full(rows.shape[1], _RIDGE)
    ridge[-1] = 0.0
    for _ in range(_ROUNDS):
        for at, column in enumerate(rows.T):
            p = 1 / (1 + np.exp(-rows @ law))
            slope = column @ (weights * (right - p)) - ridge[at] * law[at]
            law[at] += slope / ((column**2) @ (weights * p * (1 - p)) + ridge[at] + 1e-9)
            if at < len(law) - 1:
                law[at] = max(0.0, law[at])
    return tuple(round(float(each), 2) for each in law)


class Rows(NamedTuple):
    """What the law weighs, labels and weights."""

    factors: np.ndarray
    right: np.ndarray
    weights: np.ndarray
    readers: Sequence[str]


def rows_of(engine: Engine, questions: Sequence[DatasetQuestion]) -> Rows:
    """The rows of a data set, each reader with the same weight."""
    pairs = engine.assembly.cross_reader
    confidence = AnswerConfidence(pairs=pairs)
    dice, found = random.Random(1), []
    for question in questions:
        hits = engine.search(question.text, k=engine.settings.ask.chunks)
        first = LocalReader.of(engine.assembly).draft(Question(question.text), hits)
        for each in said(question, hits, pairs, dice):
            factors = confidence.compute_factors(Question(question.text), each.draft, first)
            found.append((each.reader, factors, each.right))
    readers = [reader for reader, _, _ in found]
    weights = np.asarray([200 / readers.count(reader) for reader in readers])
    return Rows(
        np.asarray([factors for _, factors, _ in found]),
        np.asarray([right for _, _, right in found], dtype=float),
        weights,
        readers,
    )


def report(rows: Rows, law: Sequence[float]) -> None:
    """How well a law tells right from wrong, for all readers and each."""
    slopes = np.asarray(law)
    print("  all".ljust(14), report_of(rows.factors, rows.right, slopes))
    p = 1 / (1 + np.exp(-rows.factors @ slopes))
    for reader in _READERS:
        own = np.asarray([each == reader for each in rows.readers])
        kept = (p >= Settings().ask.min_confidence) & own
        print(
            f"  {reader}".ljust(14),
            f"n={own.sum()} right={rows.right[own].mean():.3f} mean={p[own].mean():.3f} "
            f"kept={kept.sum() / own.sum():.3f} right of kept="
            f"{rows.right[kept].mean() if kept.any() else float('nan'):.3f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=SETS)
    parser.add_argument("--sets", nargs="*", help="by default those of the language")
    parser.add_argument("--questions", type=int, default=150, help="of each set")
    parser.add_argument("--indexes", type=Path, required=True, help="with an index of each set")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    parts: dict[str, Rows] = {}
    for name in arguments.sets or SETS[arguments.language]:
        models = ModelSettings(threads=arguments.threads)
        place = arguments.indexes / name
        dataset = load(DATA / name)
        with Engine(Settings(index=IndexSettings(directory=place), models=models)) as engine:
            if not place.exists():
                engine.ingest([dataset.corpus])
            questions = [
                each
                for each in chosen(dataset, arguments.questions, fitted=True)
                if Question(each.text).form == "one" and (each.answers or not each.answerable)
            ]
            parts[name] = rows_of(engine, questions)
        print(name, len(questions), "questions", len(parts[name].right), "answers", flush=True)
    rows, right, weights = (
        np.concatenate([part[at] for part in parts.values()]) for at in (0, 1, 2)
    )
    law = law_of(rows, right, weights)
    for name, part in parts.items():
        print(name)
        report(part, law)
        print("  as shipped:")
        report(part, LAWS[arguments.language])
    print(FACTORS)
    print(f'"{arguments.language}": {law},')


if __name__ == "__main__":
    main()
