"""Pruned evidence keeps the best sentences within a number of tokens, with what leads to them."""

import re
from dataclasses import replace

import pytest
from tests.factories import hit_of, hit_with

from fathom.documents.base import Builder
from fathom.llm.tokens import count_tokens
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner, PrunedHit, keep_whole
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Hit


def make_pruner(scores: dict[str, float], *, tokens: int = 1_000) -> EvidencePruner:
    """Return a pruner for which a unit with a word of `scores` has its score, any other 0."""

    def read(_: str, chunk: Chunk) -> Reading:
        unit = chunk.text.splitlines()[-1]
        score = max(
            (scores[word] for word in re.findall(r"\w+", unit) if word in scores), default=0
        )
        return reading(chunk, relevance=score, answerable=score)

    return EvidencePruner(pairs=ScriptedCrossReader(read), limit=tokens)


def build_manual() -> Hit:
    """Return a hit of a manual with prose, a list, a table and code."""
    builder = Builder()
    builder.add_heading("Mooring", 1)
    builder.add_paragraph("The pier opens at six. A permit is needed. Dogs are welcome.")
    builder.add_paragraph("To obtain a permit:")
    for number, item in enumerate(("fill in the form", "pay the fee", "wait for the stamp"), 1):
        builder.add_item(item, f"{number}.")
    builder.add_row(["Berth", "Depth"], head=True)
    builder.add_row(["North", "4 m"])
    builder.add_row(["South", "7 m"])
    builder.add_paragraph("Print the tides with:")
    builder.add_code("tides --today\ntides --week")
    return hit_with(builder)


def list_lines(pruned: tuple[PrunedHit, ...]) -> list[str]:
    return [span.cut(kept.hit.chunk.text) for kept in pruned for span in kept.spans]


def prune_manual(word: str, question: str = "q") -> list[str]:
    """Return what is kept of the manual if only the unit with `word` is any good."""
    pruner = replace(make_pruner({word: 0.9}), share=0.9)
    heading, *lines = list_lines(pruner.prune(Question(question), [build_manual()]))
    assert heading == "Mooring"
    return lines


def test_the_best_sentences_come_in_the_order_of_the_text() -> None:
    pruner = make_pruner({"Dogs": 0.9, "pier": 0.8}, tokens=14)
    assert list_lines(pruner.prune(Question("q"), [build_manual()])) == [
        "Mooring",
        "The pier opens at six.",
        "Dogs are welcome.",
    ]


def test_only_the_units_that_promise_most_are_read_by_themselves() -> None:
    manual = build_manual()
    read: list[str] = []

    def note(_: str, chunk: Chunk) -> Reading:
        read.append(chunk.text.splitlines()[-1])
        return reading(chunk, relevance=0.5, answerable=0.5)

    pruner = EvidencePruner(pairs=ScriptedCrossReader(note), limit=1_000, most_read=2)
    kept = pruner.prune(Question("Which permit is needed at the pier?"), [manual])
    # The chunk is read whole, then those of its units that share most words with the question.
    assert read == [
        manual.chunk.text.splitlines()[-1],
        "The pier opens at six.",
        "A permit is needed.",
    ]
    assert list_lines(kept) == ["Mooring", *read[1:]]


def test_a_unit_in_which_an_answer_begins_is_read_before_others() -> None:
    manual = build_manual()

    def read_answer(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, "South" if "South" in chunk.text else "")

    pruner = EvidencePruner(pairs=ScriptedCrossReader(read_answer), limit=1_000, most_read=1)
    (kept,) = pruner.prune(Question("Where is the water deepest?"), [manual])
    assert kept.text.splitlines()[-1] == "South | 7 m"


@pytest.mark.parametrize("word", ["Dogs", "fee", "South", "week"])
def test_as_many_units_as_there_are_give_what_no_limit_gives(word: str) -> None:
    manual = build_manual()
    pruner = make_pruner({word: 0.9}, tokens=30)
    limited = replace(pruner, most_read=100)
    assert limited.prune(Question("q"), [manual]) == pruner.prune(Question("q"), [manual])


def test_a_row_comes_with_the_head_of_its_table() -> None:
    assert prune_manual("South") == ["Berth | Depth", "South | 7 m"]


def test_an_item_comes_with_the_line_that_leads_to_its_list() -> None:
    assert prune_manual("fee") == ["To obtain a permit:", "pay the fee"]


def test_an_item_brings_its_whole_list_for_a_question_for_several_things() -> None:
    lines = ["To obtain a permit:", "fill in the form", "pay the fee", "wait for the stamp"]
    assert prune_manual("fee", "How do I obtain a permit?") == lines


def test_a_line_of_code_comes_with_its_sentence() -> None:
    assert prune_manual("week") == ["Print the tides with:", "tides --week"]


def test_a_sentence_that_introduces_code_brings_the_code() -> None:
    lines = ["Print the tides with:", "tides --today", "tides --week"]
    assert prune_manual("Print") == lines


@pytest.mark.parametrize("tokens", [5, 20, 60, 200])
def test_kept_evidence_never_takes_more_tokens_than_allowed(tokens: int) -> None:
    pruner = make_pruner({"Dogs": 0.9, "pier": 0.8, "fee": 0.7, "North": 0.6}, tokens=tokens)
    lines = list_lines(pruner.prune(Question("q"), [build_manual()]))
    assert lines
    # The first piece is kept in any case.
    assert lines[1:] in ([], ["Dogs are welcome."]) or sum(map(count_tokens, lines)) <= tokens


def test_sentences_of_overlapping_chunks_are_kept_once() -> None:
    builder = Builder()
    builder.add_paragraph("The pier opens at six. A permit is needed. Dogs are welcome.")
    first = hit_with(builder, upto=42)
    second = hit_with(builder, start=23, ordinal=1)
    lines = list_lines(make_pruner({"permit": 0.9}).prune(Question("q"), [first, second]))
    assert lines == ["The pier opens at six.", "A permit is needed.", "Dogs are welcome."]


def test_documents_are_in_the_order_of_their_best_hit_and_in_the_order_of_their_text() -> None:
    builder = Builder()
    builder.add_paragraph("B one. B two.")
    early = hit_with(builder, document="b", upto=6)
    late = hit_with(builder, document="b", start=7, ordinal=1)
    builder = Builder()
    builder.add_paragraph("A.")
    other = hit_with(builder, document="a")
    pruned = make_pruner({}).prune(Question("q"), [late, other, early])
    assert [hit.text for hit in pruned] == ["B one.", "B two.", "A."]


def prune_linked(title: str) -> list[str]:
    """Return what is kept of a film, of its director under this title, and of another page."""
    texts = {
        "Alien": "Alien was directed by Ridley Scott.",
        title: "He is British.",
        "Mill": "Old.",
    }
    hits = [
        hit_of(text, document=name, rank=rank, title=name)
        for rank, (name, text) in enumerate(texts.items(), start=1)
    ]
    pruner = replace(make_pruner({"directed": 0.9}), share=0.2)
    return list_lines(pruner.prune(Question("Where is the director of Alien from?"), hits))


@pytest.mark.parametrize("title", ["Ridley Scott", "Ridley Scott (director)"])
def test_a_document_that_the_best_sentence_names_is_shown_too(title: str) -> None:
    assert prune_linked(title) == ["Alien was directed by Ridley Scott.", "He is British."]


def test_a_document_that_nothing_names_is_not_shown() -> None:
    assert prune_linked("Tony Scott") == ["Alien was directed by Ridley Scott."]


def test_every_unit_and_every_heading_of_a_whole_hit_is_kept() -> None:
    (whole,) = keep_whole([build_manual()])
    text = build_manual().chunk.text
    kept = "".join(span.cut(text) for span in whole.spans)
    # Only the numbers of the list's items are no part of a unit.
    assert sorted(kept.replace(" ", "")) == sorted(re.sub(r"\d\.\s|\s", "", text))


def test_sentences_of_one_line_are_shown_in_one_line() -> None:
    builder = Builder()
    builder.add_paragraph("The pier opens at six. A permit is needed.")
    builder.add_paragraph("Dogs are welcome.")
    (whole,) = keep_whole([hit_with(builder)])
    assert whole.text == "The pier opens at six. A permit is needed.\nDogs are welcome."


def test_no_hits_give_no_evidence() -> None:
    assert make_pruner({}).prune(Question("q"), []) == ()
