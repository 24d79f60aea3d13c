"""Embedders behind a server of OpenAI's protocol (`POST /embeddings`), wherever it runs.

Texts may leave the machine, so nothing is sent unless the settings name such an embedder, and
`offline` refuses it. The budget of a question does not include the server's charges.
"""

import json
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from fathom.errors import ModelError, UsageError
from fathom.jsonable import hash_text
from fathom.llm.endpoint import PROVIDERS, Endpoint, build_endpoint
from fathom.llm.faults import CallFailure, classify_error
from fathom.llm.retry import RetryPolicy
from fathom.usage import Usage

MOST_BYTES = 64 << 20
"""The largest size of a reply; 2,048 vectors of 1,024 numbers, written as text, take half of it."""
KEEPALIVE_S = 30.0
"""The seconds for which an unused connection stays open for the next question."""
_WORD = re.compile(r"\w+|[^\w\s]")
_TINY = 1e-12

Matrix = NDArray[np.float32]


def resolve_embedding_endpoint(
    name: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    offline: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Return the endpoint of an embedder, checked as far as possible without a socket.

    Args:
        name: `openai:MODEL`.
        base_url: The address of the server; OpenAI's own by default.
        key_env: The name of the variable that holds the key. With a `base_url`, no key is sent
            unless `key_env` names one.
        offline: Whether no socket may be opened; then every embedder is refused.
        environment: The environment variables.

    Raises:
        UsageError: If the name has no model, the key or the address is missing or malformed, or
            `offline` is set; one line.
    """
    if not name.partition(":")[2]:
        raise UsageError(f"embedder {name!r} names no model: write openai:MODEL")
    if offline:
        raise UsageError(f"embedder {name} needs a socket and --offline allows none; drop one")
    return build_endpoint(PROVIDERS["openai"], name, base_url, key_env, environment)


class PooledClient:
    """A holder of an HTTP client whose connections stay open between requests; safe for threads.

    Each process makes its own client at its first request. A copy in another process, pickled or
    forked, begins without one, because two processes must not write to one connection.
    """

    def __init__(self, seconds: float) -> None:
        """Prepare the client without opening a connection.

        Args:
            seconds: The timeout in seconds of each phase of a request: to connect, to send, and to
                wait for the next bytes.
        """
        self._seconds = seconds
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._process = 0

    def __reduce__(self) -> tuple[type["PooledClient"], tuple[float]]:
        return PooledClient, (self._seconds,)

    def get(self) -> httpx2.Client:
        """Return the client of this process; the first call makes it."""
        with self._lock:
            if self._client is None or self._process != os.getpid():
                limits = httpx2.Limits(keepalive_expiry=KEEPALIVE_S)
                self._client = httpx2.Client(
                    timeout=self._seconds, follow_redirects=False, limits=limits
                )
                self._process = os.getpid()
                weakref.finalize(self, _close_in, self._process, self._client).atexit = False
            return self._client


def _close_in(process: int, client: httpx2.Client) -> None:
    """Close a client in the process that made it; a fork must leave its connections alone."""
    if process == os.getpid():
        client.close()


class RemoteEmbedder:
    """An `Embedder` that calls a server; safe to use from several threads.

    With some servers, the last digits of a vector depend on the other texts of its request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        batch: int = 64,
        seconds: float = 60.0,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create the embedder. The first request is sent when a text is embedded.

        Args:
            endpoint: The server and the model.
            batch: The largest number of texts in one request.
            seconds: The timeout in seconds of each phase of a request, as in `PooledClient`, and
                of the reply's body as a whole, counted from the start of the request.
            policy: The number of tries and the waits between them.
            sleep: The function that waits.
        """
        self._endpoint = endpoint
        self._batch = batch
        self._seconds = seconds
        self._client = PooledClient(seconds)
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """The length of a vector; if nothing has been embedded yet, one request finds it out.

        Raises:
            ModelError: If that request fails.
        """
        if not self._dimension:
            self.embed(["dimension"])
        return self._dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of the vectors, as in `Embedder.identity`.

        A server does not tell the digest of its model, so `sha256` is that of its address and the
        name.
        """
        name, url = self._endpoint.name, self._endpoint.base_url
        return {
            "model": name,
            "sha256": hash_text(f"{url} {name}"),
            "runtime": url,
            "precision": "unknown",
        }

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector for each text, as (texts, dimension) float32.

        Raises:
            ModelError: If the server cannot be reached, declines, or sends something else.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        batches = (texts[at : at + self._batch] for at in range(0, len(texts), self._batch))
        return np.concatenate([self._request_vectors(batch) for batch in batches])

    def count(self, text: str) -> int:
        """Return the number of words and signs, as an estimate of the server's tokens."""
        return len(_WORD.findall(text))

    def _request_vectors(self, texts: Sequence[str]) -> Matrix:
        """Return the unit vectors of one batch.

        Raises:
            ModelError: As in `embed`, also if these vectors have another length than earlier ones.
        """
        vectors = self._embed_with_retries(texts)
        self._dimension = self._dimension or vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise self._make_error(f"vectors of {vectors.shape[1]} numbers, not {self._dimension}")
        return vectors

    def _embed_with_retries(self, texts: Sequence[str]) -> Matrix:
        """Return the unit vectors of one batch, and try again after temporary faults.

        Raises:
            ModelError: If no try succeeds.
        """
        tries = 0
        while True:
            try:
                return self._embed_batch(texts)
            except CallFailure as failure:
                tries += 1
                try:
                    wait_s = self._policy.choose_wait(failure, tries)
                except CallFailure:
                    raise ModelError(str(failure)) from None
            self._sleep(wait_s)

    def _embed_batch(self, texts: Sequence[str]) -> Matrix:
        """Return the unit vectors of one batch by one request.

        Raises:
            CallFailure: If the server cannot be reached or declines.
            ModelError: If the reply holds no vectors.
        """
        usage = Usage(llm_calls=1)
        try:
            status, headers, body = self._send_request(texts)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise classify_error(error, self._endpoint, usage) from None
        if status != httpx2.codes.OK:
            raise classify_error(_ErrorReply(status, headers, body), self._endpoint, usage)
        return self._parse_vectors(body, len(texts))

    def _send_request(self, texts: Sequence[str]) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request, and return the status, the headers and the body of the reply.

        Raises:
            ModelError: If the reply has more than `MOST_BYTES`.
            ReadTimeout: If its body is not there in time.
        """
        deadline = time.monotonic() + self._seconds
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._endpoint.key is not None:
            headers["Authorization"] = f"Bearer {self._endpoint.key.get_secret_value()}"
        payload = {
            "model": self._endpoint.model,
            "input": [_clean_text(text) for text in texts],
            "encoding_format": "float",
        }
        url = f"{self._endpoint.base_url.rstrip('/')}/embeddings"
        content = json.dumps(payload).encode()
        client = self._client.get()
        with client.stream("POST", url, headers=headers, content=content) as reply:
            body = bytearray()
            # Raw bytes, because a small compressed reply could become very large when unpacked.
            for chunk in reply.iter_raw():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise self._make_error(f"more than {MOST_BYTES >> 20} MB")
                # The client's timeout begins anew with each byte.
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the reply takes too long")
            return reply.status_code, reply.headers, bytes(body)

    def _parse_vectors(self, body: bytes, count: int) -> Matrix:
        """Return the unit vectors of a reply, (count, dimension) float32, in the texts' order.

        Raises:
            ModelError: If the reply does not hold one finite vector, not zero, for each text.
        """
        try:
            data: Any = json.loads(body)["data"]
            # The protocol does not promise the order of the rows, so their index decides.
            rows = {int(row["index"]): row["embedding"] for row in data}
            vectors = np.array([rows[place] for place in range(count)], dtype=np.float32)
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            raise self._make_error("no list of vectors") from None
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else None
        if lengths is None or len(data) != count or not (lengths > _TINY).all():
            raise self._make_error("no list of vectors, one for each text")
        if not np.isfinite(lengths).all():
            raise self._make_error("numbers that are none")
        unit: Matrix = (vectors / lengths).astype(np.float32)
        return unit

    def _make_error(self, what: str) -> ModelError:
        return ModelError(
            f"{self._endpoint.name} sent {what}; check that the model makes embeddings, "
            "and embedding.base_url"
        )


class _ErrorReply(Exception):
    """An HTTP error reply with the attributes that `classify_error` reads."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status_code = status
        self.headers = headers
        self.response = self
        try:
            self.body: object = json.loads(body)
        except (ValueError, RecursionError):
            self.body = None


def _clean_text(text: str) -> str:
    """Return the text with `?` for lone surrogates, which UTF-8 cannot encode.

    An empty text, which servers decline, becomes a blank.
    """
    return text.encode("utf-8", "replace").decode() or " "
