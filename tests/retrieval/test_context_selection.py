"""Context selection: title bonus, caps, places for lists, ties, packing."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.factories import hit_of
from tests.hypothesis_settings import CALM
from tests.retrieval.hits import make_hit, split_words

from fathom.question.question import Question
from fathom.retrieval.context_selection import (
    ContextSelector,
    Selection,
    find_source,
    get_site,
    is_list,
    pack_hits,
)
from fathom.settings.anchor import AnchorSettings
from fathom.testing.doubles import run_context
from fathom.text.content_words import ContentTerms
from fathom.types import Hit

QUESTION = "who won the 2004 Award"
LISTING = "list who won the 2004 award"
SELECT = Selection(extract_terms=split_words, settings=AnchorSettings(title_overlap=0.0))
LIST = "Winners:\n- Ada\n- Bela\n- Cleo\n"


def list_ids(hits: tuple[Hit, ...]) -> list[str]:
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    return [hit.chunk.id for hit in hits]


def test_a_title_counts_when_the_text_overlaps_too() -> None:
    hits = [
        make_hit("ada was there", document="plain", score=0.60, rank=1),
        make_hit("she won", document="titled", score=0.58, rank=2, title="Award list"),
        make_hit("a cat (car)", document="titled-only", score=0.57, rank=3, title="Award list"),
    ]
    chosen = SELECT(Question(QUESTION), hits)
    assert list_ids(chosen) == ["titled#0", "plain#0", "titled-only#0"]
    assert [hit.score for hit in chosen] == [0.65, 0.60, 0.57]


def test_a_title_without_an_anchor_has_no_bonus() -> None:
    hit = make_hit("she won the 2004 award", score=0.5, title="How it was won")
    assert SELECT(Question(QUESTION), [hit])[0].score == 0.5
    named = make_hit("she won the 2004 award", score=0.5, title="Summer of 2004")
    assert SELECT(Question(QUESTION), [named])[0].score == 0.57


def test_the_required_overlap_can_be_raised() -> None:
    strict = Selection(extract_terms=split_words, settings=AnchorSettings(title_overlap=0.2))
    first, two = (
        make_hit(text, score=0.5, title="award") for text in ("she won", "she won the cup")
    )
    assert strict(Question(QUESTION), [first])[0].score == 0.5  # one word of five
    assert strict(Question(QUESTION), [two])[0].score == 0.57  # two


def test_at_equal_scores_the_rank_decides() -> None:
    hits = [make_hit("x", document=name, score=0.5, rank=n) for n, name in enumerate("ca", start=1)]
    assert list_ids(SELECT(Question(QUESTION), hits)) == ["c#0", "a#0"]


def test_a_document_has_two_places() -> None:
    many = [make_hit("x", document=f"d#{n}", score=1 - n / 10, rank=n + 1) for n in range(4)]
    other = make_hit("y", document="e", score=0.1, rank=5)
    assert list_ids(SELECT(Question(QUESTION), [*many, other])) == ["d#0", "d#1", "e#0"]


def test_a_known_source_has_two_places() -> None:
    addresses = [f"https://one.example/{n}" for n in range(3)] + ["http://two.example/"]
    hits = [make_hit("x", document=name, score=0.5, rank=n) for n, name in enumerate(addresses, 1)]
    chosen = SELECT(Question(QUESTION), hits)
    assert [name.chunk.document_id for name in chosen] == [*addresses[:2], addresses[3]]
    unknown = [make_hit("x", document=f"d{n}", score=0.5, rank=n + 1) for n in range(5)]
    assert len(SELECT(Question(QUESTION), unknown)) == 5
    named = [replace(hit, chunk=replace(hit.chunk, site="wiki.example")) for hit in unknown]
    assert len(SELECT(Question(QUESTION), named)) == 2


def make_filed_hits(*paths: str) -> list[Hit]:
    hits = [make_hit("x", document=path, rank=n) for n, path in enumerate(paths, 1)]
    return [replace(hit, chunk=replace(hit.chunk, path=hit.chunk.document_id)) for hit in hits]


def test_hits_of_other_folders_come_before_the_third_one_of_a_folder() -> None:
    first = [f"a/{n}.md" for n in range(8)]
    mixed = SELECT(Question(QUESTION), make_filed_hits(*first, "b/1.md", "b/2.md", "b/3.md"))
    # Two places each, and no place stays empty: the best of the rest fill them.
    assert [hit.chunk.path for hit in mixed] == [*first[:6], "b/1.md", "b/2.md"]
    alone = SELECT(Question(QUESTION), make_filed_hits(*first))
    assert [hit.chunk.path for hit in alone] == first


def test_a_source_is_the_site_or_else_the_folder() -> None:
    filed, bare = make_filed_hits("a/b/1.md", "1.md")
    assert (find_source(filed), find_source(bare)) == ("a/b", "")
    sited = replace(filed, chunk=replace(filed.chunk, site="one.example"))
    assert find_source(sited) == get_site(sited) == "one.example"
    # Chunks of old traces have no site.
    assert get_site(make_hit("x", document="https://two.example/1")) == "two.example"


def test_lists_have_their_own_places_when_a_list_is_asked_for() -> None:
    plain = [make_hit("x", document=f"p{n}", score=0.9 - n / 100, rank=n + 1) for n in range(8)]
    lists = [make_hit(LIST, document=f"l{n}", score=0.3 - n / 100, rank=n + 9) for n in range(4)]
    listing = list_ids(SELECT(Question(LISTING), [*plain, *lists]))
    assert listing == ["p0#0", "p1#0", "p2#0", "p3#0", "p4#0", "l0#0", "l1#0", "l2#0"]
    assert list_ids(SELECT(Question(QUESTION), [*plain, *lists])) == [f"p{n}#0" for n in range(8)]


def test_places_for_lists_are_never_left_empty() -> None:
    plain = [make_hit("x", document=f"p{n}", score=0.9 - n / 100, rank=n + 1) for n in range(9)]
    assert list_ids(SELECT(Question(LISTING), plain)) == [f"p{n}#0" for n in range(8)]


def test_caps_hold_for_lists_too() -> None:
    lists = [make_hit(LIST, document=f"l#{n}", score=0.5, rank=n + 1) for n in range(5)]
    assert len(SELECT(Question(LISTING), lists)) == 2


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        (LIST, True),
        ("1. a\n2) b\n(3) c", True),
        ("  a) one\n  b) two\n  c) three", True),
        ("• satu\n• dua\n• tiga", True),
        ("- a\n- b", False),
        ("In 1990. It was\n-5 degrees\n3.5 percent\n2004 was warm", False),
        ("", False),
    ],
)
def test_dense_lists_are_recognised(text: str, dense: bool) -> None:
    assert is_list(text) is dense


HITS = st.lists(
    st.tuples(st.integers(0, 3), st.floats(0, 1), st.booleans()), max_size=14
).map(
    lambda rows: [
        make_hit(
            LIST if listed else "x",
            document=f"http://s{site % 2}.example/{site}#{n}",
            score=score,
            rank=n,
        )
        for n, (site, score, listed) in enumerate(rows, start=1)
    ]
)  # fmt: skip


@CALM
@given(hits=HITS, listing=st.booleans())
def test_caps_and_order_always_hold(hits: list[Hit], listing: bool) -> None:
    chosen = SELECT(Question(LISTING if listing else QUESTION), hits)
    assert len(chosen) <= SELECT.settings.fine
    assert max(Counter(hit.chunk.document_id for hit in chosen).values(), default=0) <= 2
    assert max(Counter(map(get_site, chosen)).values(), default=0) <= 2
    assert [hit.score for hit in chosen] == sorted((e.score for e in chosen), reverse=True)
    assert chosen == SELECT(Question(LISTING if listing else QUESTION), hits)


def test_a_hit_that_does_not_fit_is_skipped() -> None:
    sizes = (400, 600, 300, 250, 200)
    hits = [make_hit("x" * size, document=f"d{size}", rank=n) for n, size in enumerate(sizes, 1)]
    assert list_ids(pack_hits(hits, tokens=900, count=len)) == ["d400#0", "d300#0", "d200#0"]
    assert pack_hits(hits, tokens=199, count=len) == ()
    assert pack_hits((), tokens=900, count=len) == ()


@CALM
@given(
    sizes=st.lists(st.integers(0, 50), max_size=10),
    tokens=st.integers(0, 200),
)
def test_packing_never_takes_too_much(sizes: list[int], tokens: int) -> None:
    hits = [make_hit("x" * size, document=f"d{n}", rank=n + 1) for n, size in enumerate(sizes)]
    assert sum(len(hit.chunk.text) for hit in pack_hits(hits, tokens=tokens, count=len)) <= tokens


def test_the_title_is_packed_too() -> None:
    titled = make_hit("x" * 10, title="t" * 10)
    assert pack_hits([titled], tokens=20, count=len) == ()
    assert pack_hits([titled], tokens=21, count=len) == (titled,)


PERMIT = "What does a mooring permit cost?"


def make_permit(document: str, text: str, rank: int, score: float) -> Hit:
    return replace(hit_of(text, document=document, rank=rank), score=score)


TWINS = [
    make_permit(name, "A mooring permit costs 40 crowns.", 1 + n, 3.0)
    for n, name in enumerate("ab")
]
LEASH = make_permit("c", "Dogs need a leash on the pier.", 3, 2.9)


def narrow_to_documents(
    *hits: Hit, keep: int = 1, diversity: float = 0.0, tokens: int = 100
) -> list[str]:
    narrow = ContextSelector(
        selection=Selection(
            extract_terms=ContentTerms(), settings=AnchorSettings(fine=keep, title_bonus=0.0)
        ),
        count_tokens=lambda text: len(text.split()),
    )
    with run_context() as context:
        narrowed = asyncio.run(
            narrow(
                Question(PERMIT),
                hits,
                diversity=diversity,
                tokens=tokens,
                context=context,
            )
        )
    return [hit.chunk.document_id for hit in narrowed]


def test_the_best_hits_are_kept_in_their_order() -> None:
    assert narrow_to_documents(*TWINS, LEASH, keep=3) == ["a", "b", "c"]
    assert narrow_to_documents() == []


def test_a_repeating_hit_is_replaced() -> None:
    # The twin of the first would be the second.
    four = [*TWINS, LEASH, make_permit("d", "Boats must be insured.", 4, 2.8)]
    assert narrow_to_documents(*four, keep=2, diversity=0.0) == ["a", "b"]
    five = [*TWINS, *(make_permit(n, f"Rule {n} of pier {n}.", 3, 2.9) for n in "cde")]
    assert "b" not in narrow_to_documents(*five, keep=2, diversity=0.6)


def test_mmr_alone_chooses_the_hits_and_their_order() -> None:
    # By score the twin is the second of three.
    assert narrow_to_documents(*TWINS, LEASH, keep=2, diversity=0.45) == ["a", "c"]
    assert narrow_to_documents(*TWINS, LEASH, keep=3, diversity=0.45) == ["a", "c", "b"]
    # Title and text of two hits fit.
    assert narrow_to_documents(*TWINS, LEASH, keep=3, diversity=0.45, tokens=15) == ["a", "c"]


def test_a_hit_beyond_a_cap_is_replaced_by_the_next_of_mmr() -> None:
    pages = [make_permit("a", f"Rule {n} of pier {n}.", n, 3.0 - n / 100) for n in range(1, 5)]
    same = [replace(hit, chunk=replace(hit.chunk, id=f"a#{hit.rank}")) for hit in pages]
    rest = [make_permit("b", "Dogs need a leash.", 5, 0.3)]
    assert narrow_to_documents(*same, *rest, keep=3, diversity=0.1) == ["a", "a", "b"]


def test_the_context_has_a_size() -> None:
    # Title and text: 1 + 6 and 1 + 7 words.
    assert narrow_to_documents(*TWINS, LEASH, keep=3, tokens=14) == ["a", "b"]
    assert narrow_to_documents(*TWINS, LEASH, keep=3, tokens=3) == []
