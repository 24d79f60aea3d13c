from pathlib import Path
from typing import Any

import pytest
from tests.embedding_server import EmbeddingAct
from tests.making import QUESTION, engine_at, index_fees
from tests.scripted_server import serve
from tests.strategies.running import Finds, Reads, Sleeps, finalizer, hits_of, ran, replays

from fathom.agents.comparer import Comparer
from fathom.errors import RunError
from fathom.retrieval.fusion import ReciprocalRank
from fathom.settings.rrf import RrfSettings
from fathom.strategies.rrf import Rrf
from fathom.usage import Budget

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/rrf.md"
A, B, C = hits_of("d1", "d2", "d3")


def rrf(reader: Reads, *, contexts: int = 1, **searches: Any) -> Rrf:
    return Rrf(
        searches=searches,
        comparer=Comparer(fusion=ReciprocalRank(60)),
        reader=reader,
        finalizer=finalizer("rrf"),
        weights={},
        k=4,
        contexts=contexts,
    )


def test_the_picture_in_the_docs_is_the_code() -> None:
    unused: dict[str, Any] = dict.fromkeys(RrfSettings().retrievers)
    strategy = rrf(Reads(), **unused)
    drawn = strategy.graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def test_four_retrievers_and_one_context_as_in_the_paper(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION, strategy="rrf")
        trace = engine.traces.get(str(answer.trace_id))
    assert answer.usage.retrievals == 4
    (read,) = (step for step in trace.steps if step.name == "read")
    assert len(read.inputs["chunks"]) == 1


def test_three_embedding_models_and_bm25_as_in_the_paper(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    names = ["vector", "vector:openai:small", "vector:openai:large", "keyword"]
    with serve(EmbeddingAct()) as server:
        sections = {
            "retrieval": {"embedders": ["openai:small", "openai:large"]},
            "embedding": {"base_url": server.base_url},
            "rrf": {"retrievers": names},
        }
        with engine_at(folder, **sections) as engine:
            engine.ingest()
            answer = engine.ask(QUESTION, strategy="rrf")
            trace = engine.traces.get(str(answer.trace_id))
            asked = server.calls
            assert engine.replay(str(answer.trace_id)).same
            assert server.calls == asked  # a replay asks nobody

    assert answer.status == "answered"
    assert answer.usage.retrievals == 4
    (fused,) = (step for step in trace.steps if step.name == "compare")
    assert sorted(fused.inputs) == sorted(names)


def test_who_stands_in_more_lists_wins() -> None:
    reader = Reads()
    lists = {"one": [A, B], "two": [C, B], "three": [B]}
    ran(rrf(reader, contexts=2, **{n: Finds(hits).search(n) for n, hits in lists.items()}))
    assert reader.given == [("d2#0", "d1#0")]  # of equal sums and ranks the first id


def test_a_retriever_that_breaks_does_not_take_the_answer_with_it() -> None:
    def made() -> Rrf:
        good, bad = Finds([A]).search("good"), Finds([A], breaks=9).search("bad")
        return rrf(Reads(), good=good, bad=bad)

    outcome = ran(made())
    assert outcome.answer.status == "answered"
    (failed,) = (step for step in outcome.trace.steps if step.verdict == "left out")
    assert (failed.id, failed.reason.split(" in ")[0]) == ("bad", "KeyError")
    assert replays(outcome, made())


def test_nor_does_one_that_never_comes_back() -> None:
    def made() -> Rrf:
        return rrf(Reads(), good=Finds([A]).search(), late=Sleeps())

    outcome = ran(made(), Budget(seconds=1.0))
    assert outcome.answer.status == "answered"
    assert replays(outcome, made())


def test_where_all_break_something_is_broken() -> None:
    with pytest.raises(RunError, match="every retriever failed"):
        ran(rrf(Reads(), one=Finds([], breaks=9).search()))


def test_without_any_retrieval_the_budget_is_the_reason() -> None:
    made = rrf(Reads(), one=Finds([A]).search("1"), two=Finds([A]).search("2"))
    assert ran(made, Budget(retrievals=0)).answer.stop_reason == "budget"
    assert ran(made, Budget(retrievals=1)).answer.status == "answered"


@pytest.mark.parametrize(
    "wrong",
    [{"retrievers": ()}, {"retrievers": ("vector", "vector")}, {"weights": (1.0,)}, {"k": 0}],
)
def test_settings_that_cannot_be(wrong: Any) -> None:
    with pytest.raises(ValueError):
        RrfSettings(**wrong)
