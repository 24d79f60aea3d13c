"""Schemas of replies that leave a model little room: nothing left out, nothing without end.

A field says with `OneOf` that it names something that the prompt shows, with `EachOf` that it
holds one item for each of those (which there are is known when it is asked), and with `AtMost` how
long it may be. What servers do not enforce is read with more patience than the schema shows: a
number that names nothing is left out by its role, and a text a little too long is no fault.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Choices = Mapping[str, Sequence[int | float | str]]
"""What there is to choose from, by the name that fields know it by."""
KindT = TypeVar("KindT", bound=BaseModel)

_ONE_OF = "x-one-of"
_EACH_OF = "x-each-of"
_IDLE = frozenset({"title", "description", "default", "$defs", "properties"})
_LONGEST_WORD = len("false")  # or a number, or null
_SHORTEST_TEXT = 40
_BOUNDS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern"}
)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A number or a text that is one of the choices of this name: `Annotated[int, OneOf("chunk")]`.

    Servers that know schemas enforce it; what a reply names beyond them the role leaves out.
    """

    name: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Marks the field, as the choices are known later."""
        return {**handler(core), _ONE_OF: self.name}


@dataclass(frozen=True, slots=True)
class EachOf:
    """A list with one item for each of the choices of this name, in their order."""

    name: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Marks the field, as the choices are known later."""
        return {**handler(core), _EACH_OF: self.name}


@dataclass(frozen=True, slots=True)
class AtMost:
    """So many characters of a text or items of a list are asked for, and not less than `least`."""

    most: int
    least: int = 0

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Bounds the schema alone."""
        made = handler(core)
        unit = "Items" if made.get("type") == "array" else "Length"
        least = {f"min{unit}": self.least} if self.least else {}
        return {**made, **least, f"max{unit}": self.most}


def numbers(count: int) -> tuple[int, ...]:
    """The numbers of what a prompt shows, from 1."""
    return tuple(range(1, count + 1))


def schema_of(kind: type[BaseModel], choices: Choices) -> dict[str, Any]:
    """The JSON schema of a reply: short, without references, every property required.

    Args:
        kind: What the reply is read as; its name becomes the title.
        choices: What its fields may name.

    Raises:
        KeyError: If a field names choices that are not given.
    """
    whole = kind.model_json_schema()
    return {"title": whole["title"], **_closed(whole, whole.get("$defs", {}), choices)}


def within(schema: Mapping[str, Any], characters: int) -> dict[str, Any]:
    """The schema, its bounds lowered until no reply that fits is longer than so many characters.

    Lists lose items first, outer ones before inner ones, then texts become shorter. What may be
    shortened no further is left as it is, and so is what has no bound.
    """
    made = dict(schema)
    while longest(made) > characters:
        shorter = _with_fewer(made)
        if shorter == made:
            shorter = _with_shorter(made)
        if shorter == made:
            break
        made = shorter
    return made


def longest(schema: Mapping[str, Any]) -> int:
    """Characters of the longest reply that fits, written without blanks.

    Texts without a bound count as little more than nothing.
    """
    if "enum" in schema:
        return max((len(json.dumps(each)) for each in schema["enum"]), default=0)
    if "anyOf" in schema:
        return max(map(longest, schema["anyOf"]))
    if "properties" in schema:
        named = schema["properties"].items()
        return 1 + sum(len(name) + len('"":,') + longest(part) for name, part in named)
    if "items" in schema:
        return 2 + int(schema.get("maxItems", 0)) * (1 + longest(schema["items"]))
    if "maxLength" in schema:
        return 2 + int(schema["maxLength"])
    return _LONGEST_WORD


def _with_fewer(part: dict[str, Any]) -> dict[str, Any]:
    """One item less in the outermost lists of more than numbers."""
    if "items" in part and "enum" not in part["items"]:
        least = max(1, part.get("minItems", 0))
        if part.get("maxItems", 0) > least:
            return {**part, "maxItems": part["maxItems"] - 1}
    return _inside(part, _with_fewer)


def _with_shorter(part: dict[str, Any]) -> dict[str, Any]:
    """Three quarters of each text's length."""
    if "maxLength" in part:
        least = max(_SHORTEST_TEXT, part.get("minLength", 0))
        most = max(part["maxLength"] * 3 // 4, min(least, part["maxLength"]))
        return {**part, "maxLength": most}
    return _inside(part, _with_shorter)


def _inside(part: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """The schema with all schemas right inside it changed."""
    made = dict(part)
    if "properties" in part:
        made["properties"] = {name: change(each) for name, each in part["properties"].items()}
    if "items" in part:
        made["items"] = change(part["items"])
    if "anyOf" in part:
        made["anyOf"] = [change(each) for each in part["anyOf"]]
    return made


def unbounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without bounds of lengths and sizes, which some servers do not know."""
    return {name: _each(part, unbounded) for name, part in schema.items() if name not in _BOUNDS}


def _closed(part: Any, names: Mapping[str, Any], choices: Choices) -> dict[str, Any]:  # noqa: ANN401
    if "$ref" in part:
        return _closed(names[part["$ref"].rpartition("/")[2]], names, choices)
    if _ONE_OF in part:
        return {"enum": list(choices[part[_ONE_OF]])}
    made = {
        name: _each(value, lambda inner: _closed(inner, names, choices))
        for name, value in part.items()
        if name not in _IDLE
    }
    if "properties" in part:
        made["properties"] = {
            name: _closed(value, names, choices) for name, value in part["properties"].items()
        }
        made["required"] = list(part["properties"])
    if part.get("type") == "array":
        made |= _sizes(part, choices)
    made.pop(_EACH_OF, None)
    return made


def _sizes(part: Mapping[str, Any], choices: Choices) -> dict[str, Any]:
    """How many items a list has: one for each choice, or at most so many as there are."""
    if _EACH_OF in part:
        count = len(choices[part[_EACH_OF]])
        return {"minItems": count, "maxItems": count}
    named = part["items"].get(_ONE_OF)
    if named is None:
        return {}
    count = len(choices[named])
    most = min(count, part.get("maxItems", count))
    sizes: dict[str, Any] = {"maxItems": most}
    if not count:
        sizes["items"] = {}
    return sizes


def _each(value: Any, change: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return change(value)
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    return value
