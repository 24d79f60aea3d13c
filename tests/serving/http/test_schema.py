"""Requests within the OpenAPI description never cause a server error."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as examples
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import ensure_resource_availability, use_after_free

from fathom.config import parse_settings
from fathom.serving.http.app import create_app
from fathom.serving.http.trusted_proxy import TrustedProxy
from fathom.settings import Settings

EACH = 6
PATIENCE_S = 300
"""The seconds for a reply: more than a busy machine takes, as the test is about errors."""
SEQUENCES = int(os.environ.get("SEQUENCES", "4"))
SEED = int(os.environ.get("SEED", "0"))
FOLLOWING = (
    ("post /api/v1/ask 200", "/trace_id", "/api/v1/answers/", "/api/v1/traces/"),
    ("get /api/v1/traces 200", "/traces/0/id", "/api/v1/answers/", "/api/v1/traces/"),
    ("post /api/v1/conversations 201", "/id", "/api/v1/conversations/"),
    ("get /api/v1/documents 200", "/documents/0/id", "/api/v1/documents/"),
    ("post /api/v1/documents 202", "/id", "/api/v1/jobs/"),
    ("post /v1/responses 200", "/id", "/v1/responses/"),
    ("get /v1/files 200", "/data/0/id", "/v1/files/"),
    ("post /v1/vector_stores 200", "/id", "/v1/vector_stores/"),
)
"""A reply, the place of an id in it, and the paths that take the id as their first parameter."""
SEQUENCE = examples(
    max_examples=2,
    stateful_step_count=15,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""The least sequence, then one that is drawn."""
CHECKS = (not_a_server_error, use_after_free, ensure_resource_availability)
"""No error of the server; what was deleted is gone, and what was made is there."""


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


def test_each_reply_of_our_own_routes_is_described(tmp_path: Path) -> None:
    description = create_app(parse_settings({"index.directory": str(tmp_path)})).openapi()
    schemas = {
        f"{method} {path}": reply["content"]["application/json"]["schema"]
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
        for status, reply in operation["responses"].items()
        if status.startswith("2") and "application/json" in reply.get("content", {})
    }
    # OpenAI describes the others.
    ours = {name: schema for name, schema in schemas.items() if " /v1/" not in name}
    assert len(ours) >= 25
    assert [name for name, schema in ours.items() if not {"$ref", "anyOf"} & {*schema}] == []


def test_descriptions_are_for_authors_of_clients(settings: Settings) -> None:
    description = create_app(settings).openapi()
    schemas = description["components"]["schemas"]
    texts = [*collect_descriptions(description)]
    assert len(texts) >= 300
    # Docstrings have these words for readers of the code.
    parts = ("Attributes:", "Raises:", "Args:", "`None`", "`True`", "dataclass")
    assert [text for text in texts if any(part in text for part in parts)] == []
    answer = schemas["Answer"]
    assert answer["description"].startswith("The outcome of a question")
    assert [
        name for name, field in answer["properties"].items() if "description" not in field
    ] == []
    # A field that a schema has from another one is described there.
    for name, field in (
        ("AcceptedJob", "stage"), ("IndexStatusReply", "lacking"),
        ("ListedDocumentReply", "updated"), ("SingleAskBody", "effort"), ("ProblemReply", "next"),
    ):  # fmt: skip
        assert schemas[name]["properties"][field]["description"]


def test_operations_have_the_names_of_functions(settings: Settings) -> None:
    paths = create_app(settings).openapi()["paths"]
    names = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len({*names}) == len(names)
    assert {"ask", "search", "get_document", "upload_documents", "create_vector_store"} <= {*names}
    assert [name for name in names if re.search(r"_api_|_v1_|_post$|_get$", name)] == []


def collect_descriptions(value: Any) -> Iterator[str]:
    """Yield all descriptions and summaries of an OpenAPI description."""
    if isinstance(value, dict):
        yield from (
            text for name in ("description", "summary") if isinstance(text := value.get(name), str)
        )
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from collect_descriptions(child)


def test_every_application_has_the_same_description(settings: Settings) -> None:
    # The comparison of replies with the description is made once for all of them.
    proxy = TrustedProxy(user_header="X-User", secret="a secret of the proxy")
    described = create_app(settings, audit_days=1.0, sign_on=proxy).openapi()
    assert described == create_app(Settings()).openapi()


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


def test_no_sequence_of_described_requests_breaks_the_server(
    settings: Settings,
    live: Callable[[FastAPI], AbstractContextManager[str]],
    record_property: Callable[[str, object], None],
) -> None:
    app = create_app(settings)
    describe_following(app)
    with live(app) as address:
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
        # Guesses by names take the id of a job for that of a document.
        schema.config.phases.stateful.inference.algorithms = []
        statuses = collect_sequence_statuses(schema)
    counts = Counter(code // 100 for codes in statuses.values() for code in codes)
    record_property("probes", counts.total())
    assert len(statuses) >= 10
    assert counts[2] >= SEQUENCES
    assert counts[5] == 0


def describe_following(app: FastAPI) -> None:
    """Add to the description of an application which requests take an id from a reply."""
    paths = app.openapi()["paths"]
    for reply, place, *beginnings in FOLLOWING:
        method, producer, status = reply.split()
        links = paths[producer][method]["responses"][status].setdefault("links", {})
        for path, operations in paths.items():
            beginning, _, rest = path.partition("{")
            name, _, more = rest.partition("}")
            if beginning not in beginnings or "{" in more:
                continue
            # The bodies of other requests name further things, which may not exist.
            for operation in [operations[verb] for verb in ("get", "delete") if verb in operations]:
                links[operation["operationId"]] = {
                    "operationId": operation["operationId"],
                    "parameters": {name: f"$response.body#{place}"},
                }


def collect_sequence_statuses(schema: Any) -> dict[str, list[int]]:
    """Return the statuses of each operation in sequences that go on with what replies name."""
    statuses: dict[str, list[int]] = {}

    class Sequences(schema.as_state_machine()):  # type: ignore[misc]  # made for the description
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"timeout": PATIENCE_S}

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            statuses.setdefault(case.operation.label, []).append(response.status_code)
            case.validate_response(response, checks=[*CHECKS], recorder=self.recorder)

    for number in range(SEQUENCES):
        # Ids differ from run to run, so that examples of one run need not repeat each other.
        with suppress(FlakyStrategyDefinition):
            seed(SEED * SEQUENCES + number)(Sequences).run(settings=SEQUENCE)
    return statuses
