"""Do tenants of one server see anything of each other? Canaries, and probes of every route.

    python benchmarks/tenants.py --tenants 20 --probes 10000
    python benchmarks/tenants.py --index 'postgresql://ada@db.example/empty'

Each tenant has a document with a word that stands nowhere else, has asked about it, said that the
answer was right, and begun a conversation. Then each asks with the names of the others' documents,
traces, jobs and conversations, for their words, and with every trick to name another workspace: a
reply with another's word, or a success under another's name, is a leak.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from fathom import Engine
from fathom.config import parse_settings
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, Scope, create_key_store
from fathom.settings import Settings

ADDRESS = "http://127.0.0.1:8000"
API = "/api/v1"
AT_ONCE = 8


@dataclass(slots=True)
class Tenant:
    """A tenant with what it has; `word` stands in its document and nowhere else."""

    name: str
    word: str
    headers: dict[str, str]
    document: str = ""
    trace: str = ""
    job: str = ""
    conversation: str = ""


@dataclass(slots=True)
class Found:
    """What came of the probes."""

    probes: int = 0
    leaks: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


def word_of(number: int) -> str:
    """A word that nobody says, of letters alone."""
    return "zor" + "".join("bdfgklmnprstvz"[int(digit)] + "a" for digit in f"{number:04}") + "quil"


def prepared(client: TestClient, tenant: Tenant) -> None:
    """Give a tenant a document, an answer, feedback and a conversation."""
    text = f"# Code of {tenant.name}\n\nThe secret code of the vault is {tenant.word}.\n"
    files = {"files": (f"{tenant.word}.md", text.encode())}
    sent = client.post(f"{API}/documents", files=files, headers=tenant.headers)
    tenant.job = sent.json()["job"]
    while client.get(f"{API}/jobs/{tenant.job}", headers=tenant.headers).json()["state"] != "done":
        time.sleep(0.02)
    listed = client.get(f"{API}/documents", headers=tenant.headers).json()["documents"]
    tenant.document = listed[0]["id"]
    begun = client.post(f"{API}/conversations", json={}, headers=tenant.headers)
    tenant.conversation = begun.json()["id"]
    body = {"question": QUESTION, "conversation": tenant.conversation}
    answer = client.post(f"{API}/ask", json=body, headers=tenant.headers).json()
    if tenant.word not in json.dumps(answer):
        raise SystemExit(f"{tenant.name} is not told its own word: {answer['answer']!r}")
    tenant.trace = answer["trace_id"]
    said = {"trace_id": tenant.trace, "correct": True}
    client.post(f"{API}/feedback", json=said, headers=tenant.headers)


QUESTION = "What is the secret code of the vault?"


def probes(other: Tenant) -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    """Requests for what another tenant has: method, path, arguments, whether success is a leak."""
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
    yield "POST", f"/traces/{other.trace}/replay", {}, True
    yield "DELETE", f"/documents/{other.document}", {}, True
    yield "DELETE", f"/conversations/{other.conversation}", {}, True
    yield "POST", "/feedback", {"json": {"trace_id": other.trace, "correct": False}}, True
    asked: list[dict[str, Any]] = [
        {},
        {"question": "What is the code of the vault of the others?"},
        {"filters": [f"path^=/workspaces/{other.name}"]},
        {"filters": [f"document={other.document}"]},
        {"history": [{"role": "user", "content": other.name}]},
    ]
    for body in asked:
        yield "POST", "/ask", {"json": {"question": QUESTION, **body}}, False
    named: list[dict[str, Any]] = [
        {"workspace": other.name},
        {"conversation": other.conversation},
        {"budget": {"workspace": other.name}},
    ]
    for body in named:
        yield "POST", "/ask", {"json": {"question": QUESTION, **body}}, True
    yield "POST", "/search", {"json": {"query": other.word}}, False
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


def probe(
    client: TestClient, one: Tenant, other: Tenant, made: tuple[Any, ...], found: Found
) -> None:
    """Send one request of a tenant for what another one has."""
    method, path, arguments, closed = made
    headers = {**one.headers, **arguments.get("headers", {})}
    for name, value in arguments.get("cookies", {}).items():
        headers["Cookie"] = f"{name}={value}"
    kept = {key: value for key, value in arguments.items() if key not in {"headers", "cookies"}}
    reply = client.request(method, f"{API}{path}", headers=headers, **kept)
    found.probes += 1
    found.statuses[reply.status_code] += 1
    # What was asked may be said again; what was not must not come.
    text = json.dumps(kept)
    told = reply.text.replace(text, "") if other.word in text or other.word in path else reply.text
    named = other.word in told and other.word not in text and other.word not in path
    if named or (closed and reply.is_success) or (other.word in quotes(reply.text)):
        found.leaks.append(f"{one.name} -> {other.name}: {method} {path} {kept} {reply.text[:200]}")


def quotes(text: str) -> str:
    """What a reply tells beside what was asked: hits, quotes, the answer."""
    try:
        payload = json.loads(text)
    except ValueError:
        return ""
    kept = ("answer", "short_answer", "citations", "conflicts", "hits", "documents", "turns")
    return json.dumps([payload.get(name) for name in kept]) if isinstance(payload, dict) else ""


def probe_all(
    client: TestClient, asked: Iterable[tuple[Tenant, Tenant, tuple[Any, ...]]], found: Found
) -> None:
    """Send many requests, some at a time: most of what one takes it waits for the database."""

    def send(given: tuple[Tenant, Tenant, tuple[Any, ...]]) -> Found:
        own = Found()
        probe(client, *given, own)
        return own

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for own in threads.map(send, asked):
            found.probes += own.probes
            found.leaks += own.leaks
            found.statuses += own.statuses


def run(tenants: int, wanted: int, seed: int = 0, url: str = "") -> Found:
    """Make the tenants, and probe each other's rooms at random until there are enough probes.

    Args:
        tenants: How many.
        wanted: Probes, at least.
        seed: Draws them.
        url: Of an index on a server, whose workspaces they become; by default an embedded one.
    """
    drawn, found = random.Random(seed), Found()
    with tempfile.TemporaryDirectory() as folder:
        given = {"index.directory": str(Path(folder) / "index"), "index.url": url, "offline": True}
        settings = parse_settings(given)
        rooms = _rooms(settings, tenants)
        with TestClient(create_app(settings), base_url=ADDRESS) as client:
            for room in rooms:
                prepared(client, room)
            for room in rooms:  # alone: what a thread finds is made is made once
                client.get(f"{API}/documents", headers=room.headers)
            while found.probes < wanted:
                asked = []
                for _ in range(AT_ONCE):
                    one, other = drawn.sample(rooms, 2)
                    made = list(probes(other))
                    some = made if tenants < 10 else drawn.sample(made, 10)
                    asked += [(one, other, each) for each in some]
                probe_all(client, asked, found)
            for room in rooms:  # nothing of it has been lost to another's hand
                shown = client.get(f"{API}/documents/{room.document}/text", headers=room.headers)
                if room.word not in shown.text:
                    found.leaks.append(f"{room.name} has lost its document")
    return found


def _rooms(settings: Settings, tenants: int) -> list[Tenant]:
    """Tenants with a key each, and nothing else yet."""
    rooms = []
    with Engine(settings) as engine:
        keys = create_key_store(engine.index)
        for number in range(tenants):
            name = f"tenant-{number}"
            scopes: frozenset[Scope] = frozenset({"read", "ingest"})
            _, text = keys.add(Key(id="", name=name, workspace=name, scopes=scopes))
            headers = {"Authorization": f"Bearer {text}"}
            rooms.append(Tenant(name=name, word=word_of(number), headers=headers))
        keys.close()
    return rooms


def main() -> int:
    """Report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--probes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--index", default="", help="the URL of an empty index on a server")
    chosen = parser.parse_args()
    begun = time.perf_counter()
    found = run(chosen.tenants, chosen.probes, chosen.seed, chosen.index)
    told = {
        "tenants": chosen.tenants,
        "probes": found.probes,
        "leaks": found.leaks[:20],
        "leaked": len(found.leaks),
        "statuses": dict(sorted(found.statuses.items())),
        "seconds": round(time.perf_counter() - begun, 1),
    }
    print(json.dumps(told, indent=1))
    return 1 if found.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
