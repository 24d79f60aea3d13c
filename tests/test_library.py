"""Vectors of additional embedders, from settings to hits."""

from pathlib import Path
from typing import Any

import pytest
from tests.embedding_server import EmbeddingAct
from tests.factories import FEES, QUESTION, engine_at, index_fees
from tests.scripted_server import ScriptedServer, serve, status

from fathom.engine import Engine
from fathom.errors import IndexMismatch, ModelError, UsageError

SMALL, LARGE = "openai:small", "openai:large"


def open_with_embedders(
    folder: Path, server: ScriptedServer, *names: str, **retrieval: Any
) -> Engine:
    return engine_at(
        folder,
        retrieval={"embedders": names, **retrieval},
        embedding={"base_url": server.base_url, "tries": 1},
    )


def test_an_embedder_is_added_without_parsing_documents_again(tmp_path: Path) -> None:
    folder, embeds = index_fees(tmp_path), EmbeddingAct()
    with serve(embeds) as server, open_with_embedders(folder, server, SMALL) as engine:
        with pytest.raises(IndexMismatch, match=f"no vectors of '{SMALL}'; run `fathom ingest`"):
            engine.search(QUESTION, retriever=f"vector:{SMALL}")
        before = engine.status()
        report = engine.ingest()
        after = engine.status()

        assert (report.unchanged, report.new, report.changed) == (1, 0, 0)
        assert report.filled == after.chunks == 1
        assert after.content == before.content
        assert [(s.name, s.dimension, s.chunks) for s in after.spaces] == [(SMALL, 32, 1)]
        (hit,) = engine.search(QUESTION, retriever=f"vector:{SMALL}")
        assert hit.retriever == f"vector:{SMALL}"
        assert FEES in hit.chunk.text
        assert engine.ingest().filled == 0  # nothing is left to do
    assert sum(FEES in text for text in embeds.texts["small"]) == 1  # each chunk once


def test_new_documents_get_vectors_of_all_embedders(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with (
        serve(EmbeddingAct()) as server,
        open_with_embedders(folder, server, SMALL, LARGE) as engine,
    ):
        engine.ingest()
        (folder / "corpus" / "more.md").write_text("# Tides\n\nThe tide is high at noon.\n")
        report = engine.ingest()

        assert (report.new, report.filled) == (1, 0)
        assert [(s.name, s.chunks) for s in engine.status().spaces] == [(SMALL, 2), (LARGE, 2)]
        best = engine.search("when is the tide high", retriever=f"vector:{LARGE}")[0]
        assert "noon" in best.chunk.text
        assert engine.verify() == []


def test_dropping_vectors_by_name_drops_nothing_else(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with (
        serve(EmbeddingAct()) as server,
        open_with_embedders(folder, server, SMALL, LARGE) as engine,
    ):
        engine.ingest()
        engine.drop_vectors(SMALL)

        assert [space.name for space in engine.status().spaces] == [LARGE]
        assert engine.search(QUESTION, retriever=f"vector:{LARGE}")
        assert engine.search(QUESTION, retriever="vector")
        refusal = f"no vectors of '{SMALL}': there are those of {LARGE}"
        with pytest.raises(UsageError, match=refusal):
            engine.drop_vectors(SMALL)
        assert engine.ingest().filled == 1


def test_hybrid_search_asks_all_embedders_with_their_weights(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    (folder / "corpus" / "more.md").write_text("# Tides\n\nThe tide is high at noon.\n")
    embeds = EmbeddingAct()
    with serve(embeds) as server:
        with open_with_embedders(
            folder, server, SMALL, LARGE, embedder_weights=(0.5, 2.0)
        ) as engine:
            engine.ingest()
            best = engine.search(QUESTION)[0]
            alone = engine.search(QUESTION, retriever=f"hybrid:{LARGE}")[0]
        with open_with_embedders(folder, server) as engine:
            plain = engine.search(QUESTION)[0]

    assert all(texts.count(QUESTION) for texts in embeds.texts.values())
    assert plain.score == pytest.approx(0.4 + 0.6)  # the best of every leg
    assert best.score == pytest.approx(0.4 + 0.6 + 0.5 + 2.0)
    assert alone.score == pytest.approx(0.6 + 2.0)


def test_vectors_of_another_server_are_refused_and_rebuilt(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with serve(EmbeddingAct()) as server, open_with_embedders(folder, server, SMALL) as engine:
        engine.ingest()
    with serve(EmbeddingAct()) as moved, open_with_embedders(folder, moved, SMALL) as engine:
        with pytest.raises(IndexMismatch, match=f"another '{SMALL}'.*run `fathom ingest`"):
            engine.search(QUESTION)
        assert engine.ingest().filled == 1
        assert engine.search(QUESTION)


def test_vectors_stored_before_a_server_failure_are_kept(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with (
        serve(status(500), status(500), EmbeddingAct()) as server,
        open_with_embedders(folder, server, SMALL) as engine,
    ):
        with pytest.raises(ModelError, match="openai:small answered 500"):
            engine.ingest()
        assert engine.verify() == []
        assert engine.search(QUESTION, retriever="vector")  # the rest goes on
        assert engine.ingest().filled == 1


def test_a_server_that_fails_once_loses_no_vector(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with (
        serve(status(500), EmbeddingAct()) as server,
        open_with_embedders(folder, server, SMALL) as engine,
    ):
        report = engine.ingest()
    assert (report.filled, report.unembedded) == (1, 0)


def test_a_question_falls_back_on_words_where_the_server_is_gone(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with serve(EmbeddingAct()) as server, open_with_embedders(folder, server, SMALL) as engine:
        engine.ingest()
    with open_with_embedders(folder, server, SMALL) as engine:
        answer = engine.ask(QUESTION)

    assert answer.status == "answered"


def test_a_rebuild_embeds_with_all_of_them(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with serve(EmbeddingAct()) as server, open_with_embedders(folder, server, SMALL) as engine:
        engine.ingest(rebuild=True)

        assert [space.chunks for space in engine.status().spaces] == [1]
        assert engine.verify() == []


def test_offline_mode_asks_no_server(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with serve(EmbeddingAct()) as server:
        settings = {"retrieval": {"embedders": [SMALL]}, "offline": True}
        llm = {"base_url": server.base_url}
        with engine_at(folder, embedding=llm, **settings) as engine:
            with pytest.raises(UsageError, match="needs a socket and --offline allows none"):
                engine.search(QUESTION)
            assert engine.search(QUESTION, retriever="keyword")
        assert server.calls == 0


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("vector:none", "add it to retrieval.embedders"),
        ("vector:", "choose one of vector, keyword"),
        ("keyword:none", "choose one of vector, keyword"),
        ("nearest", "vector:EMBEDDER, hybrid:EMBEDDER"),
    ],
)
def test_an_unknown_retriever_is_refused_with_the_known_ones(
    tmp_path: Path, name: str, fault: str
) -> None:
    with engine_at(index_fees(tmp_path)) as engine, pytest.raises(UsageError, match=fault):
        engine.search(QUESTION, retriever=name)


def test_the_main_embedder_is_named_vector_too(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        hits = engine.search(QUESTION, retriever="vector:all-MiniLM-L6-v2-int8")

        assert [hit.score for hit in hits] == [
            hit.score for hit in engine.search(QUESTION, retriever="vector")
        ]
