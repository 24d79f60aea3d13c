"""The confidence of a model's answer: PYTHONPATH=. python training/fit_answer_confidence.py en.

Needs the cross-readers and the evaluation data (`SHARED_DATA`, default ../shared/data), as
`fit_span_reader`, whose questions it uses. Three scripted readers stand in for what models do with
the best hits of a question; the laws of known models are fitted on their real answers
(`fit_model_calibration`):

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
from training.fit_span_reader import DATA, choose_questions, describe_law

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


class ScriptedAnswer(NamedTuple):
    """The answer of a scripted reader, and whether it is right."""

    reader: str
    draft: Draft
    right: bool


def make_answers(
    question: DatasetQuestion, hits: Sequence[Hit], pairs: CrossReader, dice: random.Random
) -> Iterator[ScriptedAnswer]:
    """Yield the answers of the scripted readers to the hits."""
    places = [(hit, unit.span) for hit in hits for unit in list_units(hit.chunk)]
    if not places:
        return
    quotes = [span.cut(hit.chunk.text) for hit, span in places]
    for quote, place in zip(quotes, places, strict=True):
        gold = next((answer for answer in question.answers if holds_answer(quote, answer)), "")
        if question.answerable and gold:
            yield ScriptedAnswer("careful", make_draft(*place, gold), right=True)
            break
    terms = _TERMS(question.text)
    shared = [len(terms & _TERMS(quote)) for quote in quotes]
    eager = max(range(len(places)), key=lambda at: (shared[at], -at))
    for reader, at in (("eager", eager), ("careless", dice.randrange(len(places)))):
        hit, span = places[at]
        (read,) = pairs.open_session(question.text).read([extract_chunk(hit.chunk, span)])
        short = read.spans[0].span.cut(quotes[at]) if read.spans else ""
        right = question.answerable and is_right(short, question.answers)
        yield ScriptedAnswer(reader, make_draft(hit, span, short), right)


def make_draft(hit: Hit, span: Span, short: str) -> Draft:
    """Return an answer with one quote."""
    return Draft(evidence=(Evidence(hit=hit, span=span, support=1.0),), short_answer=short)


def fit_law(rows: np.ndarray, right: np.ndarray, weights: np.ndarray) -> tuple[float, ...]:
    """Return the slopes, none below 0 except the offset, by Newton's method one after the other."""
    law, ridge = np.zeros(rows.shape[1]), np.full(rows.shape[1], _RIDGE)
    ridge[-1] = 0.0
    for _ in range(_ROUNDS):
        for at, column in enumerate(rows.T):
            p = 1 / (1 + np.exp(-rows @ law))
            slope = column @ (weights * (right - p)) - ridge[at] * law[at]
            law[at] += slope / ((column**2) @ (weights * p * (1 - p)) + ridge[at] + 1e-9)
            if at < len(law) - 1:
                law[at] = max(0.0, law[at])
    return tuple(round(float(slope), 2) for slope in law)


class Rows(NamedTuple):
    """The factors of the law, with labels and weights."""

    factors: np.ndarray
    right: np.ndarray
    weights: np.ndarray
    readers: Sequence[str]


def collect_rows(engine: Engine, questions: Sequence[DatasetQuestion]) -> Rows:
    """Return the rows of a data set, each reader with the same weight."""
    pairs = engine.assembly.cross_reader
    confidence = AnswerConfidence(pairs=pairs)
    dice, entries = random.Random(1), []
    for question in questions:
        hits = engine.search(question.text, k=engine.settings.ask.chunks)
        first = LocalReader.of(engine.assembly).draft(Question(question.text), hits)
        for answer in make_answers(question, hits, pairs, dice):
            factors = confidence.compute_factors(Question(question.text), answer.draft, first)
            entries.append((answer.reader, factors, answer.right))
    readers = [reader for reader, _, _ in entries]
    weights = np.asarray([200 / readers.count(reader) for reader in readers])
    return Rows(
        np.asarray([factors for _, factors, _ in entries]),
        np.asarray([right for _, _, right in entries], dtype=float),
        weights,
        readers,
    )


def report(rows: Rows, law: Sequence[float]) -> None:
    """Print how well a law separates right from wrong, for all readers and each."""
    slopes = np.asarray(law)
    print("  all".ljust(14), describe_law(rows.factors, rows.right, slopes))
    p = 1 / (1 + np.exp(-rows.factors @ slopes))
    for reader in sorted(set(rows.readers)):
        of_reader = np.asarray([name == reader for name in rows.readers])
        accepted = (p >= Settings().ask.min_confidence) & of_reader
        print(
            f"  {reader}".ljust(14),
            f"n={of_reader.sum()} right={rows.right[of_reader].mean():.3f} "
            f"mean={p[of_reader].mean():.3f} "
            f"kept={accepted.sum() / of_reader.sum():.3f} right of kept="
            f"{rows.right[accepted].mean() if accepted.any() else float('nan'):.3f}",
        )


def collect_scripted_rows(arguments: argparse.Namespace) -> dict[str, Rows]:
    """Return the rows of scripted readers by data set."""
    parts: dict[str, Rows] = {}
    for name in arguments.sets or SETS[arguments.language]:
        models = ModelSettings(threads=arguments.threads)
        place = arguments.indexes / name
        dataset = load(DATA / name)
        with Engine(Settings(index=IndexSettings(directory=place), models=models)) as engine:
            if not place.exists():
                engine.ingest([dataset.corpus])
            questions = [
                question
                for question in choose_questions(dataset, arguments.questions, fitted=True)
                if Question(question.text).form == "one"
                and (question.answers or not question.answerable)
            ]
            parts[name] = collect_rows(engine, questions)
        print(name, len(questions), "questions", len(parts[name].right), "answers", flush=True)
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=SETS)
    parser.add_argument("--sets", nargs="*", help="by default those of the language")
    parser.add_argument("--questions", type=int, default=150, help="of each set")
    parser.add_argument("--indexes", type=Path, help="with an index of each set")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    parts = collect_scripted_rows(arguments)
    rows, right, weights = (
        np.concatenate([part[at] for part in parts.values()]) for at in (0, 1, 2)
    )
    law = fit_law(rows, right, weights)
    for name, part in parts.items():
        print(name)
        report(part, law)
        print("  as shipped:")
        report(part, LAWS[arguments.language])
    print(FACTORS)
    print(f'"{arguments.language}": {law},')


if __name__ == "__main__":
    main()
