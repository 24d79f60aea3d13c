"""Embeddings of the real application are those of its index."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from fathom import Engine


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
