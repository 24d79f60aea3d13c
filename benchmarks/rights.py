"""Rights of documents on one server: readers, canaries, and probes of every way to a document.

    python -m benchmarks.rights --users 50 --groups 200 --documents 2000 --probes 20000
    python -m benchmarks.rights --index 'postgresql://ada@db.example/empty'

Each document has a word that stands nowhere else, and random readers. Somebody who may read all of
them has asked about some, in a conversation and with a key for repeated requests, and said that the
answers were right. Then every user searches, asks, lists, opens documents and what is kept, by
chance: a reply with the word of a document that the user may not read, or a wrong count, is a leak.
Every user has asked too, and opens the own answers and conversations and those of others: one of
another user, or one whose documents the user may not read any more, is a leak when it opens.
At last rights are withdrawn, and the next requests of those who had them may not show the document,
nor an answer that was made from it.
"""

import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.probes import ProbeCounts, make_parser, make_word, print_report, send_all
from fastapi.testclient import TestClient
from typing_extensions import override

from fathom import Engine
from fathom.config import parse_settings
from fathom.index.engines import QDRANT_MARK
from fathom.index.rights import ReadingRule
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import EVERYTHING, Key, create_key_store
from fathom.settings import Settings

ADDRESS = "http://127.0.0.1:8000"
API = "/api/v1"
KEPT = 20
"""The number of documents that were asked about before."""
OWN = 2
"""The number of documents about which each user asks."""
AT_A_TIME = 20
"""The number of rights that one change of the rules withdraws."""
MOST_REFUSALS = 20
"""The number of times that a busy server may refuse one request."""
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


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """An answer to a user's question, or a conversation with it.

    Attributes:
        user: The name of the user.
        documents: The numbers of the documents in the trace of the answer.
        is_talk: Whether it is the conversation.
    """

    user: str
    documents: frozenset[int]
    is_talk: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The numbers of users, groups, documents, probes and rights to withdraw."""

    users: int = 50
    groups: int = 200
    documents: int = 2_000
    probes: int = 20_000
    withdrawals: int = 200


@dataclass
class RightsCounts(ProbeCounts):
    """The counts of the probes; `opened` are openings of own answers."""

    withdrawals: int = 0
    shown: int = 0
    opened: int = 0

    @override
    def add(self, other: ProbeCounts) -> None:
        super().add(other)
        assert isinstance(other, RightsCounts)
        self.withdrawals += other.withdrawals
        self.shown += other.shown
        self.opened += other.opened


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
    answers: dict[str, OwnAnswer] = field(default_factory=dict)

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
    """Yield requests for answers, traces and conversations that the user or others have made."""
    trace, conversation = drawn.choice(site.traces), drawn.choice(site.conversations)
    other = drawn.choice([*site.answers])
    for path in ("traces", "conversations", "jobs", "reports"):
        yield "GET", f"{API}/{path}", {}
    yield "GET", f"{API}/conversations/{conversation}", {}
    yield from list_openings(trace)
    yield from list_openings(other, is_talk=site.answers[other].is_talk)
    asked = {"question": ask_about(number)}
    yield "POST", f"{API}/ask", {"json": {**asked, "conversation": conversation}}
    headers = {"Idempotency-Key": f"repeat-{number % KEPT}"}
    yield "POST", f"{API}/ask", {"json": {"question": ask_about(number % KEPT)}, "headers": headers}
    yield "GET", f"/v1/responses/{trace}", {}


def list_openings(trace: str, *, is_talk: bool = False) -> Iterator[Request]:
    """Yield requests that open an answer, or a conversation."""
    if is_talk:
        yield "GET", f"{API}/conversations/{trace}", {}
        return
    for path in (f"answers/{trace}", f"traces/{trace}"):
        yield "GET", f"{API}/{path}", {}
    yield "POST", f"{API}/traces/{trace}/replay", {}
    yield "POST", f"{API}/feedback", {"json": {"trace_id": trace, "correct": True}}


def send_probe(site: Site, user: User, request: Request) -> RightsCounts:
    """Send a request of a user, and check what the reply shows."""
    method, path, arguments = request
    arguments = {**arguments, "headers": {**user.headers, **arguments.get("headers", {})}}
    reply = _request_patiently(site.client, method, path, arguments)
    counts = RightsCounts(probes=1, statuses=Counter([reply.status_code]))
    asked = json.dumps([path, arguments.get("json")])
    # A reply may repeat the words of its request.
    words = {word[0] for word in _WORD.finditer(reply.text) if word[0] not in asked}
    shown = {site.numbers[word] for word in words}
    counts.shown = len(shown)
    hidden = shown - user.readable
    answer = _find_answer(site, path, arguments)
    is_own = answer is not None and _is_own(user, answer) and reply.status_code < 400
    counts.opened = int(is_own)
    is_foreign = answer is not None and not is_own and reply.status_code < 400
    tells_readers = '"readers"' in reply.text or '"reader_lists"' in reply.text
    is_leak = is_foreign or tells_readers or _is_opened(user, path, reply.status_code)
    if hidden or is_leak or _is_miscounted(user, path, reply):
        counts.leaks.append(f"{user.name}: {method} {path} {asked[:200]}: {reply.text[:300]}")
    return counts


def _request_patiently(
    client: TestClient, method: str, path: str, arguments: dict[str, Any]
) -> Any:  # noqa: ANN401 - a reply of the client
    """Return the reply to a request, which is sent again if the server was too busy for it.

    On a busy machine the server refuses questions that would wait too long; such a refusal shows
    nothing, and would be no probe.
    """
    for _ in range(MOST_REFUSALS):
        reply = client.request(method, path, **arguments)
        if (
            reply.status_code != HTTPStatus.SERVICE_UNAVAILABLE
            or "Retry-After" not in reply.headers
        ):
            break
        time.sleep(float(reply.headers["Retry-After"]))
    return reply


def _is_opened(user: User, path: str, status: int) -> bool:
    """Return whether a document was opened that the user may not read."""
    name = re.match(rf"{API}/documents/d(\d+)", path)
    return name is not None and int(name[1]) not in user.readable and status < 400


def _find_answer(site: Site, path: str, arguments: dict[str, Any]) -> OwnAnswer | None:
    """Return the answer that a request opens; that of nobody for one from before the rights."""
    name = re.match(rf"{API}/(?:answers|traces|conversations)/(\w+)", path)
    body = arguments.get("json") or {}
    trace = name[1] if name else body.get("trace_id")
    return site.answers.get(trace, OwnAnswer("", frozenset())) if trace else None


def _is_own(user: User, answer: OwnAnswer) -> bool:
    """Return whether an answer is a user's, who may still read all of its documents."""
    return answer.user == user.name and answer.documents <= user.readable


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
        # Qdrant needs a socket, which this option refuses.
        tree: dict[str, Any] = {"index.url": url, "offline": QDRANT_MARK not in url}
        tree["index.directory"] = str(Path(folder) / "index")
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
            _ask_as_users(site, drawn, counts)
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


def _ask_as_users(site: Site, drawn: random.Random, counts: RightsCounts) -> None:
    """Ask as each user about readable documents in conversations, and open the answers."""
    for user in site.users:
        for number in drawn.sample(sorted(user.readable), min(len(user.readable), OWN)):
            begun = site.client.post(f"{API}/conversations", json={}, headers=user.headers)
            talk = begun.json()["id"]
            body = {"question": ask_about(number), "conversation": talk}
            reply = site.client.post(f"{API}/ask", json=body, headers=user.headers).json()
            trace = site.client.get(f"{API}/traces/{reply['trace_id']}", headers=user.headers)
            words = {word[0] for word in _WORD.finditer(trace.text)}
            documents = frozenset(site.numbers[word] for word in words)
            site.answers[reply["trace_id"]] = OwnAnswer(user.name, documents)
            site.answers[talk] = OwnAnswer(user.name, documents, is_talk=True)
            if number not in documents:
                counts.leaks.append(f"{user.name} is not shown the own answer about {number}")
    _open_answers(site, site.answers, counts)


def _open_answers(site: Site, traces: Iterable[str], counts: RightsCounts) -> None:
    """Open answers as their users and as others; whoever may see an answer must see it."""
    people = {user.name: user for user in site.users}
    before, expected = counts.opened, 0
    requests: list[tuple[User, Request]] = []
    for number, trace in enumerate(traces):
        answer, another = site.answers[trace], site.users[number % len(site.users)]
        for user in {answer.user: people[answer.user], another.name: another}.values():
            openings = list(list_openings(trace, is_talk=answer.is_talk))
            requests += [(user, opening) for opening in openings]
            expected += len(openings) * _is_own(user, answer)
    _send_all(site, requests, counts)
    if counts.opened - before != expected:
        counts.leaks.append(
            f"{expected} openings of own answers, {counts.opened - before} succeeded"
        )


def _send_all(site: Site, requests: Sequence[tuple[User, Request]], counts: RightsCounts) -> None:
    send_all(requests, lambda request: send_probe(site, *request), counts)


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
    touched = [name for name, answer in site.answers.items() if answer.documents & {*some}]
    _open_answers(site, touched, counts)
    counts.withdrawals += len(some)


def main() -> int:
    """Report as JSON."""
    parser = make_parser(__doc__)
    for number in fields(Plan):
        parser.add_argument(f"--{number.name}", type=int, default=number.default)
    chosen = parser.parse_args()
    begun = time.perf_counter()
    plan = Plan(**{number.name: getattr(chosen, number.name) for number in fields(Plan)})
    counts = run_probes(plan, seed=chosen.seed, url=chosen.index)
    return print_report(
        counts, begun, withdrawals=counts.withdrawals, shown=counts.shown, opened=counts.opened
    )


if __name__ == "__main__":
    sys.exit(main())
