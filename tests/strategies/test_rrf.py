from pathlib import Path
from typing import Any

import pytest
from tests.embedding_server import EmbeddingAct
from tests.factories import QUESTION, engine_at, index_fees
from tests.scripted_server import serve
from tests.strategies.scripted_run import (
    EndlessSearch,
    QuotingReader,
    ScriptedRetriever,
    is_replayed,
    make_finalizer,
    make_hits,
    run_to_end,
)

from fathom.agents.comparer import Comparer
from fathom.errors import RunError
from fathom.retrieval.fusion import ReciprocalRank
from fathom.settings.rrf import RrfSettings
from fathom.strategies.rrf import Rrf
from fathom.usage import Budget

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/rrf.md"
A, B, C = make_hits("d1", "d2", "d3")


def make_rrf(reader: QuotingReader, *, contexts: int = 1, **searches: Any) -> Rrf:
    return Rrf(
        searches=searches,
        comparer=Comparer(fusion=ReciprocalRank(60)),
        reader=reader,
        finalizer=make_finalizer("rrf"),
        weights={},
        k=4,
        contexts=contexts,
    )


def test_the_picture_in_the_docs_is_the_code() -> None:
    unused: dict[str, Any] = dict.fromkeys(RrfSettings().retrievers)
    strategy = make_rrf(QuotingReader(), **unused)
    drawn = strategy.graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def test_four_retrievers_and_one_context_are_used_as_in_the_paper(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for place in range(7):
        (corpus / f"fees-{place}.md").write_text(
            f"# Fees {place}\n\nA mooring permit of kind {place} costs {place + 30} crowns.\n"
        )
    with engine_at(tmp_path) as engine:
        engine.ingest([corpus])
        answer = engine.ask("What does a mooring permit cost?", strategy="rrf")
        trace = engine.traces.get(str(answer.trace_id))
    assert answer.usage.retrievals == 4
    hits = [step.outputs["hits"] for step in trace.steps if step.name == "search"]
    assert [len(ids) for ids in hits] == [4, 4, 4, 4]
    (read,) = (step for step in trace.steps if step.name == "read")
    assert len(read.inputs["chunks"]) == 1


def test_three_embedding_models_and_bm25_are_used_as_in_the_paper(tmp_path: Path) -> None:
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
            calls = server.calls
            assert engine.replay(str(answer.trace_id)).same
            assert server.calls == calls  # a replay asks nobody

    assert answer.status == "answered"
    assert answer.usage.retrievals == 4
    (fused,) = (step for step in trace.steps if step.name == "compare")
    assert sorted(fused.inputs) == sorted(names)


def test_a_hit_in_more_lists_ranks_higher() -> None:
    reader = QuotingReader()
    lists = {"one": [A, B], "two": [C, B], "three": [B]}
    run_to_end(
        make_rrf(
            reader,
            contexts=2,
            **{n: ScriptedRetriever(hits).search(n) for n, hits in lists.items()},
        )
    )
    assert reader.read_ids == [("d2#0", "d1#0")]  # of equal sums and ranks the first id


def test_a_retriever_that_fails_does_not_lose_the_answer() -> None:
    def make_with_failing_retriever() -> Rrf:
        good, bad = (
            ScriptedRetriever([A]).search("good"),
            ScriptedRetriever([A], breaks=9).search("bad"),
        )
        return make_rrf(QuotingReader(), good=good, bad=bad)

    outcome = run_to_end(make_with_failing_retriever())
    assert outcome.answer.status == "answered"
    (failed,) = (step for step in outcome.trace.steps if step.verdict == "left out")
    assert (failed.id, failed.reason.split(" in ")[0]) == ("bad", "KeyError")
    assert is_replayed(outcome, make_with_failing_retriever())


def test_a_retriever_that_never_returns_does_not_lose_the_answer() -> None:
    def make_with_endless_retriever() -> Rrf:
        return make_rrf(QuotingReader(), good=ScriptedRetriever([A]).search(), late=EndlessSearch())

    outcome = run_to_end(make_with_endless_retriever(), Budget(seconds=1.0))
    assert outcome.answer.status == "answered"
    assert is_replayed(outcome, make_with_endless_retriever())


def test_if_all_retrievers_fail_the_run_fails() -> None:
    with pytest.raises(RunError, match="every retriever failed"):
        run_to_end(make_rrf(QuotingReader(), one=ScriptedRetriever([], breaks=9).search()))


def test_without_any_retrieval_the_budget_is_the_reason() -> None:
    strategy = make_rrf(
        QuotingReader(),
        one=ScriptedRetriever([A]).search("1"),
        two=ScriptedRetriever([A]).search("2"),
    )
    assert run_to_end(strategy, Budget(retrievals=0)).answer.stop_reason == "budget"
    assert run_to_end(strategy, Budget(retrievals=1)).answer.status == "answered"


@pytest.mark.parametrize(
    "wrong",
    [{"retrievers": ()}, {"retrievers": ("vector", "vector")}, {"weights": (1.0,)}, {"k": 0}],
)
def test_invalid_settings_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        RrfSettings(**wrong)
