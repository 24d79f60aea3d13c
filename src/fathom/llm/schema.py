"""Schemas of replies that leave a model little freedom: all properties required, all sizes bounded.

A field is annotated with `OneOf` if it names a thing that the prompt shows, with `EachOf` if it has
one item for each of these things, and with `AtMost` if its length is bounded. The things are known
only when the request is made. Servers do not enforce everything, so replies are validated less
strictly than the schema says: the role drops a number that names nothing, and accepts a text that
is a little too long.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Choices = Mapping[str, Sequence[int | float | str]]
"""The values that a reply may name, by the name in `OneOf` and `EachOf`."""
KindT = TypeVar("KindT", bound=BaseModel)

_ONE_OF = "x-one-of"
_EACH_OF = "x-each-of"
_IDLE = frozenset({"title", "description", "default", "$defs", "properties"})
"""Keys of a schema that `_close_schema` does not copy."""
_LONGEST_WORD = len("false")  # also the estimate for a number and for null
_SHORTEST_TEXT = 40
_BOUNDS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern"}
)


@dataclass(frozen=True, slots=True)
class _ChoiceMark:
    """A mark of a field with the name of choices, whose values are known only later."""

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
    """A text of `least` to `most` characters, or a list of `least` to `most` items."""

    most: int
    least: int = 0

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the bounds to the field's schema; validation does not check them."""
        schema = handler(core)
        unit = "Items" if schema.get("type") == "array" else "Length"
        least = {f"min{unit}": self.least} if self.least else {}
        return {**schema, **least, f"max{unit}": self.most}


def number_items(count: int) -> tuple[int, ...]:
    """Return the numbers 1 to `count`, by which a prompt shows its items."""
    return tuple(range(1, count + 1))


def build_schema(kind: type[BaseModel], choices: Choices) -> dict[str, Any]:
    """Return the JSON schema of a reply: short, without references, with every property required.

    Args:
        kind: The type of the reply; its name becomes the title.
        choices: The values that its fields may name, in the place of their marks.

    Raises:
        KeyError: If a field names choices that are not given.
    """
    whole = kind.model_json_schema()
    return {"title": whole["title"], **_close_schema(whole, whole.get("$defs", {}), choices)}


def shrink_schema(schema: Mapping[str, Any], characters: int) -> dict[str, Any]:
    """Return the schema with lower bounds, so that no fitting reply is longer than `characters`.

    Lists lose items first, outer lists before inner ones; then texts become shorter. A text or list
    at its minimum stays as it is, and so does one without a bound, so the reply may still be
    longer.

    Args:
        schema: The schema, as `build_schema` returns it.
        characters: The largest length of a reply that is written without blanks.
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

    A text without a bound counts like a word of five characters, and a list without one as empty.
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
    """Return the schema with one item fewer in each outermost list whose items are no choices.

    A list keeps its minimum, and at least one item; the lists within it then lose one instead.
    """
    if "items" in part and "enum" not in part["items"]:
        least = max(1, part.get("minItems", 0))
        if part.get("maxItems", 0) > least:
            return {**part, "maxItems": part["maxItems"] - 1}
    return _map_children(part, _drop_item)


def _shorten_texts(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with three quarters of each text's bound, at least `_SHORTEST_TEXT`."""
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
    """Return the schema without bounds on lengths, sizes and values, for servers that refuse them.

    Patterns are bounds too.
    """
    return {
        name: _map_values(part, drop_bounds) for name, part in schema.items() if name not in _BOUNDS
    }


def _close_schema(part: Any, names: Mapping[str, Any], choices: Choices) -> dict[str, Any]:  # noqa: ANN401
    """Return a part of pydantic's schema with references and choices in full, all required.

    Args:
        part: The part.
        names: The definitions that references name.
        choices: The values that fields may name.
    """
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
    """Return the bounds of a list of choices; empty for any other list.

    An `EachOf` list has one item for each choice, a list of `OneOf` at most that many.
    """
    if _EACH_OF in part:
        count = len(choices[part[_EACH_OF]])
        return {"minItems": count, "maxItems": count}
    named = part["items"].get(_ONE_OF)
    if named is None:
        return {}
    count = len(choices[named])
    most = min(count, part.get("maxItems", count))
    sizes: dict[str, Any] = {"maxItems": most}
    # JSON Schema requires a value in an `enum`, so a list that must be empty gets no `enum`.
    if not count:
        sizes["items"] = {}
    return sizes


def _map_values(value: Any, change: Any) -> Any:  # noqa: ANN401
    """Return a JSON value with `change` applied to each object in it that no other contains."""
    if isinstance(value, dict):
        return change(value)
    if isinstance(value, list):
        return [_map_values(item, change) for item in value]
    return value
