"""Secrets of the process, planted at its entries and repeated by callers, appear at no exit."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from tests.scripted_acts import ReceivedRequest, Wire
from tests.scripted_server import says, serve, status
from tests.serving.http.conftest import make_settings, open_client
from tests.serving.http.test_document_routes import wait_for_job

from fathom.agents.web.engines import load_web_engine
from fathom.errors import FathomError, UsageError
from fathom.index.postgres.address import Address
from fathom.index.qdrant.address import parse_qdrant_address
from fathom.llm.embeddings import resolve_embedding_endpoint
from fathom.llm.endpoint import check_url, resolve_endpoint
from fathom.redaction import REDACTED, open_log
from fathom.serving.cli.errors import report_error
from fathom.serving.http.app import create_app

Plant = Callable[[str], object]
Carrier = Callable[[TestClient, str], Response]
QUESTION = "How thick is the bitumen emulsion?"
NO_CALLS = {"max_calls": 0}


def refuse_url(secret: str) -> None:
    with suppress(UsageError):
        check_url(f"https://me:{secret}@host/v1")


def plant_model_key(name: str) -> Plant:
    return lambda secret: resolve_endpoint(name, key_env="KEY", environment={"KEY": secret})


def plant_web_key(name: str) -> Plant:
    return lambda secret: load_web_engine(name, key_env="KEY", environment={"KEY": secret})


ENTRIES: dict[str, Plant] = {
    "openai": plant_model_key("openai:m"),
    "groq": plant_model_key("groq:m"),
    "anthropic": plant_model_key("anthropic:m"),
    "embedding": lambda secret: resolve_embedding_endpoint(
        "openai:e", key_env="KEY", environment={"KEY": secret}
    ),
    "tavily": plant_web_key("tavily"),
    "brave": plant_web_key("brave"),
    "qdrant": lambda secret: parse_qdrant_address(
        "https://host:6333", key_env="KEY", environment={"KEY": secret}
    ),
    "password": lambda secret: Address.from_url(f"postgresql://me:{secret}@host/base"),
    "libpq": lambda secret: Address.from_url(f"postgresql://host/base?password={secret}"),
    "url": refuse_url,
}


def post_json(path: str, **body: object) -> Carrier:
    """Return a carrier that posts JSON in which `SECRET` stands for the secret."""
    text = json.dumps(body)
    headers = {"Content-Type": "application/json"}
    return lambda client, secret: client.post(
        path, content=text.replace("SECRET", secret), headers=headers
    )


def get_path(path: str) -> Carrier:
    return lambda client, secret: client.get(path.replace("SECRET", quote(secret)))


def upload(name: str, content: str) -> Carrier:
    def carry(client: TestClient, secret: str) -> Response:
        file = (name.replace("SECRET", secret), content.replace("SECRET", secret).encode())
        return client.post("/api/v1/documents", files={"files": file})

    return carry


CARRIERS: dict[str, Carrier] = {
    "question": post_json("/api/v1/ask", question=f"{QUESTION} SECRET"),
    "stream": post_json("/api/v1/ask/stream", question=f"{QUESTION} SECRET", budget=NO_CALLS),
    "strategy": post_json("/api/v1/ask", question=QUESTION, strategy="SECRET"),
    "filter": post_json("/api/v1/ask", question=QUESTION, filters=["SECRET=1"]),
    "effort": post_json("/api/v1/ask", question=QUESTION, effort="SECRET"),
    "history": post_json(
        "/api/v1/ask",
        question=QUESTION,
        history=[{"role": "user", "content": "Who is SECRET?"}],
        budget=NO_CALLS,
    ),
    "conversation": post_json("/api/v1/ask", question=QUESTION, conversation="SECRET"),
    "search": post_json("/api/v1/search", query="bitumen SECRET"),
    "feedback": post_json("/api/v1/feedback", trace_id="SECRET", rating="up"),
    "address": post_json("/api/v1/documents/from-url", url="https://me:SECRET@host.invalid/"),
    "chat": post_json(
        "/v1/chat/completions",
        model="fathom",
        messages=[{"role": "user", "content": f"{QUESTION} SECRET"}],
    ),
    "responses": post_json("/v1/responses", model="fathom-SECRET", input=QUESTION),
    "vectors": post_json("/v1/embeddings", model="SECRET", input="x"),
    "store": post_json("/v1/vector_stores", name="SECRET"),
    "trace": get_path("/api/v1/traces/SECRET"),
    "document": get_path("/api/v1/documents/SECRET"),
    "route": get_path("/SECRET"),
    "file": get_path("/v1/files/SECRET"),
    "name": upload("SECRET.txt", "A note."),
    "text": upload("note.txt", "The fee of SECRET is 9 crowns."),
}
READ = (
    "/metrics", "/api/v1/status", "/api/v1/traces", "/api/v1/documents", "/api/v1/jobs",
    "/api/v1/conversations", "/v1/files", "/v1/vector_stores", "/openapi.json", "/",
)  # fmt: skip
"""Exits that are read once everything is planted."""


async def repeat_the_request(request: ReceivedRequest, wire: Wire) -> None:
    """Answer as a hostile server of models: every other time with an error, and all that it got."""
    text = f"{request.headers} {json.dumps(request.body)}"
    await says(text)(request, wire) if len(text) % 2 else await status(401, text)(request, wire)


@pytest.fixture
def client(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("MODEL_KEY", "canary-of-the-model")
    with serve(*[repeat_the_request] * 500) as server:
        settings = make_settings(
            corpus,
            tmp_path,
            **{
                "offline": False,
                "llm.model": "openai:m",
                "llm.base_url": server.base_url,
                "llm.key_env": "MODEL_KEY",
                "ask.strategy": "naive",
                # Each secret makes another question, and what is read of it is no matter here.
                "ask.chunks": 1,
            },
        )
        with open_client(create_app(settings)) as client:
            yield client


def list_exits(client: TestClient, replies: list[Response]) -> Iterator[str]:
    """Yield everything that left the server: replies with their heads, lists, traces, answers."""
    for reply in replies:
        yield f"{reply.headers} {reply.text}"
    for path in READ:
        yield client.get(path).text
    for trace in client.get("/api/v1/traces?limit=100").json()["traces"]:
        for path in (f"/api/v1/traces/{trace['id']}", f"/api/v1/answers/{trace['id']}"):
            yield client.get(path).text


def is_ours(record: logging.LogRecord) -> bool:
    """Return whether a line of the log is the server's, rather than the client's."""
    return record.name.partition(".")[0] in {"fathom", "uvicorn", "asyncio"}


@pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(7, id="a part")]
)
def test_no_planted_secret_appears_at_any_exit(
    step: int,
    client: TestClient,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    count_probes: Callable[[int], None],
) -> None:
    caplog.set_level(logging.INFO)
    planted: list[str] = ["canary-of-the-model"]
    replies: list[Response] = []
    for place, (entry, plant) in enumerate(ENTRIES.items()):
        # Each carrier serves some of the entries in a part, too.
        for name, carry in list(CARRIERS.items())[place % step :: step]:
            secret = f"canary-{entry}-{name}-7d1f"
            plant(secret)
            planted.append(secret)
            count_probes(1)
            replies.append(carry(client, secret))
            error = FathomError(f"refused {secret}")
            report_error(error, as_json=True)
            open_log("fathom.serving").error("%s", secret, exc_info=ValueError(secret))
    assert len(planted) == 1 + len(replies)
    assert step > 1 or len(planted) == 201
    logs = [caplog.handler.format(record) for record in caplog.records if is_ours(record)]
    exits = [*list_exits(client, replies), *logs, *capsys.readouterr()]
    stored = [file.read_bytes() for file in tmp_path.rglob("*trace*") if file.is_file()]
    text = "\n".join(exits)
    assert [secret for secret in planted if secret in text] == []
    assert [secret for secret in planted if any(secret.encode() in data for data in stored)] == []
    assert text.count(REDACTED) >= len(planted)  # the exits were reached


def test_files_are_sent_as_they_are(client: TestClient) -> None:
    secret = "canary-in-a-file-7d1f"
    plant_model_key("openai:m")(secret)
    sent = upload("note.txt", f"The fee is 9 crowns. {secret}")(client, secret)
    wait_for_job(client, sent.json()["job"])
    (name,) = (
        document["id"]
        for document in client.get("/api/v1/documents?limit=100").json()["documents"]
        if document["path"].endswith("note.txt")
    )
    assert secret in client.get(f"/api/v1/documents/{name}/file").text
