"""Weights and filters of `hybrid`: python experiments/hybrid_table.py DATASET INDEX [QUESTIONS].

INDEX holds the data set, ingested with the default settings. Each question is searched once by
both branches; then their hits are fused with every pair of weights, as they are and filtered. The
best weights of each level of complexity are what `hybrid.simple`, `.moderate` and `.complex` may be
set to, if the data set is like the questions to come and has enough of them.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from fathom.agents.complexity import ComplexityAnalyser
from fathom.agents.content import ContentTerms
from fathom.agents.keyword_filter import KeywordFilter
from fathom.agents.semantic_filter import SemanticFilter
from fathom.documents.language import detect
from fathom.domains.domain import load_domain
from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.ranking import MEASURES
from fathom.index.analyzer import Analyzer
from fathom.presets.hybrid import HybridSettings
from fathom.retrieval.fused import fused
from fathom.retrieval.fusion import WeightedSum
from fathom.settings import Settings
from fathom.types import Hit, Query

OWN = HybridSettings()
STEPS = tuple(round(0.1 * step, 1) for step in range(11))
SHOWN = ("nDCG@10", "R@5", "Hit@10")
ANALYSER = ComplexityAnalyser()


class Found(NamedTuple):
    """A question with the hits of both branches, as they are and filtered."""

    id: str
    text: str
    plain: tuple[Sequence[Hit], Sequence[Hit]]
    kept: tuple[Sequence[Hit], Sequence[Hit]]


def searched(dataset: Dataset, engine: Engine, queries: int | None) -> Iterator[Found]:
    """Every judged question, or so many, evenly spread."""
    judged = [question for question in dataset.questions if dataset.qrels.get(question.id)]
    step = max(1, len(judged) // (queries or len(judged)))
    words = KeywordFilter(
        counts=Analyzer().query_terms, domain=load_domain("generic"), floor=OWN.tfidf_floor
    )
    topics = SemanticFilter(
        terms=ContentTerms(), cosine=OWN.cosine_floor, density=OWN.density_floor
    )
    for question in judged[::step][:queries]:
        query = Query(text=question.text)
        keyword, semantic = (
            engine.retriever(name).retrieve(query, k=OWN.candidates)
            for name in ("keyword", "vector")
        )
        shares = words.shares(question.text, keyword)
        near = [hit for hit in semantic if hit.score >= topics.cosine]
        densities = topics.densities(question.text, near)
        kept = (
            [hit for hit, each in zip(keyword, shares, strict=True) if each >= words.floor],
            [hit for hit, each in zip(near, densities, strict=True) if each >= topics.density],
        )
        yield Found(question.id, question.text, (keyword, semantic), kept)
        print(".", end="", file=sys.stderr, flush=True)


def ranked(lists: tuple[Sequence[Hit], Sequence[Hit]], keyword: float) -> list[str]:
    """Documents in the order of the weighted sum."""
    hits = fused(lists, (keyword, 1 - keyword), WeightedSum(), "sum")
    return list(dict.fromkeys(hit.chunk.document_id for hit in hits))


def by_complexity(found: Found) -> float:
    """The keyword weight that `hybrid` takes."""
    foreign = detect(found.text) not in {"en", "und"}
    return OWN.foreign[0] if foreign else ANALYSER.of(found.text).weights[0]


def row(name: str, rankings: Mapping[str, list[str]], dataset: Dataset) -> None:
    means = (
        fmean(MEASURES[each](ranking, dataset.qrels[q]) for q, ranking in rankings.items())
        for each in SHOWN
    )
    print(f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} |")


def table(title: str, questions: Sequence[Found], dataset: Dataset) -> None:
    print(f"\n{title}: {len(questions)} questions\n\n| keyword weight | {' | '.join(SHOWN)} |")
    print("|---" * (len(SHOWN) + 1) + "|")
    for weight in STEPS:
        row(f"{weight}", {each.id: ranked(each.plain, weight) for each in questions}, dataset)
    weights = {each.id: by_complexity(each) for each in questions}
    for name, lists in (("by complexity", "plain"), ("by complexity, filtered", "kept")):
        rankings = {each.id: ranked(getattr(each, lists), weights[each.id]) for each in questions}
        row(name, rankings, dataset)


def main(folder: Path, place: Path, queries: int | None) -> None:
    dataset = load(folder)
    with Engine(Settings.model_validate({"index": {"directory": place}})) as engine:
        questions = list(searched(dataset, engine, queries))
    table("All", questions, dataset)
    for level in ("simple", "moderate", "complex"):
        alike = [each for each in questions if ANALYSER.of(each.text).level == level]
        if alike:
            table(level, alike, dataset)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
