"""The requests to a Qdrant cluster, over its REST interface.

Every request may be repeated without harm, because a point that is stored twice has the same name.
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

MAX_REPLY_BYTES = 256 << 20
"""The largest accepted reply in bytes; the longest replies are lists of candidates."""
_TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})


class QdrantClient:
    """A client of one cluster; safe for threads."""

    def __init__(
        self,
        address: QdrantAddress,
        *,
        seconds: float = 60.0,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create the client; nothing is sent yet.

        Args:
            address: The address of the cluster.
            seconds: The longest wait for the cluster to accept or to send data, in seconds.
            policy: The number of tries of a request, and the waits between them.
            sleep: The function that waits for a number of seconds.
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
        """Close the connections; the client may be used again."""
        with self._lock:
            for connection in self._free:
                connection.close()
            self._free.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, method: str, path: str, body: Mapping[str, object]) -> None:
        """Change points or indexes, and wait until the cluster confirms that it has the change.

        Raises:
            RunError: If the cluster cannot be reached, declines, or does not confirm the change.
            UsageError: If it refuses the key.
        """
        result = self.request(method, path, body, {"wait": "true", "ordering": "strong"})
        status = result.get("status") if isinstance(result, dict) else result
        if status != "completed":
            raise self._make_error(f"answered a write with {status!r}, not with 'completed'")

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401 - as JSON has it
        """Return the result of a request; `None` if the collection or point does not exist.

        Args:
            method: The HTTP method.
            path: The path of the URL.
            body: The body, sent as JSON; by default none.
            params: The query of the URL.

        Raises:
            RunError: If the cluster cannot be reached, declines, or sends something else than JSON.
            UsageError: If it refuses the key.
        """
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        path = f"{path}?{urlencode(params)}" if params else path
        status, reply = self._send_with_retries(method, path, content)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise UsageError(
                f"Qdrant at {self.address.url} refuses the API key; check its variable"
            )
        try:
            answer = json.loads(reply)
            if status == HTTPStatus.OK:
                return answer["result"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._make_error(f"said {status} and no JSON of its own") from None
        raise self._make_error(f"said {status}: {_extract_reason(answer)}")

    def _send_with_retries(
        self, method: str, path: str, content: bytes | None
    ) -> tuple[int, bytes]:
        """Send a request, again after transient errors, and return the status and the reply.

        Raises:
            RunError: If the last try cannot reach the cluster.
        """
        tried = 0
        while True:
            tried += 1
            last = tried >= self._policy.tries
            try:
                status, reply = self._send(method, path, content)
            except (HTTPException, OSError) as error:
                if last:
                    raise self._make_error(f"cannot be reached ({type(error).__name__})") from None
            else:
                if last or status not in _TRANSIENT_STATUSES:
                    return status, reply
            self._sleep(self._policy.compute_wait(tried))

    def _send(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        """Send a request once, and again on a new connection if an idle one has been closed."""
        with self._lock:
            idle = self._free.pop() if self._free else None
        if idle is not None:
            try:
                return self._send_on(idle, method, path, content)
            except (HTTPException, ConnectionError):
                pass  # the server ends idle connections, which is no failed try
        return self._send_on(self._make_connection(), method, path, content)

    def _make_connection(self) -> HTTPConnection:
        """Return a new connection, which opens its socket on the first request."""
        parts = urlsplit(self.address.url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(host, port, timeout=self._seconds, context=context)
        return HTTPConnection(host, port, timeout=self._seconds)

    def _send_on(
        self, connection: HTTPConnection, method: str, path: str, content: bytes | None
    ) -> tuple[int, bytes]:
        """Send a request on a connection, and keep the connection for the next one.

        Raises:
            RunError: If the reply is too long.
            HTTPException: If the reply is no HTTP.
            OSError: If the connection fails.
        """
        try:
            connection.request(method, path, content, self._headers)
            reply = connection.getresponse()
            body = reply.read(MAX_REPLY_BYTES + 1)
        except BaseException:
            connection.close()
            raise
        # The rest of the reply is still in the socket, so the connection cannot be reused.
        if len(body) > MAX_REPLY_BYTES:
            connection.close()
            raise self._make_error(f"sent more than {MAX_REPLY_BYTES >> 20} MB")
        with self._lock:
            self._free.append(connection)
        return reply.status, body

    def _make_error(self, what: str) -> RunError:
        """Return an error that names the cluster, `what` it did, and the next step."""
        return RunError(
            f"Qdrant at {self.address.url} {what}; see that it runs, then try again: what was "
            "acknowledged is in PostgreSQL"
        )


def _extract_reason(reply: object) -> str:
    """Return the reason that an error reply gives, in one line of at most 300 characters."""
    status = reply.get("status") if isinstance(reply, dict) else None
    error = status.get("error") if isinstance(status, dict) else None
    return " ".join(str(error or "no reason given").split())[:300]
