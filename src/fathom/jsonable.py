"""Any value as plain JSON.

The JSON holds no secrets and no text that cannot be encoded, and can be cut to a size.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from math import isfinite
from typing import Any

from fathom.redaction import hide_secrets, order_secrets

Json = Any
"""Any value that `json.loads` can return."""

MAX_DEPTH = 32
"""The number of levels of nesting that are kept, because values may refer to themselves."""


def dump_canonical(value: Json) -> str:
    """Return the canonical JSON text of a value: keys sorted, no spaces, letters not escaped.

    Raises:
        TypeError: If the value is no JSON value.
        ValueError: If the value holds NaN or an infinity.
    """
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def hash_text(text: str) -> str:
    """Return the sha256 of a text as 64 hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


class Cleaner:
    """A converter of values into plain JSON that may be stored and shown.

    Dataclasses, pydantic models, mappings and arrays become objects and lists. A short text stands
    for bytes, for foreign objects, and for numbers that are infinite, no number or huge. Secrets
    are replaced before anything is cut, so that no part of one remains.
    """

    def __init__(
        self, secrets: Iterable[str] = (), *, chars: int | None = None, items: int | None = None
    ) -> None:
        """Choose the secrets to hide and the amount to keep.

        Args:
            secrets: Texts that must not appear, not even escaped as JSON; blank ones are ignored.
            chars: The largest number of characters of a string, before a mark that says how many
                were cut; `None` for no limit.
            items: The largest number of entries of a list or an object, before a mark that says how
                many were left out; `None` for no limit.
        """
        self._chars = chars
        self._items = items
        self.secrets = order_secrets(secrets)

    def __call__(self, value: object) -> Json:
        """Return the value as plain JSON."""
        return self._clean(value, 0)

    def clean_text(self, value: str) -> str:
        """Return a string without secrets, with `?` for lone surrogates, cut if it is too long."""
        value = hide_secrets(value, self.secrets)
        if not value.isascii():
            value = value.encode("utf-8", "replace").decode("utf-8")
        if self._chars is not None and len(value) > self._chars:
            return f"{value[: self._chars]}…[{len(value) - self._chars} characters more]"
        return value

    def _clean(self, value: object, depth: int) -> Json:
        """Return a value at a level of nesting, from 0, as plain JSON."""
        kind = type(value)
        if kind is str:  # first for speed: a trace has thousands of strings
            return self.clean_text(value)  # type: ignore[arg-type]
        if value is None or kind is bool:
            return value
        if isinstance(value, str):
            return self.clean_text(str(value))
        if isinstance(value, int | float):
            return _clean_number(value)
        if depth == MAX_DEPTH:
            return "(too deep)"
        return self._clean_compound(value, depth + 1)

    def _clean_compound(self, value: object, depth: int) -> Json:
        """Return a value that is neither a text, a number nor `None` as plain JSON."""
        if is_dataclass(value) and not isinstance(value, type):
            return self._clean_object(
                {f.name: getattr(value, f.name) for f in fields(value)}, depth
            )
        if isinstance(value, Mapping):
            return self._clean_object(value, depth)
        if isinstance(value, list | tuple):
            return self._clean_list(value, depth)
        if isinstance(value, set | frozenset):
            return self._clean_list(sorted(value, key=repr), depth)
        if isinstance(value, bytes | bytearray):
            return f"({len(value)} bytes)"
        return self._clean_foreign(value, depth)

    def _clean_foreign(self, value: object, depth: int) -> Json:
        """Return a value of numpy or pydantic as plain JSON; of others, the name of the type."""
        # Values of numpy and models of pydantic are recognised by their methods, so that neither
        # library must be imported.
        for name in ("tolist", "model_dump"):
            convert = getattr(value, name, None)
            if callable(convert) and not isinstance(value, type):
                return self._clean(convert(), depth)
        return f"({type(value).__name__})"

    def _clean_object(self, value: Mapping[Any, Any], depth: int) -> dict[str, Json]:
        entries = list(value.items())[: self._items]
        plain = {self.clean_text(str(key)): self._clean(item, depth) for key, item in entries}
        if len(entries) < len(value):
            plain["…"] = f"[{len(value) - len(entries)} more]"
        return plain

    def _clean_list(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Json]:
        entries = value[: self._items]
        plain = [self._clean(item, depth) for item in entries]
        if len(entries) < len(value):
            plain.append(f"…[{len(value) - len(entries)} more]")
        return plain


def _clean_number(value: float) -> Json:
    """Return a number that JSON can hold; a text in place of any other."""
    if isinstance(value, int):
        # Python refuses to print integers of thousands of digits, and nobody could read them.
        return int(value) if value.bit_length() <= 1024 else "(a huge number)"
    return float(value) if isfinite(value) else str(float(value))


def iterate_texts(value: Json, *, without: Container[str] = ()) -> Iterator[str]:
    """Yield the texts in a JSON value in order, without the names of members.

    Args:
        value: The value.
        without: The names of members whose values are left out.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, child in value.items():
            if name not in without:
                yield from iterate_texts(child, without=without)
    elif isinstance(value, list):
        for child in value:
            yield from iterate_texts(child, without=without)
