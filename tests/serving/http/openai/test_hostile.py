"""Documents whose ids, titles and words try to execute or link elsewhere, asked by a chat
client.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from markdown_it import MarkdownIt
from tests.serving.http.openai.test_escaping import ACTIVE
from tests.serving.http.payloads import PAYLOADS

from fathom import Engine
from fathom.config import parse_settings
from fathom.documents.record_ids import check_record_id
from fathom.serving.http.app import create_app

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HARBOURS = range(0, len(PAYLOADS), 3)
PAGE = "http://127.0.0.1:8000/#/documents/"


@pytest.fixture(scope="module")
def hostile_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Yield documents with three payloads each: in the id, the title, and the answering
    sentence.
    """
    folder = tmp_path_factory.mktemp("hostile")
    records = (
        {
            "_id": name_record(at),
            "title": f"Harbour {at} {PAYLOADS[at + 1]}",
            "text": f"The fee of harbour {at} is {at + 100} crowns {PAYLOADS[at + 2]} for a boat.",
        }
        for at in HARBOURS
    )
    lines = "\n".join(json.dumps(record) for record in records)
    Path(folder / "harbours.jsonl").write_text(f"{lines}\n", encoding="utf-8")
    tree = {"index.directory": str(folder / "index"), "offline": True, "ask.chunks": 1}
    with Engine(parse_settings(tree)) as engine:
        engine.ingest([folder / "harbours.jsonl"])
    app = create_app(parse_settings(tree))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


def name_record(at: int) -> str:
    """Return the payload as an id where ids may look so, else a plain id."""
    name = f"{at} {PAYLOADS[at]}"
    try:
        check_record_id(name)
    except ValueError:
        return str(at)
    return name


@pytest.mark.parametrize("at", HARBOURS)
def test_text_of_a_document_stays_text(hostile_app: TestClient, at: int) -> None:
    question = {"role": "user", "content": f"What is the fee of harbour {at} for a boat?"}
    body = {"model": "fathom-naive", "messages": [question]}
    reply = hostile_app.post("/v1/chat/completions", json=body)
    assert reply.headers["content-type"] == "application/json"
    message = reply.json()["choices"][0]["message"]
    tokens = [
        token
        for block in RENDERER.parse(message["content"])
        for token in (block, *(block.children or ()))
    ]
    cited = [annotation["url_citation"]["url"] for annotation in message["annotations"]]
    assert cited
    assert all(url.startswith(PAGE) for url in cited)
    assert [token.attrs["href"] for token in tokens if token.type == "link_open"] == cited
    assert not {token.type for token in tokens} & (ACTIVE - {"link_open"})
    quotes = [citation["quote"] for citation in reply.json()["fathom"]["citations"]]
    assert any(str(at) in quote for quote in quotes)
