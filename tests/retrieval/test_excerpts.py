"""Excerpts: the best sentences of hits first, with their places, within some characters."""

from dataclasses import replace

import pytest
from tests.factories import hit_with

from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.retrieval.excerpts import (
    CUT,
    EXCERPT_CHARS,
    EXCERPT_HITS,
    MARGIN,
    MORE_HITS,
    Excerpter,
    choose_hit_count,
)
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Block, Chunk, Document, Hit, Span

FEES = "Fees\n\nThe office is red.\n\nA permit costs 40 crowns.\n\nIt is paid at the office."
HOURS = "The library opens at nine.\n\nDogs are welcome."


def read(_: str, chunk: Chunk) -> Reading:
    scores = {"40": 0.5, "nine": 0.9}
    score = max((score for word, score in scores.items() if word in chunk.text), default=0.0)
    return reading(chunk, relevance=score, answerable=score)


READER = ScriptedCrossReader(read)


def build_hit(name: str, text: str, rank: int) -> tuple[Hit, Document]:
    builder = Builder()
    for number, paragraph in enumerate(text.split("\n\n")):
        if number == 0 and paragraph == "Fees":
            builder.add_heading(paragraph, 1)
        else:
            builder.add_paragraph(paragraph)
    hit = hit_with(builder)
    chunk = replace(
        hit.chunk,
        document_id=name,
        id=f"{name}#0",
        path=f"/docs/{name}.md",
        title=f"{name}.md",
        headings=(),
    )
    document = Document(
        id=name,
        text=chunk.text,
        path=chunk.path,
        title=chunk.title,
        blocks=(Block(kind="paragraph", span=Span(0, len(chunk.text)), headings=("Prices",)),),
    )
    return replace(hit, chunk=chunk, rank=rank), document


(FEE_HIT, FEE_DOCUMENT), (HOUR_HIT, HOUR_DOCUMENT) = (
    build_hit("fees", FEES, 1),
    build_hit("hours", HOURS, 2),
)
HITS = (FEE_HIT, HOUR_HIT)
DOCUMENTS = {"fees": FEE_DOCUMENT, "hours": HOUR_DOCUMENT}


def test_the_hit_with_the_best_sentence_comes_first_with_its_place() -> None:
    excerpts = Excerpter(pairs=READER, chars=160).make_excerpts("q", HITS, DOCUMENTS)
    first, second = excerpts.excerpts
    assert (first.hit, first.text.splitlines()[0]) == (HOUR_HIT, "The library opens at nine.")
    assert second.text.startswith("A permit costs 40 crowns.")
    # Neither the heading in the chunk nor a title that is the file's name is said again.
    assert (second.at, second.name) == ("/docs/fees.md:5", "Prices")
    assert FEE_DOCUMENT.text[second.start :].startswith("A permit costs")


def test_the_place_of_an_excerpt_takes_no_more_room_than_it_is_printed_in() -> None:
    whole = Excerpter(pairs=READER, chars=400).make_excerpts("q", HITS, DOCUMENTS)
    assert len(whole.excerpts) == len(HITS)
    lines = [
        line
        for excerpt in whole.excerpts
        for line in (f"{excerpt.at}{excerpt.name}", *excerpt.text.split("\n"))
    ]
    size = sum(len(line) + MARGIN for line in lines)
    assert Excerpter(pairs=READER, chars=size).make_excerpts("q", HITS, DOCUMENTS) == whole


def test_sentences_that_score_low_fill_only_what_is_asked_for_beyond_the_default() -> None:
    few = Excerpter(pairs=READER, chars=EXCERPT_CHARS).make_excerpts("q", HITS, DOCUMENTS)
    more = Excerpter(pairs=READER, chars=EXCERPT_CHARS + 1).make_excerpts("q", HITS, DOCUMENTS)
    assert [excerpt.text.count("\n") for excerpt in few.excerpts] == [0, 0]
    assert "Dogs are welcome." in more.excerpts[0].text


def test_characters_and_hits_that_do_not_fit_are_counted() -> None:
    excerpts = Excerpter(pairs=READER, chars=60).make_excerpts("q", HITS, DOCUMENTS)
    (only,) = excerpts.excerpts
    assert excerpts.hits_left == 1
    shown = len(only.text)
    assert excerpts.chars_left == sum(len(hit.chunk.text) for hit in HITS) - shown


@pytest.mark.parametrize("chars", [30, 40, 60, 100, 400])
def test_no_more_characters_are_shown_than_asked_for(chars: int) -> None:
    excerpts = Excerpter(pairs=READER, chars=chars).make_excerpts("q", HITS, DOCUMENTS).excerpts
    lines = [
        line
        for excerpt in excerpts
        for line in (f"{excerpt.at}{excerpt.name}", *excerpt.text.split("\n"))
    ]
    size = sum(len(line) + MARGIN for line in lines)
    assert size <= chars
    assert excerpts


def test_a_first_sentence_that_is_too_long_is_cut_with_a_mark() -> None:
    (only,) = Excerpter(pairs=READER, chars=40).make_excerpts("q", HITS, DOCUMENTS).excerpts
    assert only.text.endswith(CUT)
    assert "The library opens at nine.".startswith(only.text.removesuffix(CUT))


def test_lines_around_an_excerpt_are_those_of_the_document() -> None:
    (only,) = (
        Excerpter(pairs=READER, chars=120, context=2)
        .make_excerpts("q", [FEE_HIT], DOCUMENTS)
        .excerpts
    )
    assert "The office is red." in only.text
    assert only.text in FEE_DOCUMENT.text


def test_a_document_that_was_removed_since_the_search_gives_its_path() -> None:
    excerpts = Excerpter(pairs=READER).make_excerpts("q", [FEE_HIT], {}).excerpts
    assert excerpts[0].at == "/docs/fees.md"


@pytest.mark.parametrize(("chars", "most"), [(250, 12), (EXCERPT_CHARS, 12), (4_800, 48)])
def test_more_characters_have_more_sentences_read(chars: int, most: int) -> None:
    text = "\n\n".join(f"Line {number} costs 40 crowns." for number in range(60))
    hit, document = build_hit("long", text, 1)
    texts: list[str] = []

    def note(question: str, chunk: Chunk) -> Reading:
        texts.append(chunk.text)
        return read(question, chunk)

    excerpter = Excerpter(pairs=ScriptedCrossReader(note), chars=chars)
    excerpter.make_excerpts("q", [hit], {"long": document})
    assert len([text for text in texts if text != hit.chunk.text]) == most


def test_more_characters_are_chosen_from_more_hits() -> None:
    counts = [choose_hit_count(chars) for chars in (None, 250, EXCERPT_CHARS, EXCERPT_CHARS + 1)]
    assert counts == [EXCERPT_HITS, EXCERPT_HITS, EXCERPT_HITS, MORE_HITS]


def test_no_hits_give_no_excerpts() -> None:
    excerpts = Excerpter(pairs=READER).make_excerpts("q", [], {})
    assert (excerpts.excerpts, excerpts.hits_left, excerpts.chars_left) == ((), 0, 0)


def test_fillers_take_no_room() -> None:
    text = "Fees . . . . . . . . 40\n\n.\n\nRules | | | | | 57\n\nName: ____________ , aged 40"
    hit, document = build_hit("contents", text, 1)

    (excerpt,) = (
        Excerpter(pairs=READER).make_excerpts("fees", [hit], {"contents": document}).excerpts
    )

    assert excerpt.text.split("\n")[0] == "Fees … 40"
    assert "." not in excerpt.text.split("\n")
    assert not any(mark in excerpt.text for mark in ("| |", ". .", "__"))
