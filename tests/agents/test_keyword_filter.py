import asyncio
from collections.abc import Sequence

import pytest
from tests.factories import hit_of

from fathom.agents.keyword_filter import KeywordFilter
from fathom.domains.domain import Domain
from fathom.question.question import Question
from fathom.testing.doubles import run_context
from fathom.text.analyzer import Analyzer
from fathom.types import Hit

QUESTION = "How much does a mooring permit cost?"
TEXTS = (
    "A mooring permit costs 40 crowns a year.",
    "The mooring is closed in winter.",
    "The ferry sails at noon.",
    "A permit, a permit, a permit.",
)
HITS = [hit_of(text, document=str(n), rank=n) for n, text in enumerate(TEXTS, start=1)]


def make_filter(floor: float = 0.2, **domain: object) -> KeywordFilter:
    test_domain = Domain(name="test", **domain)  # type: ignore[arg-type]
    return KeywordFilter(count_words=Analyzer().count_query_terms, domain=test_domain, floor=floor)


def list_kept(
    filter_: KeywordFilter, question: str, strictness: float = 1.0, entities: Sequence[str] = ()
) -> list[str]:
    async def run_filter() -> tuple[Hit, ...]:
        with run_context() as context:
            return await filter_.keep(
                Question(question), HITS, context, strictness=strictness, entities=entities
            )

    return [hit.chunk.document_id for hit in asyncio.run(run_filter())]


def test_a_hit_that_shares_no_word_with_the_question_is_removed() -> None:
    assert list_kept(make_filter(), QUESTION) == ["1", "2", "4"]
    assert list_kept(make_filter(0.9), QUESTION) == ["1"]
    assert list_kept(make_filter(0.9), QUESTION, strictness=0.0) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("entities", "kept"),
    [
        ((), ["1"]),
        (("NOON",), ["1", "3"]),
        (('"at noon"',), ["1", "3"]),
        (("noon", "Ferry"), ["1", "3"]),
        (("noon", "harbour"), ["1"]),
        (("no",), ["1"]),
    ],
)
def test_a_hit_with_all_entities_of_the_question_stays(
    entities: tuple[str, ...], kept: list[str]
) -> None:
    assert list_kept(make_filter(0.9), QUESTION, entities=entities) == kept


def test_rare_and_repeated_words_count_more() -> None:
    best, mooring, ferry, permit = make_filter().compute_shares(Question(QUESTION), HITS)
    assert best == 1.0
    assert best > permit > mooring > ferry == 0.0


def test_terms_of_the_domain_count_more() -> None:
    plain, with_terms = make_filter(), make_filter(terms=("mooring",))
    assert (
        with_terms.compute_shares(Question(QUESTION), HITS)[1]
        > plain.compute_shares(Question(QUESTION), HITS)[1]
    )


def test_a_synonym_counts_as_the_word() -> None:
    question = "How much is a berth?"
    assert make_filter().compute_shares(Question(question), HITS) == (
        1.0,
        1.0,
        1.0,
        1.0,
    )  # nothing to compare
    assert make_filter(synonyms={"berth": ("mooring",)}).compute_shares(
        Question(question), HITS
    ) == (
        1.0,
        1.0,
        0.0,
        0.0,
    )
    assert make_filter(synonyms={"ber": ("mooring",)}).compute_shares(Question(question), HITS) == (
        1.0,
        1.0,
        1.0,
        1.0,
    )


def test_empty_and_meaningless_questions_are_survived() -> None:
    assert make_filter().compute_shares(Question(""), []) == ()
    assert make_filter().compute_shares(Question("🙂 ?!"), HITS) == (1.0, 1.0, 1.0, 1.0)
