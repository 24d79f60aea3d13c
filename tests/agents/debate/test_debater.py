import asyncio
import re
from dataclasses import replace
from typing import Any

from tests.factories import hit_of

from fathom.agents.debate.debater import LocalDebater, Position
from fathom.models.reading import Reading, ReadSpan
from fathom.question.question import Question
from fathom.runs.recorder import Recorder
from fathom.settings.maf import MafSettings
from fathom.testing.doubles import ScriptedCrossReader, reading, run_context
from fathom.types import Chunk, Evidence, Hit, Span

WHO = "Who built the mill?"
OWN_HIT = hit_of("Eva Vale built the mill in Elm on the Oder. Bo Hill lived there.", document="own")


def read_names(_: str, chunk: Chunk) -> Reading:
    """Read two names, the first one with more confidence."""
    names = [name for name in ("Eva Vale", "Bo Hill", "Cy Roe") if name in chunk.text]
    if not names:
        return reading(chunk)
    starts = [chunk.text.index(name) for name in names]
    spans = [
        ReadSpan(span=Span(start, start + len(name)), score=0.6 - 0.2 * place)
        for place, (start, name) in enumerate(zip(starts, names, strict=True))
    ]
    return replace(reading(chunk, names[0]), spans=tuple(spans))


def read_numbers(_: str, chunk: Chunk) -> Reading:
    """Read all numbers, the first one with more confidence."""
    places = [Span(*match.span()) for match in re.finditer(r"[\d,]+", chunk.text)]
    spans = tuple(ReadSpan(span=span, score=0.6 / rank) for rank, span in enumerate(places, 1))
    return replace(reading(chunk, spans[0].span.cut(chunk.text)), spans=spans)


def make_debater(**options: Any) -> LocalDebater:
    return LocalDebater(pairs=ScriptedCrossReader(read_names), settings=MafSettings(**options))


def make_peer(answer: str, text: str, score: float = 0.9) -> Position:
    hit = hit_of(text, document=text)
    evidence = Evidence(hit=hit, span=Span(0, len(text)), support=score)
    return Position(hit=hit, answer=answer, evidence=evidence, score=score)


def speak(hit: Hit, previous: Position | None = None, *heard: Position) -> Position:
    return make_debater().take_position(Question(WHO), hit, previous, heard)


def test_in_the_first_round_it_gives_the_answer_of_its_chunk() -> None:
    position = speak(OWN_HIT)
    assert (position.answer, position.score, position.move) == ("Eva Vale", 0.6, "opens")
    assert position.quote == "Eva Vale built the mill in Elm on the Oder."


def test_without_knowledge_it_says_nothing() -> None:
    position = speak(hit_of("Nothing about it."))
    assert (position.answer, position.evidence, position.score) == ("", None, 0.0)
    assert make_debater(min_score=0.7).take_position(Question(WHO), OWN_HIT, None, []).answer == ""


def test_an_uncontested_answer_is_kept() -> None:
    first = speak(OWN_HIT)
    again = speak(OWN_HIT, first, make_peer("Cy Roe", "Another mill was Cy Roe's."))
    assert (again.answer, again.move, again.contradicts) == ("Eva Vale", "keeps", ())


def test_an_answer_that_its_own_chunk_holds_is_adopted() -> None:
    first = speak(OWN_HIT)
    again = speak(
        OWN_HIT,
        first,
        make_peer("Bo Hill", "It was Bo Hill."),
        make_peer("Cy Roe", "It was Cy Roe."),
    )
    assert (again.answer, again.move, again.supports) == ("Bo Hill", "adopts", ("Bo Hill",))


def test_it_contradicts_a_differing_quote_and_drops_its_answer_when_outnumbered() -> None:
    text = "Cy Roe built the mill in Elm on the Oder."
    first = speak(OWN_HIT)
    against = speak(OWN_HIT, first, make_peer("Cy Roe", text))
    assert (against.answer, against.contradicts) == ("Eva Vale", ("Cy Roe",))
    two = speak(
        OWN_HIT, first, make_peer("Cy Roe", text), make_peer("Cy Roe", "All of it was by Cy Roe.")
    )
    assert (two.answer, two.contradicts, two.move) == ("", ("Cy Roe",), "drops")


def test_texts_of_the_same_kind_do_not_contradict_each_other() -> None:
    other = make_peer("Cy Roe", "Cy Roe built the mill in Ash on the Elbe.")
    assert speak(OWN_HIT, speak(OWN_HIT), other).contradicts == ()
    assert (
        speak(OWN_HIT, speak(OWN_HIT), make_peer("Cy Roe", "Cy Roe built the mill.")).contradicts
        == ()
    )


def test_a_step_records_its_outcome() -> None:
    with run_context() as context:
        position = asyncio.run(make_debater().speak(Question(WHO), OWN_HIT, None, [], context))
        assert isinstance(context.scope, Recorder)
        (step,) = context.scope.seal(None).steps
    assert position == speak(OWN_HIT)
    assert (step.agent, step.verdict, step.reason) == ("debater", "opens", "Eva Vale")


def test_a_number_of_something_else_is_no_answer() -> None:
    """The town's trees are not a fee, however sure the reader of the chunk is."""
    asked = Question("How much is the fee for a mooring?")
    debater = LocalDebater(pairs=ScriptedCrossReader(read_numbers), settings=MafSettings())
    trees = hit_of("The town looks after 6,840 street trees.")
    assert debater.take_position(asked, trees, None, []).answer == ""
    fee = hit_of("The town looks after 6,840 street trees. A mooring costs 40 crowns.")
    assert debater.take_position(asked, fee, None, []).answer == "40"
