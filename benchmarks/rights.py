"""Rights of documents on one server: readers, canaries, and probes of every way to a document.

    python -m benchmarks.rights --users 50 --groups 200 --documents 2000 --probes 20000
    python -m benchmarks.rights --index 'postgresql://ada@db.example/empty'

Each document has a word that stands nowhere else, and random readers. Somebody who may read all of
them has asked about some, in a conversation and with a key for repeated requests, and said that the
answers were right. Then every user searches, asks, lists, opens documents and what is kept, by
chance: a reply with the word of a document that the user may not read, or a wrong count, is a leak.
At last rights are withdrawn, and the next requests of those who had them may not show the document.
"""

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.tenants import AT_ONCE, make_word
from fastapi.testclient import TestClient

from fathom import Engine
from fathom.config import parse_settings
from fathom.index.rights import ReadingRule
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import EVERYTHING, Key, create_key_store
from fathom.settings import Settings

ADDRESS = "http://127.0.0.1:8000"
API = "/api/v1"
KEPT = 20
"""The number of documents that were asked about before."""
AT_A_TIME = 20
"""The number of rights that one change of the rules withdraws."""
_WORD = re.compile(r"zor(\w+)quil")

Request = tuple[str, str, dict[str, Any]]
"""Method, path and arguments."""


@dataclass(slots=True)
class User:
    """A holder of a key, with the numbers of the documents that the holder may read."""

    name: str
    groups: frozenset[str]
    headers: dict[str, str]
    readable: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The numbers of users, groups, documents, probes and rights to withdraw."""

    users: int = 50
    groups: int = 200
    documents: int = 2_000
    probes: int = 20_000
    withdrawals: int = 200


@dataclass(slots=True)
class RightsCounts:
    """The counts of the probes."""

    probes: int = 0
    withdrawals: int = 0
    shown: int = 0
    leaks: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


@dataclass(slots=True)
class Site:
    """A server with documents, readers and users; `readers` are those of each document."""

    client: TestClient
    settings: Settings
    corpus: Path
    readers: list[tuple[str, ...]]
    users: list[User]
    root: dict[str, str]
    numbers: dict[str, int]
    traces: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)

    def list_rules(self) -> list[ReadingRule]:
        """Return the rules of the documents that not everybody may read."""
        return [
            ReadingRule(f"{self.corpus}#d{number}", names or ("",))
            for number, names in enumerate(self.readers)
            if names != (EVERYTHING,)
        ]

    def set_rights(self) -> None:
        """Store the rules as an ingestion does, and note who may read which documents."""
        with Engine(self.settings) as engine, engine.index.open_writer(None) as writer:
            writer.set_rights(self.list_rules())
        for user in self.users:
            names = user.groups | {f"user:{user.name}", EVERYTHING}
            user.readable = frozenset(
                number for number, readers in enumerate(self.readers) if names.intersection(readers)
            )


def ask_about(number: int) -> str:
    """Return a question about a document, without its word."""
    return f"What is the secret code of the vault with the number {number}?"


def list_probes(site: Site, number: int, drawn: random.Random) -> Iterator[Request]:
    """Yield requests that could show a document, or what is kept about it."""
    name, word = f"d{number}", make_word(number)
    for body in (
        {"query": f"code {word}", "k": drawn.choice([1, 10, 50])},
        {"query": ask_about(number), "k": drawn.choice([1, 10, 50])},
        {"query": ask_about(number), "chars": 900},
        {"query": "secret code", "filters": [f"document={name}"]},
    ):
        yield "POST", f"{API}/search", {"json": body}
    for text in (word, word[:9], f"number {number}"):
        yield "POST", f"{API}/lines", {"json": {"texts": [text]}}
    for more in ({}, {"brief": True}, {"filters": [f"document={name}"]}, {"strategy": "naive"}):
        yield "POST", f"{API}/ask", {"json": {"question": ask_about(number), **more}}
    yield "POST", f"{API}/ask/stream", {"json": {"question": ask_about(number)}}
    for path in ("", "/text", "/chunks", "/file", "/pages/1.png"):
        yield "GET", f"{API}/documents/{name}{path}", {}
    yield "GET", f"{API}/documents", {"params": {"limit": 1_000}}
    yield "GET", f"{API}/status", {}
    yield from _list_kept(site, number, drawn)
    for tool, arguments in (
        ("search", {"query": ask_about(number)}),
        ("grep", {"text": word[:9]}),
        ("list_documents", {}),
        ("get_document", {"id": name}),
        ("get_outline", {"id": name}),
        ("ask", {"question": ask_about(number)}),
    ):
        call = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accept = {"Accept": "application/json, text/event-stream"}
        yield "POST", "/mcp", {"json": body, "headers": accept}


def _list_kept(site: Site, number: int, drawn: random.Random) -> Iterator[Request]:
    """Yield requests for answers, traces and conversations that others have made."""
    trace, conversation = drawn.choice(site.traces), drawn.choice(site.conversations)
    for path in ("traces", "conversations", "jobs", "reports", f"traces/{trace}"):
        yield "GET", f"{API}/{path}", {}
    yield "GET", f"{API}/answers/{trace}", {}
    yield "GET", f"{API}/conversations/{conversation}", {}
    yield "POST", f"{API}/traces/{trace}/replay", {}
    yield "POST", f"{API}/feedback", {"json": {"trace_id": trace, "correct": True}}
    asked = {"question": ask_about(number)}
    yield "POST", f"{API}/ask", {"json": {**asked, "conversation": conversation}}
    headers = {"Idempotency-Key": f"repeat-{number % KEPT}"}
    yield "POST", f"{API}/ask", {"json": {"question": ask_about(number % KEPT)}, "headers": headers}
    yield "GET", f"/v1/responses/{trace}", {}


def send_probe(site: Site, user: User, request: Request) -> RightsCounts:
    """Send a request of a user, and check what the reply shows."""
    method, path, arguments = request
    arguments = {**arguments, "headers": {**user.headers, **arguments.get("headers", {})}}
    reply = site.client.request(method, path, **arguments)
    counts = RightsCounts(probes=1, statuses=Counter([reply.status_code]))
    asked = json.dumps([path, arguments.get("json")])
    # A reply may repeat the words of its request.
    words = {word[0] for word in _WORD.finditer(reply.text) if word[0] not in asked}
    shown = {site.numbers[word] for word in words}
    counts.shown = len(shown)
    hidden = shown - user.readable
    if hidden or _is_opened(user, path, reply.status_code) or _is_miscounted(user, path, reply):
        counts.leaks.append(f"{user.name}: {method} {path} {asked[:200]}: {reply.text[:300]}")
    return counts


def _is_opened(user: User, path: str, status: int) -> bool:
    """Return whether a document was opened that the user may not read."""
    name = re.match(rf"{API}/documents/d(\d+)", path)
    return name is not None and int(name[1]) not in user.readable and status < 400


def _is_miscounted(user: User, path: str, reply: Any) -> bool:  # noqa: ANN401 - a reply of the client
    """Return whether a count of documents is not that of the readable ones."""
    if path == f"{API}/documents":
        return bool(reply.json()["total"] != len(user.readable))
    if path == f"{API}/status":
        return bool(reply.json()["index"]["documents"] != len(user.readable))
    return False


def run_probes(plan: Plan, *, seed: int = 0, url: str = "") -> RightsCounts:
    """Create documents, readers and users, probe by chance, then withdraw rights.

    Args:
        plan: The numbers of all of them.
        seed: Draws them.
        url: The URL of an index on a server; by default an embedded index is made.
    """
    drawn, counts = random.Random(seed), RightsCounts()
    with tempfile.TemporaryDirectory() as folder:
        tree = {"index.directory": str(Path(folder) / "index"), "index.url": url, "offline": True}
        settings = parse_settings(tree)
        corpus = Path(folder).resolve() / "vaults" / "corpus.jsonl"
        _write_corpus(corpus, plan.documents)
        names = [f"g{number}" for number in range(plan.groups)]
        readers = [_draw_readers(drawn, names, plan.users) for _ in range(plan.documents)]
        with Engine(settings) as engine:
            engine.ingest(corpus)
        people = list(_make_users(settings, drawn, names, plan.users))
        numbers = {make_word(number): number for number in range(plan.documents)}
        with TestClient(create_app(settings), base_url=ADDRESS) as client:
            root = people.pop().headers
            site = Site(client, settings, corpus, readers, people, root, numbers)
            _keep_answers(site)
            site.set_rights()
            _probe_by_chance(site, drawn, plan.probes, counts)
            while counts.withdrawals < plan.withdrawals:
                _withdraw(site, drawn, counts)
    return counts


def _write_corpus(corpus: Path, documents: int) -> None:
    corpus.parent.mkdir()
    with corpus.open("w", encoding="utf-8") as lines:
        for number in range(documents):
            text = f"The secret code of the vault with the number {number} is {make_word(number)}."
            record = {"_id": f"d{number}", "title": f"Vault {number}", "text": text}
            lines.write(f"{json.dumps(record)}\n")


def _draw_readers(drawn: random.Random, groups: Sequence[str], users: int) -> tuple[str, ...]:
    """Return the readers of a document: everybody, nobody, groups, or one user."""
    chance = drawn.random()
    if chance < 0.1:
        return (EVERYTHING,)
    if chance < 0.2:
        return ()
    if chance < 0.3:
        return (f"user:user-{drawn.randrange(users)}",)
    return tuple(drawn.sample(groups, drawn.choice([1, 1, 2, 5])))


def _make_users(
    settings: Settings, drawn: random.Random, groups: Sequence[str], users: int
) -> Iterator[User]:
    """Yield users with a key each; the last one may read all documents."""
    with Engine(settings) as engine:
        keys = create_key_store(engine.index)
        for number in range(users + 1):
            some = frozenset(drawn.sample(groups, drawn.randrange(min(12, len(groups)))))
            chosen = some if number < users else frozenset({EVERYTHING})
            name = f"user-{number}"
            _, text = keys.add(Key(id="", name=name, scopes=frozenset({"read"}), groups=chosen))
            yield User(name, chosen, {"Authorization": f"Bearer {text}"})
        keys.close()


def _keep_answers(site: Site) -> None:
    """Ask about documents, say that the answers are right, and keep all of it."""
    for number in range(KEPT):
        begun = site.client.post(f"{API}/conversations", json={}, headers=site.root)
        site.conversations.append(begun.json()["id"])
        body = {"question": ask_about(number), "conversation": site.conversations[-1]}
        answer = site.client.post(f"{API}/ask", json=body, headers=site.root).json()
        if make_word(number) not in json.dumps(answer):
            raise SystemExit(f"document {number} is not found by its question")
        site.traces.append(answer["trace_id"])
        feedback = {"trace_id": answer["trace_id"], "correct": True}
        site.client.post(f"{API}/feedback", json=feedback, headers=site.root)
        headers = {**site.root, "Idempotency-Key": f"repeat-{number}"}
        site.client.post(f"{API}/ask", json={"question": ask_about(number)}, headers=headers)


def _probe_by_chance(site: Site, drawn: random.Random, least: int, counts: RightsCounts) -> None:
    """Send random requests of random users about random documents, several at once."""

    def draw() -> Iterator[tuple[User, Request]]:
        while True:
            user, number = drawn.choice(site.users), drawn.randrange(len(site.readers))
            yield user, drawn.choice(list(list_probes(site, number, drawn)))

    _send_all(site, list(islice(draw(), least)), counts)


def _send_all(site: Site, requests: Sequence[tuple[User, Request]], counts: RightsCounts) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for part in threads.map(lambda request: send_probe(site, *request), requests):
            counts.probes += part.probes
            counts.shown += part.shown
            counts.leaks += part.leaks
            counts.statuses += part.statuses


def _withdraw(site: Site, drawn: random.Random, counts: RightsCounts) -> None:
    """Withdraw the rights of some documents, and ask at once by all who had them."""
    some = drawn.sample(range(len(site.readers)), min(AT_A_TIME, len(site.readers)))
    before = [(user, number) for user in site.users for number in some if number in user.readable]
    for number in some:
        site.readers[number] = ("nobody-is-in-this-group",)
    site.set_rights()
    requests = [
        (user, request)
        for user, number in drawn.sample(before, min(len(before), 2 * AT_A_TIME))
        for request in drawn.sample(list(list_probes(site, number, drawn)), 4)
    ]
    _send_all(site, requests, counts)
    counts.withdrawals += len(some)


def main() -> int:
    """Report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    for number in fields(Plan):
        parser.add_argument(f"--{number.name}", type=int, default=number.default)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--index", default="", help="the URL of an empty index on a server")
    chosen = parser.parse_args()
    begun = time.perf_counter()
    plan = Plan(**{number.name: getattr(chosen, number.name) for number in fields(Plan)})
    counts = run_probes(plan, seed=chosen.seed, url=chosen.index)
    report = {
        "probes": counts.probes,
        "withdrawals": counts.withdrawals,
        "shown": counts.shown,
        "leaks": counts.leaks[:20],
        "leaked": len(counts.leaks),
        "statuses": dict(sorted(counts.statuses.items())),
        "seconds": round(time.perf_counter() - begun, 1),
    }
    print(json.dumps(report, indent=1))
    return 1 if counts.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
