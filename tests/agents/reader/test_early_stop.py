from collections.abc import Sequence

from tests.making import hit_of

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.local import compute_trust, read_in_order
from fathom.models.reading import Reading
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk

FALL = 0.15
HITS = [hit_of(f"Berth {number}", document=f"d{number}", rank=number) for number in range(1, 8)]


def at(place: int) -> float:
    return compute_trust(place, FALL)


def seen(*scores: float) -> list[str]:
    """The documents that are read when the berths have these scores."""

    def script(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, chunk.text, scores[int(chunk.text[-1]) - 1])

    def best(each: ReadHit) -> float:
        return each.trust * each.reading.spans[0].score

    session = ScriptedCrossReader(script).open_session("?")
    order = read_in_order(session, HITS[: len(scores)], best, fall=FALL)
    assert [each.trust for each in order] == [at(place) for place in range(1, len(order) + 1)]
    return [each.hit.chunk.document_id for each in order]


def test_trust_falls_with_the_place() -> None:
    values = [at(place) for place in range(1, 100)]
    assert values[0] == 1
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)


def test_reading_stops_when_no_other_hit_can_be_better() -> None:
    assert seen(1.0, 0, 1.0, 1.0) == ["d1", "d2"]
    assert seen(0, 0, at(5) / at(3), 0, 0, 0) == ["d1", "d2", "d3", "d4"]
    assert seen(0, 0, at(4) / at(3), 0, 0, 0) == ["d1", "d2", "d3"]


def test_all_is_read_while_another_hit_could_be_better() -> None:
    assert seen(0.5, 0.5, 0.5, 0.5, 0.5) == ["d1", "d2", "d3", "d4", "d5"]
    assert seen(at(3) - 0.01, 0, 0) == ["d1", "d2", "d3"]
    assert seen() == []


def test_the_two_that_are_read_in_any_case_are_read_at_once() -> None:
    asked: list[list[str]] = []

    class Session:
        def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
            asked.append([chunk.document_id for chunk in chunks])
            return [reading(chunk, chunk.text, 0.0) for chunk in chunks]

        def score(self, chunk: Chunk, answer: str) -> float:
            raise AssertionError

    read_in_order(Session(), HITS[:4], lambda _: 0.0, fall=FALL)

    assert asked == [["d1", "d2"], ["d3"], ["d4"]]
