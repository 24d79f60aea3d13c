"""Requests within the OpenAPI description never cause a server error."""

from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as examples

from fathom.config import parse_settings
from fathom.serving.http.app import create_app

EACH = 6
PATIENCE_S = 300
"""The seconds for a reply: more than a busy machine takes, as the test is about errors."""


def test_no_described_request_breaks_the_server(tmp_path: Path) -> None:
    given_names = {"serve.allowed_hosts": ["testserver"], "offline": True}
    settings = parse_settings({"index.directory": str(tmp_path / "index"), **given_names})
    app = create_app(settings)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    statuses = {}
    for described in schema.get_all_operations():
        operation: Any = described.ok()  # type: ignore[union-attr]  # or it raises
        statuses[operation.label] = collect_statuses(operation)
    assert len(statuses) >= 30
    assert {name: codes for name, codes in statuses.items() if max(codes) >= 500} == {}


def collect_statuses(operation: Any) -> set[int]:
    """Return the statuses of some requests that the description allows."""
    codes: set[int] = set()

    @examples(
        max_examples=EACH,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def try_request(case: Any) -> None:
        codes.add(case.call(timeout=PATIENCE_S).status_code)

    try_request()
    return codes
