"""The OpenAPI description, in the words that authors of clients need.

The descriptions of schemas are the docstrings of classes, which describe their fields in a section.
In the OpenAPI description each field has its own description.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi.routing import APIRoute

from fathom.index.base import DocumentSummary, IndexStatus
from fathom.serving.http.api import AskBody
from fathom.serving.http.reply_schemas import ConversationHead, JobReply

BASES: Mapping[str, type] = {
    "AcceptedJob": JobReply,
    "ConversationReply": ConversationHead,
    "IndexStatusReply": IndexStatus,
    "ListedDocumentReply": DocumentSummary,
    "SingleAskBody": AskBody,
}
"""The classes whose fields a schema has too, by the name of the schema."""
_SECTION = re.compile(r"^(Attributes|Args|Returns|Raises):$", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^    (\w+): ", re.MULTILINE)
_PYTHON = {"`None`": "`null`", "`True`": "`true`", "`False`": "`false`"}
"""Values of Python with their names in JSON."""


def name_operation(route: APIRoute) -> str:
    """Return the id of an operation, from which tools make the name of a client's function."""
    return route.name


def describe_fields(schemas: Mapping[str, dict[str, Any]]) -> None:
    """Give each field the description that the docstring of its class has.

    A field that has a description keeps it.

    Args:
        schemas: The schemas by name; their descriptions are docstrings. They are changed in place.
    """
    for name, schema in schemas.items():
        about, attributes = split_docstring(schema.get("description", ""))
        if base := BASES.get(name):
            attributes = {**split_docstring(inspect.getdoc(base) or "")[1], **attributes}
        if about:
            schema["description"] = about
        for field, shape in schema.get("properties", {}).items():
            if field in attributes:
                shape.setdefault("description", attributes[field])


def split_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring before its sections, and the attributes by name."""
    for name, replacement in _PYTHON.items():
        docstring = docstring.replace(name, replacement)
    about, *sections = _SECTION.split(docstring)
    by_heading = dict(zip(sections[::2], sections[1::2], strict=True))
    return about.strip(), dict(_iterate_attributes(by_heading.get("Attributes", "")))


def _iterate_attributes(section: str) -> Iterator[tuple[str, str]]:
    """Yield the names and the descriptions of a section of attributes."""
    _, *parts = _ATTRIBUTE.split(section)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        yield name, " ".join(text.split())
