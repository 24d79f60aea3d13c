"""Counts: the number stated, the number listed, or neither where they differ."""

import pytest
from tests.factories import hit_with

from fathom.agents.reader.local import LocalReader, ReaderLaw
from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Draft

QUESTION = "How many branches does the library have?"


@pytest.mark.parametrize(
    ("question", "what"),
    [
        (QUESTION, "branches"),
        ("How many public holidays are there in 2025?", "public holidays"),
        ("Ada berapa cabang perpustakaan di kota?", "cabang perpustakaan"),
        ("Berapa jumlah kantor cabang?", "kantor cabang"),
        ("Berapa biaya izin?", ""),
        ("How much does it cost?", ""),
    ],
)
def test_the_question_names_the_counted_things(question: str, what: str) -> None:
    assert Question(question).counted_noun == what


def test_a_text_without_end_takes_linear_time() -> None:
    # It would take minutes if each place were tried.
    assert Question("how many x " * 100_000).counted_noun == ""


def make_draft(
    *items: str, lead: str = "The library has these branches:", text: str = "", answer: str = ""
) -> Draft:
    """Return a draft over hits with a text and then a list below a line."""
    builder = Builder()
    builder.add_paragraph(text or "Welcome.")
    builder.add_paragraph(lead)
    for item in items:
        builder.add_item(item, "-")
    builder.add_paragraph("They are open daily.")

    def script(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, answer or items[0], 0.8 if answer else 0.5)

    law = ReaderLaw(fall=0.15, sureness=(1.0, 0.0, 0.0))
    reader = LocalReader(pairs=ScriptedCrossReader(script), laws={"en": law, "id": law})
    return reader.draft(Question(QUESTION), [hit_with(builder)])


def test_a_list_of_the_counted_things_is_counted() -> None:
    draft = make_draft("Elm", "Oak", "Ash")
    assert draft.short_answer == "3"
    assert [item.quote for item in draft.evidence] == ["Elm", "Oak", "Ash"]


def test_a_list_of_other_things_is_not_counted() -> None:
    assert make_draft("Elm", "Oak", lead="Trees in the yard:").short_answer != "2"


def test_the_stated_number_is_given_if_the_list_agrees_or_is_missing() -> None:
    parts = {"text": "The library has three branches.", "answer": "three"}
    assert make_draft("Elm", "Oak", "Ash", **parts).short_answer == "three"
    assert make_draft("Elm", "Oak", lead="Trees:", **parts).short_answer == "three"


def test_neither_number_is_given_where_they_differ() -> None:
    parts = {"text": "The library has three branches.", "answer": "three"}
    draft = make_draft("Elm", "Oak", **parts)
    assert draft.short_answer == ""
    assert [item.quote for item in draft.evidence] == [
        "The library has three branches.",
        "Elm",
        "Oak",
    ]
