"""Answers in the entries of manuals."""

import pytest
from tests.factories import hit_with

from fathom.agents.reader.local import LocalReader
from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Draft, Hit

ENTRIES = {
    "-e, --edge": "Keeps the edges of the lawn.",
    "-d, --daisies": "Spares the daisies on the lawn.",
    "-b, --blade": "The blade for the lawn. The default is the short one.",
    "-q, --quiet": "Lawn work without noise. This is the default.",
}


def make_manual(title: str = "mow") -> Hit:
    builder = Builder()
    builder.add_heading(title, 1)
    builder.add_paragraph("Options of the lawn are these.")
    for name, text in ENTRIES.items():
        builder.add_paragraph(name)
        builder.add_paragraph(text)
    return hit_with(builder)


def draft(question: str, answers: dict[str, float], hit: Hit | None = None) -> Draft:
    """Return the draft where the whole chunk answers badly, and entries alone as given."""

    def read(_: str, chunk: Chunk) -> Reading:
        if "Options of the lawn" in chunk.text:
            return reading(chunk, "Options", 0.2)
        answer = next((text for text in answers if text in chunk.text), "")
        return reading(chunk, answer, answers[answer]) if answer else reading(chunk)

    reader = LocalReader(pairs=ScriptedCrossReader(read))
    return reader.draft(Question(question), [hit or make_manual()])


@pytest.mark.parametrize(
    "question",
    ["Which option spares daisies?", "How do I spare the daisies?", "spare lawn daisies"],
)
def test_the_option_that_is_described_is_the_answer_with_its_description(question: str) -> None:
    answer = draft(question, {"Spares the daisies": 0.9, "Keeps the edges": 0.7})
    assert answer.short_answer == "-d, --daisies"
    quotes = [item.quote for item in answer.evidence]
    assert quotes == ["-d, --daisies", "Spares the daisies on the lawn."]


def test_the_meaning_of_a_named_option_is_its_description() -> None:
    answer = draft("What does --edge do on the lawn?", {"Keeps the edges": 0.7})
    assert answer.short_answer == "Keeps the edges of the lawn."


def test_a_default_is_read_in_the_sentence_that_tells_it() -> None:
    answer = draft("Which blade is used on the lawn by default?", {"the short one": 0.9})
    assert answer.short_answer == "the short one"
    assert answer.evidence[-1].quote == "The default is the short one."


def test_the_entry_that_is_the_default_itself_is_named() -> None:
    answer = draft("How noisy is lawn work by default?", {"work without noise": 0.9})
    assert answer.short_answer == "-q, --quiet"


def test_an_option_is_no_directive() -> None:
    builder = Builder()
    builder.add_paragraph("Options of the lawn are these.")
    builder.add_paragraph("--daisies\nSpares the daisies on the lawn.")
    builder.add_paragraph("daisy_care\nTends the daisies on the lawn.")
    answers = {"Spares the daisies": 0.9, "Tends the daisies": 0.8}
    directive = draft("Which directive is for daisies?", answers, hit_with(builder))
    assert directive.short_answer == "daisy_care"
    assert draft("Which flag is for daisies?", answers, hit_with(builder)).short_answer == (
        "--daisies"
    )


def test_a_way_to_do_something_is_as_sure_as_the_usual_answer_at_most() -> None:
    usual = draft("How do I spare the daisies?", {})
    new = draft("How do I spare the daisies?", {"Spares the daisies": 0.9})
    assert new.short_answer == "-d, --daisies"
    assert new.confidence == usual.confidence


def test_an_entry_that_does_not_answer_alone_changes_nothing() -> None:
    assert draft("Which option spares daisies?", {"Spares the daisies": 0.5}).short_answer == (
        "Options"
    )


def test_options_of_another_program_than_the_one_named_do_not_count() -> None:
    question = "How do I spare the daisies with Scythe?"
    answers = {"Spares the daisies": 0.9}
    assert draft(question, answers).short_answer == "Options"
    assert draft(question, answers, make_manual("Scythe")).short_answer == "-d, --daisies"


def test_the_option_in_the_question_is_not_its_answer() -> None:
    answer = draft(
        "Which option beside --daisies spares daisies on the lawn?", {"Spares the daisies": 0.9}
    )
    assert answer.short_answer == "Options"


def make_settings() -> Hit:
    builder = Builder()
    builder.add_paragraph("Options of the lawn are these.")
    for name, text, default in (
        ("rake_port", "The port of the rake on the lawn.", "20"),
        ("idle_mower_timeout", "Seconds until an idle mower leaves the lawn.", "300"),
        ("mower", "The mower of the lawn.", "red"),
    ):
        builder.add_paragraph(f"{name}\n{text}")
        builder.add_paragraph(f"Default: {default}")
    return hit_with(builder)


def draft_default(question: str, usual: str, alone: str) -> Draft:
    """Return the draft where the whole chunk says one default, and an entry alone another."""

    def read(_: str, chunk: Chunk) -> Reading:
        if "Options of the lawn" in chunk.text:
            return reading(chunk, usual, 0.9)
        return reading(chunk, alone, 0.8) if alone in chunk.text else reading(chunk)

    reader = LocalReader(pairs=ScriptedCrossReader(read))
    return reader.draft(Question(question), [make_settings()])


def test_the_default_of_the_named_entry_goes_before_that_of_its_neighbour() -> None:
    answer = draft_default("What is the default idle mower timeout?", "20", "300")
    assert answer.short_answer == "300"
    assert [item.quote for item in answer.evidence][-1] == "Default: 300"


@pytest.mark.parametrize(
    ("question", "usual", "alone"),
    [
        ("How long is the mower idle by default?", "20", "300"),
        ("What is the default idle mower timeout?", "300", "red"),
        ("What is the default idle mower timeout?", "300", "20"),
    ],
)
def test_a_default_stays_where_the_question_names_no_other_entry_better(
    question: str, usual: str, alone: str
) -> None:
    assert draft_default(question, usual, alone).short_answer == usual
