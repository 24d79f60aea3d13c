"""Links lead to where the page is, as who asks can open it."""

from pathlib import Path

from fastapi.testclient import TestClient
from tests.serving.http.openai.conftest import QUESTION

from fathom.config import parse_settings
from fathom.serving.http.app import create_app


def test_links_lead_to_the_address_that_was_asked_or_to_the_public_one(corpus: Path) -> None:
    body = {"model": "fathom-naive", "messages": [{"role": "user", "content": QUESTION}]}
    for public, base in (("", "http://localhost:8123/"), ("https://a.org/f", "https://a.org/f/")):
        given = {"index.directory": str(corpus), "serve.public_url": public, "trace.enabled": False}
        app = create_app(parse_settings({**given, "offline": True}))
        with TestClient(app, base_url="http://localhost:8123") as client:
            message = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
        url = message["annotations"][0]["url_citation"]["url"]
        assert url.startswith(f"{base}#/documents/")
        assert f"]({url})" in message["content"]
