"""Embedders behind a server, over real sockets."""

import json
import os
import pickle
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from tests.scripted_server import Act, drips, find_closed_url, raw, resets, serve, status

from fathom.errors import ModelError, UsageError
from fathom.llm.embeddings import PooledClient, RemoteEmbedder, resolve_embedding_endpoint
from fathom.llm.retry import RetryPolicy

NAME = "openai:small"


def make_reply(reply: object) -> Act:
    return raw(json.dumps(reply))


def make_vectors(*rows: Sequence[float]) -> Act:
    data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
    return make_reply({"data": data[::-1]})  # a server may answer in any order


def make_embedder(url: str, **options: Any) -> RemoteEmbedder:
    waits: list[float] = options.pop("waits", [])
    endpoint = resolve_embedding_endpoint(NAME, base_url=url, **options.pop("access", {}))
    return RemoteEmbedder(endpoint, sleep=waits.append, **options)


def test_texts_become_unit_vectors_in_their_order() -> None:
    with serve(make_vectors([3.0, 4.0], [0.0, 2.0])) as server:
        client = make_embedder(server.base_url)
        rows = client.embed(["one", "two"])

        np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 1.0]], atol=1e-6)
        assert rows.dtype == np.float32
        assert client.dimension == 2
        assert server.calls == 1  # the dimension is learnt from what was asked anyway
        request = server.requests[0]
        assert request.path == "/v1/embeddings"
        assert request.body == {
            "model": "small",
            "input": ["one", "two"],
            "encoding_format": "float",
        }
        assert "authorization" not in request.headers


def test_the_dimension_is_requested_if_nothing_was_embedded() -> None:
    with serve(make_vectors([1.0, 0.0, 0.0])) as server:
        assert make_embedder(server.base_url).dimension == 3


def test_many_texts_are_sent_in_batches() -> None:
    with serve(make_vectors([1, 0], [1, 0]), make_vectors([0, 1])) as server:
        rows = make_embedder(server.base_url, batch=2).embed(["a", "b", "c"])

        assert rows.tolist() == [[1, 0], [1, 0], [0, 1]]
        assert [len(request.body["input"]) for request in server.requests] == [2, 1]


def test_a_key_is_sent_only_to_its_named_server() -> None:
    access = {"key_env": "MINE", "environment": {"MINE": "sk-1", "OPENAI_API_KEY": "sk-2"}}
    with serve(make_vectors([1, 0])) as server:
        make_embedder(server.base_url, access=access).embed(["a"])

        assert server.requests[0].headers["authorization"] == "Bearer sk-1"


def test_a_temporary_fault_is_retried() -> None:
    waits: list[float] = []
    acts = (
        status(429, "slow", headers={"Retry-After": "3"}),
        status(503),
        resets(),
        make_vectors([1]),
    )
    with serve(*acts) as server:
        make_embedder(server.base_url, waits=waits).embed(["a"])

        assert server.calls == 4
        assert waits == [3.0, 1.0, 2.0]


def test_a_reply_that_drips_is_given_up_in_time() -> None:
    slow = drips("words " * 100, every_s=0.05)
    with serve(slow, slow) as server:
        client = make_embedder(server.base_url, seconds=0.5, policy=RetryPolicy(tries=2))
        started = time.monotonic()
        with pytest.raises(ModelError, match="broke before the reply was whole"):
            client.embed(["a"])

        assert time.monotonic() - started < 5
        assert server.calls == 2


def test_it_gives_up_after_a_number_of_tries() -> None:
    with serve(status(500, "broken"), status(500, "broken"), make_vectors([1])) as server:
        client = make_embedder(server.base_url, policy=RetryPolicy(tries=2))
        with pytest.raises(ModelError, match=r"openai:small answered 500: broken"):
            client.embed(["a"])

        assert server.calls == 2


def test_a_refusal_is_not_retried_and_does_not_reveal_the_key() -> None:
    access = {"key_env": "MINE", "environment": {"MINE": "sk-secret"}}
    with serve(status(401, "sk-secret is no key"), make_vectors([1])) as server:
        with pytest.raises(ModelError, match="check the key in MINE") as caught:
            make_embedder(server.base_url, access=access).embed(["a"])

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
def test_an_invalid_reply_is_refused(reply: object) -> None:
    with (
        serve(make_reply(reply)) as server,
        pytest.raises(ModelError, match=r"openai:small sent .*embedding\.base_url"),
    ):
        make_embedder(server.base_url).embed(["a"])


def test_vectors_of_another_length_than_before_are_refused() -> None:
    with serve(make_vectors([1, 0]), make_vectors([1, 0, 0])) as server:
        client = make_embedder(server.base_url)
        client.embed(["a"])
        with pytest.raises(ModelError, match="3 numbers, not 2"):
            client.embed(["b"])


def test_batches_with_vectors_of_different_lengths_are_refused() -> None:
    with serve(make_vectors([1, 0]), make_vectors([1, 0, 0])) as server:
        client = make_embedder(server.base_url, batch=1)
        with pytest.raises(ModelError, match="3 numbers, not 2"):
            client.embed(["a", "b"])


def test_a_server_that_is_not_there_is_named() -> None:
    client = make_embedder(find_closed_url(), policy=RetryPolicy(tries=1))

    with pytest.raises(ModelError, match="openai:small cannot be reached"):
        client.embed(["a"])


def test_unusual_texts_can_be_sent() -> None:
    with serve(make_vectors([1], [1])) as server:
        make_embedder(server.base_url).embed(["", "\ud800"])

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
def test_invalid_settings_are_refused_before_any_connection(
    name: str, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UsageError, match=fault):
        resolve_embedding_endpoint(name, **options)


def test_the_identity_distinguishes_servers_and_models() -> None:
    first, other = make_embedder("http://one/v1"), make_embedder("http://other/v1")

    assert set(first.identity) == {"model", "sha256", "runtime", "precision"}
    assert first.identity != other.identity


@contextmanager
def serve_connections(*, closes: bool = False) -> Iterator[tuple[str, list[int]]]:
    """Yield the address of a server, and the list of the ports of the connections to it.

    With `closes` it ends each connection after a reply, without saying so in the reply.
    """
    ports: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            ports.append(self.client_address[1])

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps({"data": [{"index": 0, "embedding": [1.0, 0.0]}]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = closes

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", ports
        finally:
            server.shutdown()
            thread.join()


def test_a_connection_serves_many_questions() -> None:
    with serve_connections() as (url, ports):
        client = make_embedder(url)
        for _ in range(5):
            client.embed(["a"])
        assert len(ports) == 1
        copy = pickle.loads(pickle.dumps(client))
        copy.embed(["a"])
        assert len(ports) == 2
        del client, copy


def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    with serve_connections(closes=True) as (url, ports):
        client = make_embedder(url)
        for _ in range(3):
            client.embed(["a"])
        assert len(ports) == 3
        del client


def test_a_forked_process_has_connections_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pooled = PooledClient(1.0)
    client = pooled.get()
    assert pooled.get() is client
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        with pooled.get() as other:
            assert other is not client
    assert not client.is_closed
    client.close()
