"""Embedders behind a server of OpenAI's protocol (`POST /embeddings`), wherever it runs.

Texts leave the machine, so nothing is sent unless such an embedder is named, and offline refuses
it. What a server asks for its work is not counted in a question's budget.
"""

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from fathom.errors import ModelError, UsageError
from fathom.jsonable import digest
from fathom.llm.endpoint import PROVIDERS, Endpoint, endpoint_at
from fathom.llm.faults import CallFailed, ModelFault, failure_of
from fathom.llm.retry import RetryPolicy
from fathom.usage import Usage

MOST_BYTES = 64 << 20  # of a reply; 2,048 vectors of 1,024 numbers as text are half of that
_WORD = re.compile(r"\w+|[^\w\s]")
_TINY = 1e-12

Matrix = NDArray[np.float32]


def embedding_endpoint(
    name: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    offline: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Where the embedder called `name` is, checked as far as it can be without a socket.

    Args:
        name: `openai:MODEL`.
        base_url: Where the server is; OpenAI's own by default.
        key_env: Name of the variable that holds the key. With a `base_url` of one's own, no key
            is sent unless this names one.
        offline: Refuse, also for a server on this machine.
        environment: Where keys are.

    Raises:
        UsageError: For a missing or malformed key or address, or when offline; one line.
    """
    if not name.partition(":")[2]:
        raise UsageError(f"embedder {name!r} names no model: write openai:MODEL")
    if offline:
        raise UsageError(f"embedder {name} needs a socket and --offline allows none; drop one")
    return endpoint_at(PROVIDERS["openai"], name, base_url, key_env, environment)


class ServedEmbedder:
    """An `Embedder` whose vectors a server makes; may be used from several threads.

    A server may round a text's vector differently in other company, in the last digits.
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
        """Nothing is asked yet.

        Args:
            endpoint: Where the server is.
            batch: At most so many texts a request.
            seconds: The longest one request may take.
            policy: How often a request is tried.
            sleep: How to wait.
        """
        self._endpoint = endpoint
        self._batch = batch
        self._seconds = seconds
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """Length of a vector; asked for once, if nothing has been embedded yet."""
        if not self._dimension:
            self.embed(["dimension"])
        return self._dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """See `Embedder.identity`; a server tells no digest, so `sha256` is that of the name."""
        name, url = self._endpoint.name, self._endpoint.base_url
        return {
            "model": name,
            "sha256": digest(f"{url} {name}"),
            "runtime": url,
            "precision": "unknown",
        }

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text; see `Embedder.embed`.

        Raises:
            ModelError: If the server cannot be reached, declines, or sends something else.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = np.concatenate([self._tried(part) for part in _batches(texts, self._batch)])
        self._dimension = self._dimension or vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise self._garbled(f"vectors of {vectors.shape[1]} numbers, not {self._dimension}")
        return vectors

    def count(self, text: str) -> int:
        """About the number of tokens: words and signs, as the server's own count is not known."""
        return len(_WORD.findall(text))

    def _tried(self, texts: Sequence[str]) -> Matrix:
        tried = 0
        while True:
            try:
                return self._asked(texts)
            except CallFailed as failed:
                tried += 1
                wait_s = self._wait_s(failed, tried)
            self._sleep(wait_s)

    def _wait_s(self, failed: CallFailed, tried: int) -> float:
        """Seconds until the next try; raises where there is to be none."""
        retriable = isinstance(failed, ModelFault) and failed.retriable
        asked_s = (failed.retry_after_s or 0.0) if isinstance(failed, ModelFault) else 0.0
        late = asked_s > self._policy.longest_asked_s
        if not retriable or late or tried >= self._policy.tries:
            raise ModelError(str(failed)) from None
        return max(self._policy.wait_s(tried), asked_s)

    def _asked(self, texts: Sequence[str]) -> Matrix:
        spent = Usage(llm_calls=1)
        try:
            status, headers, body = self._reply(texts)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise failure_of(error, self._endpoint, spent) from None
        if status != httpx2.codes.OK:
            raise failure_of(_Declined(status, headers, body), self._endpoint, spent)
        return self._vectors(body, len(texts))

    def _reply(self, texts: Sequence[str]) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._endpoint.key is not None:
            headers["Authorization"] = f"Bearer {self._endpoint.key.get_secret_value()}"
        asked = {
            "model": self._endpoint.model,
            "input": [_readable(text) for text in texts],
            "encoding_format": "float",
        }
        url = f"{self._endpoint.base_url.rstrip('/')}/embeddings"
        content = json.dumps(asked).encode()
        with (
            httpx2.Client(timeout=self._seconds, follow_redirects=False) as client,
            client.stream("POST", url, headers=headers, content=content) as reply,
        ):
            body = bytearray()
            for part in reply.iter_raw():
                body += part
                if len(body) > MOST_BYTES:
                    raise self._garbled(f"more than {MOST_BYTES >> 20} MB")
            return reply.status_code, reply.headers, bytes(body)

    def _vectors(self, body: bytes, count: int) -> Matrix:
        try:
            data: Any = json.loads(body)["data"]
            rows = {int(row["index"]): row["embedding"] for row in data}
            vectors = np.array([rows[place] for place in range(count)], dtype=np.float32)
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            raise self._garbled("no list of vectors") from None
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else None
        if lengths is None or len(data) != count or not (lengths > _TINY).all():
            raise self._garbled("no list of vectors, one for each text")
        if not np.isfinite(lengths).all():
            raise self._garbled("numbers that are none")
        unit: Matrix = (vectors / lengths).astype(np.float32)
        return unit

    def _garbled(self, what: str) -> ModelError:
        return ModelError(
            f"{self._endpoint.name} sent {what}; check that the model makes embeddings, "
            "and embedding.base_url"
        )


class _Declined(Exception):
    """A reply that is no success, as `failure_of` reads it."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status_code = status
        self.headers = headers
        self.response = self
        try:
            self.body: object = json.loads(body)
        except (ValueError, RecursionError):
            self.body = None


def _batches(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _readable(text: str) -> str:
    """Without lone halves of characters; servers decline an empty text."""
    return text.encode("utf-8", "replace").decode() or " "
