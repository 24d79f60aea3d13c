"""The native API: fathom.serving.http.api, with what every request goes through:
fathom.serving.http.dependencies, fathom.serving.http.problems, fathom.serving.http.streams,
fathom.serving.http.health, fathom.serving.http.workspaces, fathom.serving.http.access,
fathom.serving.http.jobs, fathom.serving.http.admission, fathom.serving.http.asking,
fathom.serving.http.guard, fathom.serving.http.keys, fathom.serving.http.idempotency,
fathom.serving.http.conversations, fathom.serving.http.talks, fathom.serving.http.telling,
fathom.serving.http.uploads, fathom.serving.http.metrics, fathom.settings.serve,
fathom.serving.http.database,
fathom.serving.http.running, fathom.serving.cli.serve; and the places of
fathom.serving.http.openai and fathom.serving.http.page."""

import json
from typing import Any

from fastapi.testclient import TestClient

QUESTION = "Where is bitumen emulsion stored?"


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream: name and data."""
    found = []
    for frame in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_a_question_is_answered_with_a_quote_that_stands_in_its_document(
    client: TestClient,
) -> None:
    answer = client.post("/api/v1/ask", json={"question": QUESTION}).json()
    assert answer["status"] == "answered"
    assert "Depot North, bay 5" in answer["answer"]
    cited = answer["citations"][0]
    place = f"/api/v1/documents/{cited['document']}/text"
    text = client.get(place, params={"start": cited["start"], "end": cited["end"]}).text
    assert text == cited["quote"]
