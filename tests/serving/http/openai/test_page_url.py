"""Links lead to the page under an address that the client can open."""

from pathlib import Path

from fastapi.testclient import TestClient
from tests.serving.http.openai.conftest import QUESTION

from fathom.config import parse_settings
from fathom.serving.http.app import create_app


def test_links_use_the_requested_or_the_public_address(corpus: Path) -> None:
    body = {"model": "fathom-naive", "messages": [{"role": "user", "content": QUESTION}]}
    for public, base in (("", "http://localhost:8123/"), ("https://a.org/f", "https://a.org/f/")):
        tree = {"index.directory": str(corpus), "serve.public_url": public, "trace.enabled": False}
        app = create_app(parse_settings({**tree, "offline": True}))
        with TestClient(app, base_url="http://localhost:8123") as client:
            message = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
        url = message["annotations"][0]["url_citation"]["url"]
        assert url.startswith(f"{base}#/documents/")
        assert f"]({url})" in message["content"]
