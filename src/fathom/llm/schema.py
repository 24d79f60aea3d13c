"""Schemas of replies that leave a model little freedom: all properties required, all sizes bounded.

A field says with `OneOf` that it names a thing that the prompt shows, with `EachOf` that it holds
one item for each of those things (which are known when the request is made), and with `AtMost` how
long it may be. Servers do not enforce everything, so replies are read with more patience than the
schema shows: the role drops a number that names nothing, and accepts a text that is a little too
long.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Choices = Mapping[str, Sequence[int | float | str]]
"""The values to choose from, by the name that fields use for them."""
KindT = TypeVar("KindT", bound=BaseModel)

_ONE_OF = "x-one-of"
_EACH_OF = "x-each-of"
_IDLE = frozenset({"title", "description", "default", "$defs", "properties"})
_LONGEST_WORD = len("false")  # the estimate for a number or null too
_SHORTEST_TEXT = 40
_BOUNDS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern"}
)


@dataclass(frozen=True, slots=True)
class _ChoiceMark:
    """A mark of a field, by the name of choices that are known only later."""

    name: str
    _key: ClassVar[str]

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the mark to the field's schema."""
        return {**handler(core), self._key: self.name}


class OneOf(_ChoiceMark):
    """A field that is one of the choices of this name: `Annotated[int, OneOf("chunk")]`.

    Servers that know schemas enforce it. The role drops anything else that a reply names.
    """

    _key = _ONE_OF


class EachOf(_ChoiceMark):
    """A list with one item for each of the choices of this name, in their order."""

    _key = _EACH_OF


@dataclass(frozen=True, slots=True)
class AtMost:
    """A text of at most `most` characters, or a list of so many items, and at least `least`."""

    most: int
    least: int = 0

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Bound the schema alone; validation accepts more."""
        schema = handler(core)
        unit = "Items" if schema.get("type") == "array" else "Length"
        least = {f"min{unit}": self.least} if self.least else {}
        return {**schema, **least, f"max{unit}": self.most}


def number_items(count: int) -> tuple[int, ...]:
    """Return the numbers of the items that a prompt shows, from 1."""
    return tuple(range(1, count + 1))


def build_schema(kind: type[BaseModel], choices: Choices) -> dict[str, Any]:
    """Return the JSON schema of a reply: short, without references, with every property required.

    Args:
        kind: The type of the reply; its name becomes the title.
        choices: The values that its fields may name.

    Raises:
        KeyError: If a field names choices that are not given.
    """
    whole = kind.model_json_schema()
    return {"title": whole["title"], **_close_schema(whole, whole.get("$defs", {}), choices)}


def shrink_schema(schema: Mapping[str, Any], characters: int) -> dict[str, Any]:
    """Return the schema with bounds so low that no fitting reply is longer than `characters`.

    Lists lose items first, outer lists before inner ones; then texts become shorter. A text or list
    at its minimum stays as it is, and so does one without a bound.
    """
    reduced = dict(schema)
    while measure_longest_reply(reduced) > characters:
        smaller = _drop_item(reduced)
        if smaller == reduced:
            smaller = _shorten_texts(reduced)
        if smaller == reduced:
            break
        reduced = smaller
    return reduced


def measure_longest_reply(schema: Mapping[str, Any]) -> int:
    """Return the number of characters of the longest fitting reply, written without blanks.

    A text without a bound counts as little more than nothing.
    """
    if "enum" in schema:
        return max((len(json.dumps(value)) for value in schema["enum"]), default=0)
    if "anyOf" in schema:
        return max(map(measure_longest_reply, schema["anyOf"]))
    if "properties" in schema:
        named = schema["properties"].items()
        return 1 + sum(
            len(name) + len('"":,') + measure_longest_reply(child) for name, child in named
        )
    if "items" in schema:
        return 2 + int(schema.get("maxItems", 0)) * (1 + measure_longest_reply(schema["items"]))
    if "maxLength" in schema:
        return 2 + int(schema["maxLength"])
    return _LONGEST_WORD


def _drop_item(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with one item less in the outermost lists of more than numbers."""
    if "items" in part and "enum" not in part["items"]:
        least = max(1, part.get("minItems", 0))
        if part.get("maxItems", 0) > least:
            return {**part, "maxItems": part["maxItems"] - 1}
    return _map_children(part, _drop_item)


def _shorten_texts(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the length of each text reduced to three quarters."""
    if "maxLength" in part:
        least = max(_SHORTEST_TEXT, part.get("minLength", 0))
        most = max(part["maxLength"] * 3 // 4, min(least, part["maxLength"]))
        return {**part, "maxLength": most}
    return _map_children(part, _shorten_texts)


def _map_children(part: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Return the schema with `change` applied to each schema directly inside it."""
    changed = dict(part)
    if "properties" in part:
        changed["properties"] = {name: change(child) for name, child in part["properties"].items()}
    if "items" in part:
        changed["items"] = change(part["items"])
    if "anyOf" in part:
        changed["anyOf"] = [change(child) for child in part["anyOf"]]
    return changed


def drop_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without bounds on lengths and sizes, which some servers do not know."""
    return {
        name: _map_values(part, drop_bounds) for name, part in schema.items() if name not in _BOUNDS
    }


def _close_schema(part: Any, names: Mapping[str, Any], choices: Choices) -> dict[str, Any]:  # noqa: ANN401
    if "$ref" in part:
        return _close_schema(names[part["$ref"].rpartition("/")[2]], names, choices)
    if _ONE_OF in part:
        return {"enum": list(choices[part[_ONE_OF]])}
    schema = {
        name: _map_values(value, lambda inner: _close_schema(inner, names, choices))
        for name, value in part.items()
        if name not in _IDLE
    }
    if "properties" in part:
        schema["properties"] = {
            name: _close_schema(value, names, choices) for name, value in part["properties"].items()
        }
        schema["required"] = list(part["properties"])
    if part.get("type") == "array":
        schema |= _limit_items(part, choices)
    schema.pop(_EACH_OF, None)
    return schema


def _limit_items(part: Mapping[str, Any], choices: Choices) -> dict[str, Any]:
    """Return the bounds of a list: one item for each choice, or at most as many as there are."""
    if _EACH_OF in part:
        count = len(choices[part[_EACH_OF]])
        return {"minItems": count, "maxItems": count}
    named = part["items"].get(_ONE_OF)
    if named is None:
        return {}
    count = len(choices[named])
    most = min(count, part.get("maxItems", count))
    sizes: dict[str, Any] = {"maxItems": most}
    # JSON Schema wants at least one value in an `enum`; an empty list needs none.
    if not count:
        sizes["items"] = {}
    return sizes


def _map_values(value: Any, change: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return change(value)
    if isinstance(value, list):
        return [_map_values(item, change) for item in value]
    return value
