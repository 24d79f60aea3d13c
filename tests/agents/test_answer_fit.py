"""Whether an answer that a person tells answers the question: `fathom.agents.answer_fit`."""

import pytest

from fathom.agents.answer_fit import AnswerFit
from fathom.agents.judge import LocalJudge
from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Document, Span

TEXT = "The pier is old. A permit costs 40 crowns. It is paid at the office. Boats wait. Gulls cry."
DOCUMENT = Document(id="d", text=TEXT, path="fees.md", title="Fees")
QUESTION = "What does a permit cost?"


def place_of(words: str) -> Span:
    at = TEXT.index(words)
    return Span(at, at + len(words))


def fit(seen: list[str], answer: str, score: float, supported: float = 0.0) -> AnswerFit:
    def script(question: str, chunk: Chunk) -> Reading:
        seen.append(chunk.text)
        if question == QUESTION and answer in chunk.text:
            return reading(chunk, answer, score)
        return reading(chunk, supported=supported)

    pairs = ScriptedCrossReader(script)
    return AnswerFit(pairs=pairs, judge=LocalJudge(pairs=pairs))


def test_an_answer_is_read_among_the_sentences_beside_its_own() -> None:
    seen: list[str] = []
    assert fit(seen, "40 crowns", 0.2).answers_question(QUESTION, DOCUMENT, place_of("40"))
    assert seen == ["The pier is old. A permit costs 40 crowns. It is paid at the office."]


@pytest.mark.parametrize("words", ["office", "pier", "It is paid at the office."])
def test_what_the_reader_does_not_take_for_an_answer_is_none(words: str) -> None:
    assert not fit([], "40 crowns", 0.9).answers_question(QUESTION, DOCUMENT, place_of(words))


def test_what_is_as_good_as_impossible_is_no_answer_either() -> None:
    assert not fit([], "40 crowns", 0.04).answers_question(
        QUESTION, DOCUMENT, place_of("40 crowns")
    )


def test_the_judge_lets_an_answer_pass_that_its_sentence_alone_supports() -> None:
    seen: list[str] = []
    made = fit(seen, "nothing", 0.0, supported=0.6)
    assert made.answers_question(QUESTION, DOCUMENT, place_of("40 crowns"))
    assert seen[-1] == "A permit costs 40 crowns."
    assert not fit([], "nothing", 0.0, supported=0.4).answers_question(
        QUESTION, DOCUMENT, place_of("40 crowns")
    )


def test_what_a_row_is_about_is_read_in_the_headings_above_it() -> None:
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
    made = AnswerFit(pairs=pairs, judge=LocalJudge(pairs=pairs))
    assert made.answers_question("What is the late fee for a film?", document, Span(at, at + 8))
    assert crumbs == ["Fees > Late returns"]


def test_where_there_is_no_sentence_there_is_no_answer() -> None:
    blank = Document(id="d", text=" \n ", path="fees.md", title="Fees")
    assert not fit([], "40", 0.9).answers_question(QUESTION, blank, Span(0, 1))
