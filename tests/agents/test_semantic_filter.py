import asyncio
from dataclasses import replace

from tests.making import hit_of

from fathom.agents.semantic_filter import SemanticFilter
from fathom.testing.doubles import run_context
from fathom.text.content_words import ContentTerms
from fathom.types import Hit

QUESTION = "How much does a mooring permit cost?"
TEXTS = {
    "dense": "A mooring permit costs 40 crowns. The permit is paid in spring.",
    "thin": "Permits are sold here. Bread too. Milk as well. So is butter. And cheese.",
    "far": "A mooring permit.",
    "other": "The ferry sails at noon.",
}
SCORES = {"dense": 0.7, "thin": 0.5, "far": 0.1, "other": 0.4}
HITS = [
    replace(hit_of(text, document=name, rank=n), score=SCORES[name])
    for n, (name, text) in enumerate(TEXTS.items(), start=1)
]


def kept(question: str, strictness: float = 1.0) -> list[str]:
    async def keep() -> tuple[Hit, ...]:
        filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.2, density=0.3)
        with run_context() as context:
            return await filter_.keep(question, HITS, context, strictness=strictness)

    return [hit.chunk.document_id for hit in asyncio.run(keep())]


def test_the_far_and_the_thin_go() -> None:
    assert kept(QUESTION) == ["dense"]
    assert kept(QUESTION, strictness=0.5) == ["dense", "thin", "far"]
    assert kept(QUESTION, strictness=0.0) == ["dense", "thin", "far", "other"]


def test_where_there_is_no_common_topic_nothing_is_thin() -> None:
    filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.0, density=0.5)
    hits = [HITS[0], HITS[3], hit_of("Bread is sold.", document="bread", rank=3)]
    assert filter_.compute_densities("Kapan roti dijual?", hits) == (1.0, 1.0, 1.0)


def test_what_most_hits_share_belongs_to_the_topic() -> None:
    filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.0, density=0.5)
    texts = ("Ferries sail. Ferries rest.", "Ferries sail at noon.", "Bread is sold.")
    hits = [hit_of(text, document=str(n), rank=n) for n, text in enumerate(texts, start=1)]
    assert filter_.compute_densities("Kapan kapal?", hits) == (1.0, 1.0, 0.0)


def test_nothing_and_nonsense_are_survived() -> None:
    filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.0, density=0.5)
    assert filter_.compute_densities(QUESTION, []) == ()
    assert filter_.compute_densities("", [hit_of("…"), hit_of("", document="d2", rank=2)]) == (
        1.0,
        1.0,
    )
