"""The check that an answer told by a person answers the question: `fathom.agents.answer_fit`."""

import pytest

from fathom.agents.answer_fit import AnswerFit
from fathom.agents.judge import LocalJudge
from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Document, Span

TEXT = "The pier is old. A permit costs 40 crowns. It is paid at the office. Boats wait. Gulls cry."
DOCUMENT = Document(id="d", text=TEXT, path="fees.md", title="Fees")
QUESTION = "What does a permit cost?"


def locate(words: str) -> Span:
    at = TEXT.index(words)
    return Span(at, at + len(words))


def make_fit(read_texts: list[str], answer: str, score: float, supported: float = 0.0) -> AnswerFit:
    def script(question: str, chunk: Chunk) -> Reading:
        read_texts.append(chunk.text)
        if question == QUESTION and answer in chunk.text:
            return reading(chunk, answer, score)
        return reading(chunk, supported=supported)

    pairs = ScriptedCrossReader(script)
    return AnswerFit(pairs=pairs, judge=LocalJudge(pairs=pairs))


def test_an_answer_is_read_with_its_neighbouring_sentences() -> None:
    read_texts: list[str] = []
    assert make_fit(read_texts, "40 crowns", 0.2).answers_question(
        Question(QUESTION), DOCUMENT, locate("40")
    )
    assert read_texts == ["The pier is old. A permit costs 40 crowns. It is paid at the office."]


@pytest.mark.parametrize("words", ["office", "pier", "It is paid at the office."])
def test_words_that_the_reader_does_not_take_for_an_answer_are_refused(words: str) -> None:
    assert not make_fit([], "40 crowns", 0.9).answers_question(
        Question(QUESTION), DOCUMENT, locate(words)
    )


def test_an_almost_impossible_answer_is_refused() -> None:
    assert not make_fit([], "40 crowns", 0.04).answers_question(
        Question(QUESTION), DOCUMENT, locate("40 crowns")
    )


def test_an_answer_supported_by_its_sentence_alone_passes() -> None:
    read_texts: list[str] = []
    checker = make_fit(read_texts, "nothing", 0.0, supported=0.6)
    assert checker.answers_question(Question(QUESTION), DOCUMENT, locate("40 crowns"))
    assert read_texts[-1] == "A permit costs 40 crowns."
    assert not make_fit([], "nothing", 0.0, supported=0.4).answers_question(
        Question(QUESTION), DOCUMENT, locate("40 crowns")
    )


def test_a_row_is_read_with_the_headings_above_it() -> None:
    builder = Builder()
    builder.add_heading("Late returns", 1)
    builder.add_row(["Item", "Fee"], head=True)
    builder.add_row(["Film", "2 crowns"])
    parsed = builder.build()
    document = Document(
        id="d", text=parsed.text, path="fees.md", title="Fees", blocks=parsed.blocks
    )
    crumbs: list[str] = []

    def script(_: str, chunk: Chunk) -> Reading:
        crumbs.append(chunk.breadcrumb)
        return reading(chunk, "2 crowns", 0.5)

    pairs = ScriptedCrossReader(script)
    at = parsed.text.index("2 crowns")
    fit = AnswerFit(pairs=pairs, judge=LocalJudge(pairs=pairs))
    assert fit.answers_question(
        Question("What is the late fee for a film?"), document, Span(at, at + 8)
    )
    assert crumbs == ["Fees > Late returns"]


def test_without_a_sentence_there_is_no_answer() -> None:
    blank = Document(id="d", text=" \n ", path="fees.md", title="Fees")
    assert not make_fit([], "40", 0.9).answers_question(Question(QUESTION), blank, Span(0, 1))
