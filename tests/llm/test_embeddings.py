"""Embedders behind a server, over real sockets."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.scripted_server import Act, find_closed_url, raw, resets, serve, status

from fathom.errors import ModelError, UsageError
from fathom.llm.embeddings import RemoteEmbedder, resolve_embedding_endpoint
from fathom.llm.retry import RetryPolicy

NAME = "openai:small"


def sends(reply: object) -> Act:
    return raw(json.dumps(reply))


def vectors(*rows: Sequence[float]) -> Act:
    data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
    return sends({"data": data[::-1]})  # a server may answer in any order


def embedder(url: str, **options: Any) -> RemoteEmbedder:
    waits: list[float] = options.pop("waits", [])
    endpoint = resolve_embedding_endpoint(NAME, base_url=url, **options.pop("access", {}))
    return RemoteEmbedder(endpoint, sleep=waits.append, **options)


def test_texts_become_unit_vectors_in_their_order() -> None:
    with serve(vectors([3.0, 4.0], [0.0, 2.0])) as server:
        made = embedder(server.base_url)
        found = made.embed(["one", "two"])

        np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 1.0]], atol=1e-6)
        assert found.dtype == np.float32
        assert made.dimension == 2
        assert server.calls == 1  # the dimension is learnt from what was asked anyway
        asked = server.requests[0]
        assert asked.path == "/v1/embeddings"
        assert asked.body == {"model": "small", "input": ["one", "two"], "encoding_format": "float"}
        assert "authorization" not in asked.headers


def test_the_dimension_is_asked_for_where_nothing_was_embedded() -> None:
    with serve(vectors([1.0, 0.0, 0.0])) as server:
        assert embedder(server.base_url).dimension == 3


def test_many_texts_go_in_batches() -> None:
    with serve(vectors([1, 0], [1, 0]), vectors([0, 1])) as server:
        found = embedder(server.base_url, batch=2).embed(["a", "b", "c"])

        assert found.tolist() == [[1, 0], [1, 0], [0, 1]]
        assert [len(asked.body["input"]) for asked in server.requests] == [2, 1]


def test_a_key_goes_only_where_it_is_named() -> None:
    access = {"key_env": "MINE", "environment": {"MINE": "sk-1", "OPENAI_API_KEY": "sk-2"}}
    with serve(vectors([1, 0])) as server:
        embedder(server.base_url, access=access).embed(["a"])

        assert server.requests[0].headers["authorization"] == "Bearer sk-1"


def test_what_may_pass_is_tried_again() -> None:
    waits: list[float] = []
    acts = (status(429, "slow", headers={"Retry-After": "3"}), status(503), resets(), vectors([1]))
    with serve(*acts) as server:
        embedder(server.base_url, waits=waits).embed(["a"])

        assert server.calls == 4
        assert waits == [3.0, 1.0, 2.0]


def test_it_gives_up_after_so_many_tries() -> None:
    with serve(status(500, "broken"), status(500, "broken"), vectors([1])) as server:
        made = embedder(server.base_url, policy=RetryPolicy(tries=2))
        with pytest.raises(ModelError, match=r"openai:small answered 500: broken"):
            made.embed(["a"])

        assert server.calls == 2


def test_what_is_declined_is_not_tried_again_and_the_key_is_not_told() -> None:
    access = {"key_env": "MINE", "environment": {"MINE": "sk-secret"}}
    with serve(status(401, "sk-secret is no key"), vectors([1])) as server:
        with pytest.raises(ModelError, match="check the key in MINE") as caught:
            embedder(server.base_url, access=access).embed(["a"])

        assert server.calls == 1
        assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": "no"}]},
        {"data": [{"index": 0, "embedding": [1.0, float("nan")]}]},
        {"error": "no"},
        [1, 2],
    ],
)
def test_what_is_no_list_of_vectors_is_refused(reply: object) -> None:
    with (
        serve(sends(reply)) as server,
        pytest.raises(ModelError, match=r"openai:small sent .*embedding\.base_url"),
    ):
        embedder(server.base_url).embed(["a"])


def test_vectors_of_another_length_than_before_are_refused() -> None:
    with serve(vectors([1, 0]), vectors([1, 0, 0])) as server:
        made = embedder(server.base_url)
        made.embed(["a"])
        with pytest.raises(ModelError, match="3 numbers, not 2"):
            made.embed(["b"])


def test_a_server_that_is_not_there_is_named() -> None:
    made = embedder(find_closed_url(), policy=RetryPolicy(tries=1))

    with pytest.raises(ModelError, match="openai:small cannot be reached"):
        made.embed(["a"])


def test_odd_texts_can_be_sent() -> None:
    with serve(vectors([1], [1])) as server:
        embedder(server.base_url).embed(["", "\ud800"])

        assert server.requests[0].body["input"] == [" ", "?"]


@pytest.mark.parametrize(
    ("name", "options", "fault"),
    [
        (NAME, {"offline": True}, "needs a socket and --offline allows none"),
        ("openai:", {}, "names no model"),
        (NAME, {"environment": {}}, "export OPENAI_API_KEY"),
        (NAME, {"base_url": "host"}, "is not an address"),
    ],
)
def test_what_cannot_work_is_refused_before_any_socket(
    name: str, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UsageError, match=fault):
        resolve_embedding_endpoint(name, **options)


def test_identity_tells_servers_and_models_apart() -> None:
    one, other = embedder("http://one/v1"), embedder("http://other/v1")

    assert set(one.identity) == {"model", "sha256", "runtime", "precision"}
    assert one.identity != other.identity
