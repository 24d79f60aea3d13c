from collections.abc import Sequence

from tests.factories import hit_of

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.local import compute_trust, read_in_order
from fathom.models.reading import Reading
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk

FALL = 0.15
HITS = [hit_of(f"Berth {number}", document=f"d{number}", rank=number) for number in range(1, 8)]


def trust_at(place: int) -> float:
    return compute_trust(place, FALL)


def list_read(*scores: float) -> list[str]:
    """Return the documents that are read when the berths have these scores."""

    def script(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, chunk.text, scores[int(chunk.text[-1]) - 1])

    def get_score(read_hit: ReadHit) -> float:
        return read_hit.trust * read_hit.reading.spans[0].score

    session = ScriptedCrossReader(script).open_session("?")
    order = read_in_order(session, HITS[: len(scores)], get_score, fall=FALL)
    assert [read_hit.trust for read_hit in order] == [
        trust_at(place) for place in range(1, len(order) + 1)
    ]
    return [read_hit.hit.chunk.document_id for read_hit in order]


def test_trust_falls_with_the_rank() -> None:
    values = [trust_at(place) for place in range(1, 100)]
    assert values[0] == 1
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)


def test_reading_stops_when_no_other_hit_can_be_better() -> None:
    assert list_read(1.0, 0, 1.0, 1.0) == ["d1", "d2"]
    assert list_read(0, 0, trust_at(5) / trust_at(3), 0, 0, 0) == ["d1", "d2", "d3", "d4"]
    assert list_read(0, 0, trust_at(4) / trust_at(3), 0, 0, 0) == ["d1", "d2", "d3"]


def test_reading_goes_on_while_another_hit_could_be_better() -> None:
    assert list_read(0.5, 0.5, 0.5, 0.5, 0.5) == ["d1", "d2", "d3", "d4", "d5"]
    assert list_read(trust_at(3) - 0.01, 0, 0) == ["d1", "d2", "d3"]
    assert list_read() == []


def test_the_first_three_hits_are_read_together() -> None:
    batches: list[list[str]] = []

    class Session:
        def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
            batches.append([chunk.document_id for chunk in chunks])
            return [reading(chunk, chunk.text, 0.0) for chunk in chunks]

        def score(self, chunk: Chunk, answer: str) -> float:
            raise AssertionError

    read_in_order(Session(), HITS[:5], lambda _: 0.0, fall=FALL)

    assert batches == [["d1", "d2", "d3"], ["d4"], ["d5"]]
