"""The few requests that are made to a Qdrant cluster, over its REST interface.

All of them may be repeated without harm: points have names of their own.
"""

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from fathom.errors import RunError, UsageError
from fathom.index.qdrant.address import QdrantAddress
from fathom.llm.retry import RetryPolicy

MOST_BYTES = 256 << 20
"""Of a reply; the longest are lists of candidates."""
_PASSING = frozenset({408, 429, 500, 502, 503, 504})


class QdrantClient:
    """Asks one cluster; may be used from several threads."""

    def __init__(
        self,
        address: QdrantAddress,
        *,
        seconds: float = 60.0,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is asked yet.

        Args:
            address: Where the cluster is.
            seconds: The longest one request may take.
            policy: How often a request is tried.
            sleep: How to wait.
        """
        self.address = address
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._seconds = seconds
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if address.key is not None:
            self._headers["api-key"] = address.key.get_secret_value()
        self._lock = threading.Lock()
        self._free: list[HTTPConnection] = []

    def close(self) -> None:
        """Let go of the connections; may be used again."""
        with self._lock:
            for connection in self._free:
                connection.close()
            self._free.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, method: str, path: str, body: Mapping[str, object]) -> None:
        """Change points or indexes, and wait until that is on the disk of every shard it is on.

        Raises:
            RunError: If the cluster cannot be reached, declines, or does not say that it is done.
        """
        result = self.request(method, path, body, {"wait": "true", "ordering": "strong"})
        status = result.get("status") if isinstance(result, dict) else result
        if status != "completed":
            raise self._error(f"answered a write with {status!r}, not with 'completed'")

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401 - as JSON has it
        """The result of a request; `None` if what it is about is not there.

        Raises:
            RunError: If the cluster cannot be reached, declines, or sends something else.
            UsageError: If it refuses the key.
        """
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        path = f"{path}?{urlencode(params)}" if params else path
        status, reply = self._tried(method, path, content)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise UsageError(
                f"Qdrant at {self.address.url} refuses the API key; check its variable"
            )
        try:
            told = json.loads(reply)
            if status == HTTPStatus.OK:
                return told["result"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._error(f"said {status} and no JSON of its own") from None
        raise self._error(f"said {status}: {_reason(told)}")

    def _tried(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        tried = 0
        while True:
            tried += 1
            last = tried >= self._policy.tries
            try:
                status, reply = self._asked(method, path, content)
            except (HTTPException, OSError) as error:
                if last:
                    raise self._error(f"cannot be reached ({type(error).__name__})") from None
            else:
                if last or status not in _PASSING:
                    return status, reply
            self._sleep(self._policy.wait_s(tried))

    def _asked(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        """One request; another one where a connection that was kept has been ended meanwhile."""
        with self._lock:
            kept = self._free.pop() if self._free else None
        if kept is not None:
            try:
                return self._asked_on(kept, method, path, content)
            except (HTTPException, ConnectionError):
                pass
        return self._asked_on(self._connected(), method, path, content)

    def _connected(self) -> HTTPConnection:
        parts = urlsplit(self.address.url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(host, port, timeout=self._seconds, context=context)
        return HTTPConnection(host, port, timeout=self._seconds)

    def _asked_on(
        self, connection: HTTPConnection, method: str, path: str, content: bytes | None
    ) -> tuple[int, bytes]:
        try:
            connection.request(method, path, content, self._headers)
            reply = connection.getresponse()
            body = reply.read(MOST_BYTES + 1)
        except BaseException:
            connection.close()
            raise
        if len(body) > MOST_BYTES:
            connection.close()
            raise self._error(f"sent more than {MOST_BYTES >> 20} MB")
        with self._lock:
            self._free.append(connection)
        return reply.status, body

    def _error(self, what: str) -> RunError:
        return RunError(
            f"Qdrant at {self.address.url} {what}; see that it runs, then try again: what was "
            "acknowledged is in PostgreSQL"
        )


def _reason(told: object) -> str:
    status = told.get("status") if isinstance(told, dict) else None
    error = status.get("error") if isinstance(status, dict) else None
    return " ".join(str(error or "no reason given").split())[:300]
