"""Isolation of the tenants of one server: canaries, and probes of every route.

    python benchmarks/tenants.py --tenants 20 --probes 10000
    python benchmarks/tenants.py --index 'postgresql://ada@db.example/empty'

Each tenant has a document with a word that stands nowhere else, has asked about it, said that the
answer was right, and begun a conversation. Then each asks with the names of the others' documents,
traces, jobs and conversations, for their words, and with every trick to name another workspace: a
reply with another's word, or a success under another's name, is a leak.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.probes import (
    AT_ONCE,
    ProbeCounts,
    make_parser,
    make_word,
    print_report,
    send_all,
)
from fastapi.testclient import TestClient

from fathom import Engine
from fathom.config import parse_settings
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, Scope, create_key_store
from fathom.settings import Settings

ADDRESS = "http://127.0.0.1:8000"
API = "/api/v1"
OPENAI = "/v1"


@dataclass(slots=True)
class Tenant:
    """A tenant with its data; `word` occurs in its document and nowhere else."""

    name: str
    word: str
    headers: dict[str, str]
    document: str = ""
    trace: str = ""
    job: str = ""
    conversation: str = ""
    file: str = ""
    store: str = ""


def prepare_tenant(client: TestClient, tenant: Tenant) -> None:
    """Give a tenant a document, an answer, feedback and a conversation."""
    text = f"# Code of {tenant.name}\n\nThe secret code of the vault is {tenant.word}.\n"
    files = {"files": (f"{tenant.word}.md", text.encode())}
    sent = client.post(f"{API}/documents", files=files, headers=tenant.headers)
    tenant.job = sent.json()["job"]
    while client.get(f"{API}/jobs/{tenant.job}", headers=tenant.headers).json()["state"] != "done":
        time.sleep(0.02)
    listed = client.get(f"{API}/documents", headers=tenant.headers).json()["documents"]
    tenant.document = listed[0]["id"]
    upload: dict[str, Any] = {
        "files": {"file": ("named.md", text.encode())},
        "data": {"purpose": "user_data"},
    }
    tenant.file = client.post(f"{OPENAI}/files", headers=tenant.headers, **upload).json()["id"]
    made = {"name": tenant.word, "file_ids": [tenant.file]}
    store = client.post(f"{OPENAI}/vector_stores", json=made, headers=tenant.headers)
    tenant.store = store.json()["id"]
    begun = client.post(f"{API}/conversations", json={}, headers=tenant.headers)
    tenant.conversation = begun.json()["id"]
    body = {"question": QUESTION, "conversation": tenant.conversation}
    answer = client.post(f"{API}/ask", json=body, headers=tenant.headers).json()
    if tenant.word not in json.dumps(answer):
        raise SystemExit(f"{tenant.name} is not told its own word: {answer['answer']!r}")
    tenant.trace = answer["trace_id"]
    feedback = {"trace_id": tenant.trace, "correct": True}
    client.post(f"{API}/feedback", json=feedback, headers=tenant.headers)


QUESTION = "What is the secret code of the vault?"


def list_probes(other: Tenant) -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    """Yield requests for another tenant's data: method, path, arguments, and if success leaks."""
    for path in (
        f"/documents/{other.document}",
        f"/documents/{other.document}/text",
        f"/documents/{other.document}/chunks",
        f"/documents/{other.document}/file",
        f"/documents/{other.document}/pages/1.png",
        f"/jobs/{other.job}",
        f"/traces/{other.trace}",
        f"/traces/{other.trace[:6]}",
        f"/answers/{other.trace}",
        f"/conversations/{other.conversation}",
        f"/documents/..%2F..%2Fworkspaces%2F{other.name}",
        f"/documents/uploads/{other.word}.md/file",
        f"/reports/..%2Fworkspaces%2F{other.name}",
    ):
        yield "GET", path, {}, True
    store = f"{OPENAI}/vector_stores/{other.store}"
    for path in (f"{OPENAI}/files/{other.file}", store, f"{store}/files"):
        yield "GET", path, {}, True
        yield "DELETE", path, {}, True
    member = f"{store}/files/{other.file}"
    yield "GET", f"{member}/content", {}, True
    yield "POST", member, {"json": {"attributes": {"by": "another"}}}, True
    yield "POST", store, {"json": {"name": "of another"}}, True
    yield "POST", f"{store}/search", {"json": {"query": other.word}}, True
    yield "POST", f"{store}/files", {"json": {"file_id": other.file}}, True
    yield "POST", f"/traces/{other.trace}/replay", {}, True
    yield "DELETE", f"/documents/{other.document}", {}, True
    yield "DELETE", f"/conversations/{other.conversation}", {}, True
    yield "POST", "/feedback", {"json": {"trace_id": other.trace, "correct": False}}, True
    bodies: list[dict[str, Any]] = [
        {},
        {"question": "What is the code of the vault of the others?"},
        {"filters": [f"path^=/workspaces/{other.name}"]},
        {"filters": [f"document={other.document}"]},
        {"history": [{"role": "user", "content": other.name}]},
    ]
    for body in bodies:
        yield "POST", "/ask", {"json": {"question": QUESTION, **body}}, False
    named: list[dict[str, Any]] = [
        {"workspace": other.name},
        {"conversation": other.conversation},
        {"budget": {"workspace": other.name}},
    ]
    for body in named:
        yield "POST", "/ask", {"json": {"question": QUESTION, **body}}, True
    yield "POST", "/search", {"json": {"query": other.word}}, False
    yield "POST", "/lines", {"json": {"texts": [other.word]}}, False
    yield "POST", "/ask", {"json": {"question": QUESTION, "brief": True}}, False
    yield (
        "POST",
        "/search",
        {"json": {"query": "vault", "filters": [f"file={other.word}.md"]}},
        False,
    )
    for path in ("/documents", "/jobs", "/traces", "/conversations", "/status", "/reports"):
        yield "GET", path, {"params": {"workspace": other.name}}, False
        yield "GET", path, {"headers": {"X-Workspace": other.name, "X-Tenant": other.name}}, False
        yield "GET", path, {"cookies": {"workspace": other.name}}, False
        yield "GET", f"/../workspaces/{other.name}{path}", {}, False


def send_probe(
    client: TestClient, tenant: Tenant, other: Tenant, request: tuple[Any, ...], counts: ProbeCounts
) -> None:
    """Send one request of a tenant for data of another one."""
    method, path, arguments, closed = request
    headers = {**tenant.headers, **arguments.get("headers", {})}
    for name, value in arguments.get("cookies", {}).items():
        headers["Cookie"] = f"{name}={value}"
    shown_arguments = {
        key: value for key, value in arguments.items() if key not in {"headers", "cookies"}
    }
    prefix = "" if path.startswith(f"{OPENAI}/") else API
    reply = client.request(method, f"{prefix}{path}", headers=headers, **shown_arguments)
    counts.probes += 1
    counts.statuses[reply.status_code] += 1
    # What was asked may be said again; what was not must not come.
    text = json.dumps(shown_arguments)
    output = (
        reply.text.replace(text, "") if other.word in text or other.word in path else reply.text
    )
    named = other.word in output and other.word not in text and other.word not in path
    if named or (closed and reply.is_success) or (other.word in list_quotes(reply.text)):
        counts.leaks.append(
            f"{tenant.name} -> {other.name}: {method} {path} {shown_arguments} {reply.text[:200]}"
        )


def list_quotes(text: str) -> str:
    """Return the parts of a reply besides the question: hits, quotes, the answer."""
    try:
        payload = json.loads(text)
    except ValueError:
        return ""
    fields = ("answer", "short_answer", "citations", "conflicts", "hits", "documents", "turns")
    return json.dumps([payload.get(name) for name in fields]) if isinstance(payload, dict) else ""


def probe_all(
    client: TestClient,
    requests: Iterable[tuple[Tenant, Tenant, tuple[Any, ...]]],
    counts: ProbeCounts,
) -> None:
    """Send many requests in parallel."""

    def send(request: tuple[Tenant, Tenant, tuple[Any, ...]]) -> ProbeCounts:
        part = ProbeCounts()
        send_probe(client, *request, part)
        return part

    send_all(requests, send, counts)


def run_probes(tenants: int, least: int, seed: int = 0, url: str = "") -> ProbeCounts:
    """Create the tenants, and probe their data at random until there are enough probes.

    Args:
        tenants: The number of tenants.
        least: The least number of probes.
        seed: Draws them.
        url: Of an index on a server, whose workspaces they become; by default an embedded one.
    """
    drawn, counts = random.Random(seed), ProbeCounts()
    with tempfile.TemporaryDirectory() as folder:
        tree = {"index.directory": str(Path(folder) / "index"), "index.url": url, "offline": True}
        settings = parse_settings(tree)
        rooms = _make_tenants(settings, tenants)
        with TestClient(create_app(settings), base_url=ADDRESS) as client:
            for room in rooms:
                prepare_tenant(client, room)
            for room in rooms:  # alone: what a thread finds is made is made once
                client.get(f"{API}/documents", headers=room.headers)
            while counts.probes < least:
                requests = []
                for _ in range(AT_ONCE):
                    first, other = drawn.sample(rooms, 2)
                    candidates = list(list_probes(other))
                    some = candidates if tenants < 10 else drawn.sample(candidates, 10)
                    requests += [(first, other, candidate) for candidate in some]
                probe_all(client, requests, counts)
            for room in rooms:  # nothing of it has been lost to another's hand
                reply = client.get(f"{API}/documents/{room.document}/text", headers=room.headers)
                if room.word not in reply.text:
                    counts.leaks.append(f"{room.name} has lost its document")
    return counts


def _make_tenants(settings: Settings, tenants: int) -> list[Tenant]:
    """Return tenants with a key each and no data."""
    rooms = []
    with Engine(settings) as engine:
        keys = create_key_store(engine.index)
        for number in range(tenants):
            name = f"tenant-{number}"
            scopes: frozenset[Scope] = frozenset({"read", "ingest"})
            _, text = keys.add(Key(id="", name=name, workspace=name, scopes=scopes))
            headers = {"Authorization": f"Bearer {text}"}
            rooms.append(Tenant(name=name, word=make_word(number), headers=headers))
        keys.close()
    return rooms


def main() -> int:
    """Report as JSON."""
    parser = make_parser(__doc__)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--probes", type=int, default=10_000)
    chosen = parser.parse_args()
    begun = time.perf_counter()
    counts = run_probes(chosen.tenants, chosen.probes, chosen.seed, chosen.index)
    return print_report(counts, begun, tenants=chosen.tenants)


if __name__ == "__main__":
    sys.exit(main())
