"""The comparison of replies with the OpenAPI description of the application."""

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from jsonschema_rs import Draft202012Validator

from fathom.serving.http.app import create_app
from fathom.settings import Settings

JSON_TYPES = ("application/json", "application/problem+json")


def check_replies(client: TestClient) -> None:
    """Compare every reply that a client gets with the description."""
    client.event_hooks = {"request": [], "response": [describe_replies().check]}


@cache
def describe_replies() -> "DescribedReplies":
    """Return the described replies, which are the same for all settings of an application."""
    return DescribedReplies(create_app(Settings()))


class DescribedReplies:
    """The replies that the description of an application allows."""

    def __init__(self, app: FastAPI) -> None:
        description = deepcopy(app.openapi())
        _forbid_more(description["components"]["schemas"])
        self._components = description["components"]
        paths: Mapping[str, Any] = description["paths"]
        # A path may fit several patterns; the most special one counts.
        ordered = sorted(paths, key=lambda path: -len(re.sub(r"\{[^}]*\}", "", path)))
        self._patterns = [(_compile_path(path), paths[path]) for path in ordered]
        self._validators: dict[int, Draft202012Validator] = {}

    def check(self, response: Response) -> None:
        """Compare a reply with its description, which must name each of its fields."""
        request, status = response.request, response.status_code
        replies = self._find_replies(request.method.lower(), request.url.path)
        if replies is None or status == 204:
            return
        content = replies.get(str(status), replies["default"]).get("content", {})
        media_type = response.headers.get("content-type", "").partition(";")[0]
        place = f"{request.method} {request.url.path} {status}"
        # A file without a described type has its own.
        assert media_type in content or not content, f"{place} is {media_type}"
        if media_type in JSON_TYPES:
            response.read()
            faults = self._get_validator(content[media_type]["schema"]).iter_errors(response.json())
            reasons = [f"{fault.instance_path}: {fault.message[:300]}" for fault in faults]
            assert not reasons, f"{place}: {reasons}"

    def _find_replies(self, method: str, path: str) -> Any:
        """Return the described replies of a request; `None` if it is not described."""
        for pattern, operations in self._patterns:
            if pattern.fullmatch(path) and method in operations:
                return operations[method]["responses"]
        return None

    def _get_validator(self, schema: Any) -> Draft202012Validator:
        """Return the validator of a schema, which is made once."""
        if id(schema) not in self._validators:
            whole = {**schema, "components": self._components}
            self._validators[id(schema)] = Draft202012Validator(whole)
        return self._validators[id(schema)]


def _compile_path(path: str) -> re.Pattern[str]:
    """Return the pattern of a described path; only ids of documents have slashes."""
    pattern = re.escape(path).replace(r"\{document_id\}", ".+")
    return re.compile(re.sub(r"\\\{.*?\\\}", "[^/]+", pattern))


def _forbid_more(schemas: Mapping[str, Any]) -> None:
    """Forbid the fields that the schemas of objects do not name."""
    for schema in schemas.values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
