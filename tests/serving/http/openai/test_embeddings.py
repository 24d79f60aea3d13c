"""Embeddings of the real application are those of its index."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from fathom import Engine
from fathom.serving.http.app import create_app
from fathom.serving.http.openai import embeddings
from fathom.settings import Settings


def embed(client: TestClient, **fields: Any) -> Any:
    body = {"model": "fathom-embedding", "input": "cold asphalt", **fields}
    return client.post("/v1/embeddings", json=body)


def test_embeddings_are_the_vectors_of_the_index(client: TestClient, corpus: Path) -> None:
    texts = [f"text {n}" for n in range(70)]
    reply = embed(client, input=texts).json()
    with Engine.open(corpus) as engine:
        vectors = engine.embedder.embed(texts)
        tokens = sum(map(engine.embedder.count, texts))
    assert [item["index"] for item in reply["data"]] == list(range(70))
    assert reply["data"][69]["embedding"] == pytest.approx(vectors[69].tolist())
    assert reply["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}


def test_a_question_can_be_embedded_as_a_query(client: TestClient) -> None:
    assert embed(client, input_type="query").status_code == 200


def test_an_embedding_holds_its_turn_until_it_ends_even_if_its_client_leaves(
    settings: Settings,
    live: Callable[[FastAPI], AbstractContextManager[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = create_app(settings)
    begun, leave = Event(), Event()

    class SlowEmbedder:
        def embed(self, texts: list[str]) -> Any:
            begun.set()
            leave.wait(30)
            return np.zeros((len(texts), 4))

        def count(self, text: str) -> int:
            return len(text)

    monkeypatch.setattr(embeddings, "_choose_embedder", lambda *_: SlowEmbedder())
    admission = app.state.asking.admission
    with live(app) as address:
        body = {"model": "fathom-embedding", "input": "cold asphalt"}
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{address}/v1/embeddings", json=body, timeout=httpx.Timeout(30, read=2))
        assert begun.wait(30)
        time.sleep(0.5)
        assert admission.running == 1
        leave.set()
        end = time.monotonic() + 30
        while admission.running:
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"model": "text-embedding-3-small"}, 404, "fathom-embedding"),
        ({"input": [1, 2, 3]}, 400, "check_embedding_ctx_length=False"),
        ({"input": [[1, 2], [3]]}, 400, "check_embedding_ctx_length=False"),
        ({"input": []}, 400, "at least one text"),
        ({"input": ["a", " "]}, 400, "none empty"),
        ({"input": ["a"] * 2_049}, 400, "at most 2048"),
        ({"dimensions": 7}, 400, "dimensions"),
        ({"encoding_format": "int8"}, 400, "encoding_format"),
    ],
)
def test_invalid_input_is_reported(
    client: TestClient, fields: dict[str, Any], status: int, words: str
) -> None:
    reply = embed(client, **fields)
    assert reply.status_code == status
    assert words in reply.json()["error"]["message"]
