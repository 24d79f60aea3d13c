"""Strategies and efforts as models; also fathom.serving.http.openai.bodies."""

from fastapi.testclient import TestClient

from fathom.registry import STRATEGIES
from fathom.serving.http.api import EFFORTS
from fathom.serving.http.openai.models import Choice, get_choice, list_choices


def test_every_strategy_and_effort_is_a_model(client: TestClient) -> None:
    listed = client.get("/v1/models").json()
    assert listed["object"] == "list"
    names = {model["id"]: model for model in listed["data"]}
    for strategy in STRATEGIES:
        assert {f"fathom-{strategy}", f"fathom-{strategy}-low", f"fathom-{strategy}-high"} <= set(
            names
        )
    assert names["fathom-anchor-low"]["name"] == "Fathom anchor, low effort"
    assert "fathom-medium" not in names
    for name, title in names.items():
        assert client.get(f"/v1/models/{name}").json() == title


def test_a_model_name_combines_strategy_and_effort() -> None:
    assert get_choice("fathom") == Choice()
    assert get_choice("fathom-medium") == Choice(effort="medium")
    assert get_choice("fathom-paper-mao") == Choice(paper="mao")
    assert get_choice("fathom-maf-high") == Choice(strategy="maf", effort="high")
    assert len(list_choices()) >= (len(STRATEGIES) + 1) * (len(EFFORTS) + 1)


def test_an_unknown_model_is_an_error_in_openais_format(client: TestClient) -> None:
    reply = client.get("/v1/models/gpt-4")
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "model_not_found"
    assert "fathom" in reply.json()["error"]["message"]
