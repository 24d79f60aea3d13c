from pathlib import Path

import pytest
from tests.factories import QUESTION, engine_at, index_fees

from fathom.engine import Engine
from fathom.settings import Settings
from fathom.strategies.naive import Naive
from fathom.testing.doubles import OVERLAP, HashingEmbedder

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/naive.md"


def test_the_picture_in_the_docs_is_the_code() -> None:
    naive = Naive(search=None, reader=None, finalizer=None, chunks=1)  # type: ignore[arg-type]
    drawn = naive.graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def test_it_retrieves_reads_and_finalizes_as_by_hand(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION, strategy="naive")
        trace = engine.traces.get(str(answer.trace_id))
    assert [step.id for step in trace.steps] == ["search", "read", "finalize"]
    assert (answer.status, answer.strategy, answer.phase) == ("answered", "naive", "read")
    assert answer.answer == "A mooring permit costs 40 crowns a year. [1]"
    assert (answer.usage.retrievals, answer.usage.llm_calls) == (1, 0)
    assert answer.budget == engine.assembly.budget
    assert trace.usage.retrievals == 1
    assert len(trace.data) < 100_000


@pytest.mark.parametrize("strategy", ["naive", "adaptive"])
def test_reading_stops_at_the_token_limit(tmp_path: Path, strategy: str) -> None:
    words = ["mooring permit costs crowns " * 20, "harbour office", "mooring permit"]
    for number, text in enumerate(words):
        (tmp_path / f"{number}.txt").write_text(text)
    read = {}
    for tokens in (0, 30):
        index = tmp_path / f"index{tokens}"
        settings = Settings.model_validate(
            {"index": {"directory": index}, "ask": {"context_tokens": tokens}}
        )
        with Engine(settings, embedder=HashingEmbedder(64), cross_reader=OVERLAP) as engine:
            engine.ingest([*tmp_path.glob("*.txt")])
            trace = engine.trace(engine.ask(QUESTION, strategy=strategy).trace_id or "")
            (reading,) = [step for step in trace.steps if step.agent == "reader"]
            read[tokens] = len(reading.inputs["chunks"])
    assert read == {0: 3, 30: 2}
