"""JSON and JSON lines as readable rows ("key: value"), with headings for the nesting."""

import json
from collections.abc import Iterator
from typing import Any

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.decode import decode_text

_SAMPLE_LINES = 3
_DEEPEST = 60
_LONG = 80
_TITLES = ("title", "name", "judul", "nama", "heading", "subject", "id")


def parse(data: bytes) -> ParsedDocument:
    """Parse a JSON document, or a JSON value on each line.

    Raises:
        ParseRefusal: `failed` if the file is neither or is nested too deep, `empty` without text.
    """
    text = decode_text(data)
    builder = Builder()
    try:
        _add_value(builder, _read_value(text), 1)
    except json.JSONDecodeError as error:
        lines = list(_read_lines(text, error))
        for number, value in enumerate(lines, 1):
            _add_element(builder, value, number, 1)
    except RecursionError:
        raise ParseRefusal("failed", "JSON is nested too deeply") from None
    return builder.build(opening=False)


def is_json(text: str) -> bool:
    """Return whether a text, or each of its first lines, is a JSON object or array."""
    # Only line feeds end a line: other separators, such as U+2028, may be in a JSON text.
    lines = [line for line in text[:1_000_000].split("\n")[: _SAMPLE_LINES + 1] if line.strip()]
    if len(lines) > 1 and all(_is_container(line) for line in lines[:_SAMPLE_LINES]):
        return True
    return _is_container(text)


def _read_value(text: str) -> Any:  # noqa: ANN401 - any value of JSON
    """Return a value whose numbers are texts as they are written, with all their digits."""
    return json.loads(text, parse_int=str, parse_float=str)


def _is_container(text: str) -> bool:
    """Return whether a text is a JSON object or array."""
    try:
        return isinstance(_read_value(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _read_lines(text: str, error: json.JSONDecodeError) -> Iterator[Any]:
    """Yield the value of each line.

    Args:
        text: The text.
        error: The error of the text as a single JSON value, for the refusal.

    Raises:
        ParseRefusal: `failed` if a line is no JSON.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _read_value(line)
        except (ValueError, RecursionError):
            raise ParseRefusal(
                "failed", f"neither JSON ({error}) nor JSON lines (line {number})"
            ) from None


def _add_value(builder: Builder, value: object, level: int) -> None:
    """Add a value; `level` is the level of the headings in it.

    Raises:
        ParseRefusal: `failed` if it is nested too deep.
    """
    if level > _DEEPEST:
        raise ParseRefusal("failed", f"JSON is nested more than {_DEEPEST} deep")
    if isinstance(value, dict):
        _add_object(builder, value, level)
    elif isinstance(value, list):
        if all(not isinstance(item, dict | list) for item in value):
            builder.add_paragraph(", ".join(filter(None, map(_format_value, value))))
        else:
            for number, item in enumerate(value, 1):
                _add_element(builder, item, number, level)
    else:
        builder.add_paragraph(_format_value(value))


def _add_object(builder: Builder, value: dict[str, Any], level: int) -> None:
    """Add an object: its plain values first, so that none of them falls under a nested heading."""
    nested: list[tuple[str, Any]] = []
    for key, item in value.items():
        if isinstance(item, dict | list) and not _is_short_list(item):
            nested.append((key, item))
        elif isinstance(item, str) and ("\n" in item.strip() or len(item) > 10 * _LONG):
            builder.add_paragraph(f"{key}: {item}")
        else:
            word = (
                ", ".join(map(_format_value, item))
                if isinstance(item, list)
                else _format_value(item)
            )
            if word.strip():
                builder.add_row([f"{key}: {word}"])
    for key, item in nested:
        builder.add_heading(key, level)
        _add_value(builder, item, level + 1)


def _add_element(builder: Builder, value: object, number: int, level: int) -> None:
    """Add an element of an array: a flat object as a row, a nested one under a heading."""
    if isinstance(value, dict):
        if all(
            not isinstance(item, dict | list) or _is_short_list(item) for item in value.values()
        ):
            _add_record(builder, value)
            return
        builder.add_heading(_find_title(value) or str(number), level)
        _add_value(builder, value, level + 1)
    else:
        _add_value(builder, value, level)


def _add_record(builder: Builder, value: dict[str, Any]) -> None:
    """Add a flat object as one row."""
    cells = []
    for key, item in value.items():
        word = (
            ", ".join(map(_format_value, item)) if isinstance(item, list) else _format_value(item)
        )
        if word.strip():
            cells.append(f"{key}: {word}")
    builder.add_row(cells)


def _find_title(value: dict[str, Any]) -> str:
    titles = (value[key] for key in _TITLES if isinstance(value.get(key), str))
    return next((title for title in titles if 0 < len(title) <= _LONG), "")


def _is_short_list(value: object) -> bool:
    """Return whether a value is an array of plain values."""
    return isinstance(value, list) and all(not isinstance(item, dict | list) for item in value)


def _format_value(value: object) -> str:
    """Return a plain value as text; empty for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
