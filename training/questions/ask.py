"""Asks a model of OpenAI's chat protocol for questions about passages, and each of them again.

Only the standard library is needed, besides a file of `fathom.text`. What was asked is kept, so
that a run can be cut off and goes on where it stopped.
"""

import gzip
import http.client
import json
import math
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from training.questions.prompts import UNANSWERABLE, build_check, build_request, draw_kinds
from training.questions.replies import (
    Pair,
    explain_refusal,
    is_refused,
    read_pairs,
)

_WRITTEN, _AGAIN = 260, 80  # tokens of a reply
_EVERY = 15  # seconds between two pieces of the file of replies
_TRIES = 6
_NEIGHBOURS = 2
_CHAIN = 12  # seconds that the requests about one passage take where many wait


class Endpoint:
    """An address that answers prompts; each thread keeps one connection."""

    def __init__(self, address: str, model: str = "", seconds: float = math.inf) -> None:
        """Create it; nothing is sent yet.

        Args:
            address: Where chat completions are posted to.
            model: The model's name there; may be empty.
            seconds: No request is sent later than so long after now.
        """
        self._end = time.monotonic() + seconds
        parts = urlsplit(address)
        self._host, self._path = parts.netloc, parts.path
        self._secure = parts.scheme == "https"
        self._model = model
        self._threads = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def ask(self, messages: Sequence[tuple[str, str]], tokens: int) -> str:
        """Return the model's reply to messages, each with its role.

        Raises:
            OSError: If it does not answer, or the time is over.
        """
        body = json.dumps(
            {
                "model": self._model,
                "messages": [{"role": role, "content": text} for role, text in messages],
                "max_tokens": tokens,
                "temperature": 0,
            }
        ).encode()
        for turn in range(_TRIES):
            if time.monotonic() > self._end:
                raise TimeoutError("the time is over")
            try:
                return self._post(body)
            except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
                self._threads.connection = None
                failure = error
                time.sleep(0.3 * 2**turn)
        raise OSError(f"{self._host} does not answer: {failure}")

    def has_time(self) -> bool:
        """Return whether a passage begun now is likely to be done in time."""
        return time.monotonic() < self._end - _CHAIN

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()

    def _post(self, body: bytes) -> str:
        connection = getattr(self._threads, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._threads.connection = kind(self._host, timeout=300)
            self._connections.append(connection)
        connection.request("POST", self._path, body, {"Content-Type": "application/json"})
        reply = json.loads(connection.getresponse().read())
        return str(reply["choices"][0]["message"]["content"])


def ask_passages(
    passages: Path,
    replies: Path,
    endpoint: Endpoint,
    *,
    open_requests: int = 512,
    most: int = 10**9,
) -> None:
    """Ask about all passages that have no replies yet, and add the replies to a file.

    Args:
        passages: One passage a line.
        replies: One passage's replies a line; pieces of it are valid whenever the run ends.
        endpoint: Answers prompts.
        open_requests: Passages at a time; each has one request open.
        most: Passages at most.
    """
    earlier = read_lines(replies)
    replies.unlink(missing_ok=True)  # it may end in a torn piece, behind which nothing is read
    _append(replies, earlier)
    done = {entry["id"] for entry in earlier}
    waiting = [entry for entry in read_lines(passages) if entry["id"] not in done][:most]
    writer = _Writer(replies, len(waiting))

    def ask_one(passage: Mapping[str, Any]) -> str:
        if not endpoint.has_time():
            return "the time is over"
        try:
            writer.add({"id": passage["id"], **ask_passage(passage, endpoint)})
        except OSError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(open_requests) as pool:
        failures = Counter(filter(None, pool.map(ask_one, waiting)))
    writer.flush()
    for failure, count in failures.items():
        print(f"{count} passages are not asked about: {failure}", flush=True)


def ask_passage(passage: Mapping[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    """Return the model's questions about a passage and its answers when it is asked them again."""
    lang, title, text = passage["lang"], passage["title"], passage["text"]
    written = endpoint.ask(
        build_request(passage["id"], passage["kind"], lang, title, text), _WRITTEN
    )
    again: dict[str, list[str]] = {}
    kinds = draw_kinds(passage["id"], passage["kind"], text)
    for pair in read_pairs(written, kinds):
        if not explain_refusal(pair, title, text):
            again[pair.question] = list(_ask_again(passage, pair, endpoint))
    return {"written": written, "again": again}


def _ask_again(passage: Mapping[str, Any], pair: Pair, endpoint: Endpoint) -> Iterator[str]:
    lang = passage["lang"]
    reply = endpoint.ask(
        build_check(lang, pair.kind, [(passage["title"], passage["text"])], pair.question), _AGAIN
    )
    yield reply
    near: Sequence[tuple[str, str]] = passage["around"][:_NEIGHBOURS]
    if pair.kind == UNANSWERABLE and is_refused(reply) and near:
        yield endpoint.ask(build_check(lang, pair.kind, near, pair.question), _AGAIN)


class _Writer:
    """Adds lines to a compressed file every few seconds, and says how far it is."""

    def __init__(self, file: Path, total: int) -> None:
        self._file, self._total = file, total
        self._lock = threading.Lock()
        self._entries: list[Mapping[str, Any]] = []
        self._count = 0
        self._begin = self._last = time.monotonic()

    def add(self, entry: Mapping[str, Any]) -> None:
        with self._lock:
            self._entries.append(entry)
            self._count += 1
            is_due = time.monotonic() > self._last + _EVERY
        if is_due:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            self._last = time.monotonic()
            _append(self._file, self._entries)
            self._entries = []
            seconds = self._last - self._begin
            print(f"{self._count} of {self._total} passages, {seconds:.0f} s", flush=True)


def _append(file: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Add lines as a further member of a gzip file, which is whole whatever comes behind it."""
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    with file.open("ab") as out:
        out.write(gzip.compress(text.encode(), 4))


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Return the entries of a file of JSON lines; none if there is no file, none behind a cut."""
    entries: list[dict[str, Any]] = []
    if not file.exists():
        return entries
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        try:
            entries.extend(map(json.loads, lines))
        except (EOFError, OSError, ValueError, zlib.error):
            print(f"{file} was cut off; {len(entries)} lines of it are read")
    return entries
