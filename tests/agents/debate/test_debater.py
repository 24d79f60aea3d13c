import asyncio
from dataclasses import replace
from typing import Any

from tests.making import hit_of

from fathom.agents.debate.debater import LocalDebater, Position
from fathom.models.reading import Reading, ReadSpan
from fathom.runs.recorder import Recorder
from fathom.settings.maf import MafSettings
from fathom.testing.doubles import ScriptedCrossReader, reading, run_context
from fathom.types import Chunk, Evidence, Hit, Span

WHO = "Who built the mill?"
OWN = hit_of("Eva Vale built the mill in Elm on the Oder. Bo Hill lived there.", document="own")


def script(_: str, chunk: Chunk) -> Reading:
    """The first name it finds is surer than the second."""
    names = [name for name in ("Eva Vale", "Bo Hill", "Cy Roe") if name in chunk.text]
    if not names:
        return reading(chunk)
    starts = [chunk.text.index(name) for name in names]
    spans = [
        ReadSpan(span=Span(start, start + len(name)), score=0.6 - 0.2 * place)
        for place, (start, name) in enumerate(zip(starts, names, strict=True))
    ]
    return replace(reading(chunk, names[0]), spans=tuple(spans))


def agent(**options: Any) -> LocalDebater:
    return LocalDebater(pairs=ScriptedCrossReader(script), settings=MafSettings(**options))


def peer(answer: str, text: str, score: float = 0.9) -> Position:
    hit = hit_of(text, document=text)
    evidence = Evidence(hit=hit, span=Span(0, len(text)), support=score)
    return Position(hit=hit, answer=answer, evidence=evidence, score=score)


def said(hit: Hit, own: Position | None = None, *heard: Position) -> Position:
    return agent().take_position(WHO, hit, own, heard)


def test_in_the_first_round_it_says_what_its_chunk_says() -> None:
    position = said(OWN)
    assert (position.answer, position.score, position.move) == ("Eva Vale", 0.6, "opens")
    assert position.quote == "Eva Vale built the mill in Elm on the Oder."


def test_what_it_does_not_know_it_does_not_say() -> None:
    position = said(hit_of("Nothing about it."))
    assert (position.answer, position.evidence, position.score) == ("", None, 0.0)
    assert agent(min_score=0.7).take_position(WHO, OWN, None, []).answer == ""


def test_it_keeps_what_nobody_speaks_against() -> None:
    first = said(OWN)
    again = said(OWN, first, peer("Cy Roe", "Another mill was Cy Roe's."))
    assert (again.answer, again.move, again.contradicts) == ("Eva Vale", "keeps", ())


def test_it_adopts_what_its_own_chunk_holds_too() -> None:
    first = said(OWN)
    again = said(OWN, first, peer("Bo Hill", "It was Bo Hill."), peer("Cy Roe", "It was Cy Roe."))
    assert (again.answer, again.move, again.supports) == ("Bo Hill", "adopts", ("Bo Hill",))


def test_it_contradicts_a_quote_that_differs_in_the_answer_and_drops_when_outnumbered() -> None:
    text = "Cy Roe built the mill in Elm on the Oder."
    first = said(OWN)
    against = said(OWN, first, peer("Cy Roe", text))
    assert (against.answer, against.contradicts) == ("Eva Vale", ("Cy Roe",))
    two = said(OWN, first, peer("Cy Roe", text), peer("Cy Roe", "All of it was by Cy Roe."))
    assert (two.answer, two.contradicts, two.move) == ("", ("Cy Roe",), "drops")


def test_texts_of_one_sort_do_not_contradict_each_other() -> None:
    other = peer("Cy Roe", "Cy Roe built the mill in Ash on the Elbe.")
    assert said(OWN, said(OWN), other).contradicts == ()
    assert said(OWN, said(OWN), peer("Cy Roe", "Cy Roe built the mill.")).contradicts == ()


def test_a_step_says_what_came_of_it() -> None:
    with run_context() as context:
        position = asyncio.run(agent().speak(WHO, OWN, None, [], context))
        assert isinstance(context.scope, Recorder)
        (step,) = context.scope.seal(None).steps
    assert position == said(OWN)
    assert (step.agent, step.verdict, step.reason) == ("debater", "opens", "Eva Vale")
