"""The comparison of replies with the OpenAPI description of the application that gave them."""

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from jsonschema import Draft202012Validator

JSON_TYPES = ("application/json", "application/problem+json")


class DescribedReplies:
    """The description of an application, with which each reply is compared."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._validators: dict[int, Draft202012Validator] = {}

    def watch(self, client: TestClient) -> None:
        """Check every reply that a client gets."""
        client.event_hooks = {"request": [], "response": [self.check]}

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
            reasons = [f"{fault.json_path}: {fault.message[:300]}" for fault in faults]
            assert not reasons, f"{place}: {reasons}"

    @cached_property
    def _description(self) -> Any:
        description = deepcopy(self._app.openapi())
        _forbid_more(description["components"]["schemas"])
        return description

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], Any]]:
        """The patterns of paths with their operations, the most special ones first."""
        paths: Mapping[str, Any] = self._description["paths"]
        ordered = sorted(paths, key=lambda path: -len(re.sub(r"\{[^}]*\}", "", path)))
        return [(_compile_path(path), paths[path]) for path in ordered]

    def _find_replies(self, method: str, path: str) -> Any:
        """Return the described replies of a request; `None` if it is not described."""
        for pattern, operations in self._patterns:
            if pattern.fullmatch(path) and method in operations:
                return operations[method]["responses"]
        return None

    def _get_validator(self, schema: Any) -> Draft202012Validator:
        """Return the validator of a schema, which is made once."""
        if id(schema) not in self._validators:
            whole = {**schema, "components": self._description["components"]}
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
