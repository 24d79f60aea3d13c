"""Jupyter notebooks: Markdown as Markdown, code and printed text as code, tables as tables."""

import json
from typing import Any

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.decode import decode_text
from fathom.documents.formats.html import add_fragment
from fathom.documents.formats.markdown import add_markdown

_LONGEST_OUTPUT = 20_000


def parse(data: bytes) -> ParsedDocument:
    """Parse a notebook of format 3 or 4.

    Raises:
        ParseRefusal: `failed` if the file is no notebook, `empty` if no cell has text.
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
    """Add a cell, and the outputs of a code cell."""
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
                    _add_output(builder, output)


def _add_output(builder: Builder, output: dict[str, Any]) -> None:
    """Add an output in one of its forms: Markdown, an HTML table, plain text or other HTML.

    The forms are tried in this order, because plain text beside a richer form only names its kind.
    """
    data = output.get("data")
    forms = data if isinstance(data, dict) else {"text/plain": output.get("text")}
    plain, markdown, html = (
        _join_lines(forms.get(kind))[:_LONGEST_OUTPUT]
        for kind in ("text/plain", "text/markdown", "text/html")
    )
    if markdown.strip():
        add_markdown(builder, markdown)
    elif "<table" in html or not plain.strip():
        try:
            add_fragment(builder, html)
        except ParseRefusal:  # an output that cannot be read must not hide the others
            builder.add_code(plain)
    else:
        builder.add_code(plain)


def _find_title(notebook: dict[str, Any]) -> str:
    """Return the title in the metadata of a notebook; empty without one."""
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else None
    return title if isinstance(title, str) else ""


def _join_lines(lines: object) -> str:
    """Return a text that a notebook stores as one text or as a list of lines."""
    if isinstance(lines, list):
        return "".join(str(line) for line in lines)
    return lines if isinstance(lines, str) else ""
