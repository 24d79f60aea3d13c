import asyncio
from dataclasses import replace

from tests.factories import hit_of

from fathom.agents.semantic_filter import SemanticFilter
from fathom.question.question import Question
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


def list_kept(question: str, strictness: float = 1.0, entities: tuple[str, ...] = ()) -> list[str]:
    async def run_filter() -> tuple[Hit, ...]:
        filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.2, density=0.3)
        with run_context() as context:
            return await filter_.keep(
                Question(question), HITS, context, strictness=strictness, entities=entities
            )

    return [hit.chunk.document_id for hit in asyncio.run(run_filter())]


def test_distant_and_thin_hits_are_removed() -> None:
    assert list_kept(QUESTION) == ["dense"]
    assert list_kept(QUESTION, strictness=0.5) == ["dense", "thin", "far"]
    assert list_kept(QUESTION, strictness=0.0) == ["dense", "thin", "far", "other"]


def test_a_distant_or_thin_hit_with_all_entities_of_the_question_stays() -> None:
    assert list_kept(QUESTION, entities=("bread", "Milk")) == ["dense", "thin"]
    assert list_kept(QUESTION, entities=("ferry",)) == ["dense", "other"]
    assert list_kept(QUESTION, entities=("ferry", "bread")) == ["dense"]


def test_without_a_common_topic_no_hit_is_thin() -> None:
    filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.0, density=0.5)
    hits = [HITS[0], HITS[3], hit_of("Bread is sold.", document="bread", rank=3)]
    assert filter_.compute_densities(Question("Kapan roti dijual?"), hits) == (1.0, 1.0, 1.0)


def test_terms_shared_by_most_hits_belong_to_the_topic() -> None:
    filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.0, density=0.5)
    texts = ("Ferries sail. Ferries rest.", "Ferries sail at noon.", "Bread is sold.")
    hits = [hit_of(text, document=str(n), rank=n) for n, text in enumerate(texts, start=1)]
    assert filter_.compute_densities(Question("Kapan kapal?"), hits) == (1.0, 1.0, 0.0)


def test_empty_and_meaningless_questions_are_survived() -> None:
    filter_ = SemanticFilter(extract_terms=ContentTerms(), cosine=0.0, density=0.5)
    assert filter_.compute_densities(Question(QUESTION), []) == ()
    assert filter_.compute_densities(
        Question(""), [hit_of("…"), hit_of("", document="d2", rank=2)]
    ) == (
        1.0,
        1.0,
    )
