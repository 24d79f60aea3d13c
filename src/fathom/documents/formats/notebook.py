"""Jupyter notebooks: Markdown cells as Markdown, code cells and their printed text as code."""

import json
from typing import Any

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.decode import decode_text
from fathom.documents.formats.markdown import add_markdown

_LONGEST_OUTPUT = 20_000


def parse(data: bytes) -> ParsedDocument:
    """Parse a notebook of format 3 or 4.

    Raises:
        ParseRefusal: `failed` when it is no notebook, `empty` when no cell holds text.
    """
    try:
        notebook = json.loads(decode_text(data))
        # Format 3 has its cells in worksheets, format 4 at the top.
        sheets = notebook.get("worksheets") or [notebook]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParseRefusal("failed", f"damaged notebook: {error!r}"[:200]) from error
    builder = Builder()
    for cell in cells:
        if isinstance(cell, dict):
            _add_cell(builder, cell)
    return builder.build(_find_title(notebook))


def _add_cell(builder: Builder, cell: dict[str, Any]) -> None:
    source = _join_lines(cell.get("source", cell.get("input")))
    match cell.get("cell_type"):
        case "markdown":
            add_markdown(builder, source)
        case "heading":
            builder.add_heading(source, int(cell.get("level", 1)))
        case "raw":
            builder.add_paragraph(source)
        case _:
            builder.add_code(source)
            for output in cell.get("outputs") or []:
                if isinstance(output, dict):
                    builder.add_code(_get_output_text(output)[:_LONGEST_OUTPUT])


def _get_output_text(output: dict[str, Any]) -> str:
    data = output.get("data")
    if isinstance(data, dict):
        return _join_lines(data.get("text/plain"))
    return _join_lines(output.get("text"))


def _find_title(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else None
    return title if isinstance(title, str) else ""


def _join_lines(lines: object) -> str:
    if isinstance(lines, list):
        return "".join(str(line) for line in lines)
    return lines if isinstance(lines, str) else ""
