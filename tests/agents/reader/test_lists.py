from dataclasses import replace

import pytest
from tests.factories import chunk_of, hit_with

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.candidates import group_candidates
from fathom.agents.reader.lists import ListAnswer, complete_evidence, find_list_around, find_lists
from fathom.agents.reader.local import LocalReader
from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.text.content_words import ContentTerms
from fathom.types import Chunk, Evidence, Hit, Span

QUESTION = "How is a pothole filled?"
SCORES = {"a pot": 0.4, "Previous": 0.3, "Next": 0.3}


def make_list(*items: str, lead: str = "Do this:") -> Builder:
    builder = Builder()
    builder.add_heading("Filling of potholes", 1)
    builder.add_paragraph(lead)
    for number, item in enumerate(items, start=1):
        builder.add_item(item, f"{number}.")
    return builder


def make_read_hit(hit: Hit, answer: str = "", score: float = 0.5, trust: float = 1.0) -> ReadHit:
    return ReadHit(hit=hit, reading=reading(hit.chunk, answer, score), trust=trust)


def quote_first_list(*read_hits: ReadHit) -> list[str]:
    steps = find_lists(Question(QUESTION), read_hits, ContentTerms())
    return [evidence.quote for evidence in steps[0].evidence] if steps else []


def test_each_item_of_the_list_around_the_answer_is_quoted_without_its_label() -> None:
    hit = hit_with(make_list("Cut it.", "Brush it.", "Fill it."))
    assert quote_first_list(make_read_hit(hit, "Brush")) == ["Cut it.", "Brush it.", "Fill it."]
    assert quote_first_list(make_read_hit(hit, "Do this")) == ["Cut it.", "Brush it.", "Fill it."]


def test_an_inner_list_is_taken_alone_where_its_own_item_introduces_it() -> None:
    builder = Builder()
    builder.add_heading("The council", 1)
    builder.add_item("The council meets in May.", "(1)")
    builder.add_item("The council fills a pothole so:", "(2)")
    builder.add_item("it cuts it;", "a.")
    builder.add_item("it brushes it.", "b.")
    builder.add_item("The council reports.", "(3)")
    hit = hit_with(builder)
    assert quote_first_list(make_read_hit(hit, "brushes")) == ["it cuts it;", "it brushes it."]
    quote = Evidence(hit=hit, span=Span(*_locate(hit, "it cuts it;")), support=0.9)
    around = find_list_around(
        Question(QUESTION), quote, [make_read_hit(hit, "cuts")], ContentTerms()
    )
    assert around is not None
    assert [evidence.quote for evidence in around.evidence] == ["it cuts it;", "it brushes it."]
    lead = Evidence(
        hit=hit, span=Span(*_locate(hit, "The council fills a pothole so:")), support=0.9
    )
    whole = complete_evidence([lead])
    assert [evidence.quote for evidence in whole][1:] == ["it cuts it;", "it brushes it."]


def test_an_item_of_an_outer_list_is_no_item_of_the_inner_one() -> None:
    builder = make_list("Cut it.", "Brush it so:")
    builder.add_item("gently;", "a.")  # and the rest in a chunk that is no hit
    hit = hit_with(builder)

    def find_list(text: str) -> ListAnswer | None:
        quote = Evidence(hit=hit, span=Span(*_locate(hit, text)), support=0.9)
        return find_list_around(
            Question(QUESTION), quote, [make_read_hit(hit, text)], ContentTerms()
        )

    assert find_list("Cut it.") is not None
    assert find_list("gently;") is None


def _locate(hit: Hit, text: str) -> tuple[int, int]:
    start = hit.chunk.text.index(text)
    return start, start + len(text)


def test_a_list_without_the_answer_is_not_used() -> None:
    builder = Builder()
    builder.add_paragraph("It is done by Ann.")
    for item in ("Cut it.", "Fill it."):
        builder.add_item(item, "-")
    assert quote_first_list(make_read_hit(hit_with(builder), "Ann")) == []
    assert quote_first_list(make_read_hit(hit_with(make_list("Cut it.")), "Cut")) == []


def test_a_list_below_the_asked_heading_answers_instead_of_the_text_beside_it() -> None:
    hit = hit_with(make_list("Cut it.", "Fill it.", lead="It takes two hours."))
    (other,) = group_candidates([make_read_hit(hit, "two hours")])
    (steps,) = find_lists(Question(QUESTION), [make_read_hit(hit, "two hours")], ContentTerms())
    assert steps.outweighs(other, 0.7)
    assert [evidence.quote for evidence in steps.evidence] == ["Cut it.", "Fill it."]
    elsewhere = hit_with(make_list("Ash.", "Elm."), document="d2")
    (other,) = group_candidates([make_read_hit(elsewhere, "Ash")])
    assert not steps.outweighs(other, 0.7)


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Which papers do I need for a permit?", "a passport, proof of insurance"),
        ("Which paper is needed for a permit?", "a passport"),
        ("Which stamps do I need?", "a passport"),
    ],
)
def test_an_item_of_the_asked_list_is_given_with_the_others(question: str, short: str) -> None:
    builder = Builder()
    builder.add_paragraph("For a permit these papers are needed:")
    for item in ("a passport", "proof of insurance"):
        builder.add_item(item, "-")
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "a passport", 0.8))
    draft = LocalReader(pairs=pairs).draft(Question(question), [hit_with(builder)])
    assert draft.short_answer == short
    assert [evidence.quote for evidence in draft.evidence] == short.split(", ")


def test_the_likelier_of_two_lists_answers() -> None:
    first = hit_with(make_list("Cut it.", "Fill it."), document="a")
    other = hit_with(make_list("Ask Ann.", "Ask Bob."), document="b")
    quotes = quote_first_list(
        make_read_hit(first, "Cut", 0.4), make_read_hit(other, "Ann", 0.7, trust=0.5)
    )
    assert quotes == ["Cut it.", "Fill it."]


def test_text_and_code_between_numbered_items_belong_to_the_item_before() -> None:
    builder = make_list("Install:")
    builder.add_code("make install")
    builder.add_item("Start it.", "2.")
    builder.add_paragraph("It is done.")
    builder.add_item("Another list.", "-")
    hit = hit_with(builder)
    assert quote_first_list(make_read_hit(hit, "make")) == ["Install:\n\nmake install", "Start it."]


def test_a_list_continues_in_the_next_chunk_of_its_document() -> None:
    builder = make_list("Cut it.", "Brush it.", "Fill it.")
    whole = chunk_of(builder.build())
    cut = whole.text.index("3.")
    first = hit_with(builder, upto=cut)
    second = hit_with(builder, start=cut, ordinal=1)
    quotes = quote_first_list(make_read_hit(first, "Cut"), make_read_hit(second))
    assert quotes == ["Cut it.", "Brush it.", "Fill it."]
    assert quote_first_list(make_read_hit(first, "Cut")) == ["Cut it.", "Brush it."]


@pytest.mark.parametrize(
    ("items", "short"), [(("Ash.", "Elm;"), "Ash, Elm"), (("Ash.", "x" * 80), "")]
)
def test_short_items_form_a_short_answer(items: tuple[str, ...], short: str) -> None:
    read_hits = [make_read_hit(hit_with(make_list(*items)), "Ash")]
    (steps,) = find_lists(Question(QUESTION), read_hits, ContentTerms())
    assert steps.short_answer == short


def make_evidence(hit: Hit, quote: str) -> Evidence:
    start = hit.chunk.text.index(quote)
    return Evidence(hit=hit, span=Span(start, start + len(quote)), support=0.5)


def test_a_sentence_that_introduces_a_list_or_code_is_completed() -> None:
    listed = hit_with(make_list("Cut it.", "Fill it."))
    completed = complete_evidence([make_evidence(listed, "Do this:")])
    assert [evidence.quote for evidence in completed] == ["Do this:", "Cut it.", "Fill it."]
    builder = make_list()
    builder.add_code("a\nb")
    assert [
        evidence.quote
        for evidence in complete_evidence([make_evidence(hit_with(builder), "Do this:")])
    ] == [
        "Do this:",
        "a\nb",
    ]
    builder = make_list()
    builder.add_paragraph("Nothing.")
    plain = [make_evidence(hit_with(builder), "Do this:")]
    assert complete_evidence(plain) == tuple(plain)


def draft_steps(answer: str, *hits: Hit) -> list[str]:
    """Return the quotes of a draft of how something is done, where the reader sees one answer."""

    def read(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, answer, 0.8) if answer in chunk.text else reading(chunk)

    reader = LocalReader(pairs=ScriptedCrossReader(read))
    return [item.quote for item in reader.draft(Question("How do I cook rice?"), hits).evidence]


def test_all_steps_are_given_where_one_of_them_is_the_answer() -> None:
    hit = hit_with(make_list("Cut it.", "Brush it.", "Fill it.", lead="It takes an hour."))
    assert draft_steps("Brush it.", hit) == ["Cut it.", "Brush it.", "Fill it."]


def test_steps_are_collected_over_chunks_while_their_numbers_go_on() -> None:
    builder = make_list("Cut it.", "Brush it.", "Fill it.", lead="It takes an hour.")
    builder.add_heading("Painting", 1)
    builder.add_item("Paint it.", "1.")
    text = chunk_of(builder.build()).text
    second, third = text.index("2."), text.index("3.")
    parts = [
        hit_with(builder, start=second, upto=third, ordinal=1),
        hit_with(builder, upto=second),
        hit_with(builder, start=third, ordinal=2),
    ]
    assert draft_steps("Brush it.", *parts) == ["Cut it.", "Brush it.", "Fill it."]
    assert draft_steps("Brush it.", *parts[::2]) == ["Brush it.", "Fill it."]
    assert draft_steps("Cut it.", parts[1], parts[2]) == ["Cut it."]


def test_bullets_below_other_words_are_no_steps() -> None:
    builder = Builder()
    builder.add_paragraph("Rice is cooked in a pot.")
    for link in ("Previous page", "Next page"):
        builder.add_item(link, "-")

    def read(_: str, chunk: Chunk) -> Reading:
        scores = {text: score for text, score in SCORES.items() if text in chunk.text}
        spans = [reading(chunk, text, score).spans[0] for text, score in scores.items()]
        return replace(reading(chunk, answerable=0.5, relevance=0.5), spans=tuple(spans))

    reader = LocalReader(pairs=ScriptedCrossReader(read))
    draft = reader.draft(Question("How do I boil an egg?"), [hit_with(builder)])
    assert [item.quote for item in draft.evidence] == ["Rice is cooked in a pot."]


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("What are the exit codes of mow?", 3),
        ("Apa saja exit code mow?", 3),
        ("What are the colours of the daisies?", 1),
    ],
)
def test_the_entries_below_what_is_asked_are_a_list(question: str, count: int) -> None:
    builder = Builder()
    builder.add_heading("EXIT STATUS", 1)
    for code, text in {"0": "All is mown.", "1": "Something is left.", "2": "No fuel."}.items():
        builder.add_paragraph(code)
        builder.add_paragraph(f"{text} More of it.")
    hit = hit_with(builder)
    hit = replace(hit, chunk=replace(hit.chunk, title="mow - cuts lawns", id="d1#0"))
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "All is mown.", 0.6))
    draft = LocalReader(pairs=pairs).draft(Question(question), [hit])
    quotes = ["0\n\nAll is mown.", "1\n\nSomething is left.", "2\n\nNo fuel."]
    expected = quotes if count > 1 else ["All is mown."]
    assert [" ".join(item.quote.split()) for item in draft.evidence] == [
        " ".join(quote.split()) for quote in expected
    ]


def test_only_one_rule_gives_the_answer() -> None:
    def choose_lists(*answers: tuple[str, float]) -> list[ListAnswer]:
        builder = Builder()
        builder.add_heading("Borrowing", 1)
        for item in ("A card is free.", "Up to twelve may be had.", "Films must be renewed."):
            builder.add_item(item, "-")
        hit = hit_with(builder)
        spans = [reading(hit.chunk, answer, score).spans[0] for answer, score in answers]
        read = replace(reading(hit.chunk, answers[0][0]), spans=tuple(spans))
        look = ReadHit(hit=hit, reading=read, trust=1.0)
        return find_lists(Question("How can I renew a film?"), [look], ContentTerms())

    assert choose_lists(("renewed", 0.5), ("free", 0.1)) == []
    (spread,) = choose_lists(("renewed", 0.3), ("free", 0.3), ("twelve", 0.3))
    assert (len(spread.evidence), spread.score) == (3, 0.9)
