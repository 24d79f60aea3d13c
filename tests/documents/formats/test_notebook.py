import json

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.notebook import parse

CELLS = [
    {"cell_type": "markdown", "source": ["# Study\n", "\n", "Some *words*"]},
    {
        "cell_type": "code",
        "source": "print(1)",
        "outputs": [
            {"output_type": "stream", "text": ["1\n"]},
            {"output_type": "execute_result", "data": {"text/plain": "2", "image/png": "AAAA"}},
        ],
    },
    {"cell_type": "raw", "source": "raw"},
]


@pytest.mark.parametrize(
    "notebook",
    [{"nbformat": 4, "cells": CELLS}, {"nbformat": 3, "worksheets": [{"cells": CELLS}]}],
)
def test_cells_are_read_in_order(notebook: dict[str, object]) -> None:
    parsed = parse(json.dumps(notebook).encode())
    assert parsed.text == "Study\n\nSome words\n\nprint(1)\n\n1\n\n2\n\nraw"
    assert [block.kind for block in parsed.blocks] == [
        "heading", "paragraph", "code", "code", "code", "paragraph",
    ]  # fmt: skip


def parse_output(**forms: str) -> list[tuple[str, str]]:
    """Return the kinds and texts of the blocks of an output."""
    outputs = [{"output_type": "display_data", "data": forms}]
    cells = [{"cell_type": "code", "source": "show()", "outputs": outputs}]
    parsed = parse(json.dumps({"nbformat": 4, "cells": cells}).encode())
    _, *blocks = parsed.blocks
    return [(block.kind, parsed.text[block.span.start : block.span.end]) for block in blocks]


def test_an_output_is_read_in_its_richest_form() -> None:
    markdown = {"text/markdown": "**Rain** fell", "text/plain": "<IPython.core.display.Markdown>"}
    assert parse_output(**markdown) == [("paragraph", "Rain fell")]
    page = "<p>Wind: 7 knots</p>"
    assert parse_output(**{"text/html": page}) == [("paragraph", "Wind: 7 knots")]
    assert parse_output(**{"text/html": page, "text/plain": "7"}) == [("code", "7")]
    frame = "<table><tr><th>town</th><th>rain</th></tr><tr><td>Merrow</td><td>31</td></tr></table>"
    assert parse_output(**{"text/html": frame, "text/plain": "  town rain\n0 Merrow 31"}) == [
        ("table_head", "town | rain"),
        ("table_row", "Merrow | 31"),
    ]


def test_an_output_of_endless_depth_is_read_as_plain_text() -> None:
    deep = "<table>" + "<div>" * 100_000
    assert parse_output(**{"text/html": deep[:20_000], "text/plain": "31"}) == [("code", "31")]


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"cells": 3}'])
def test_damaged_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(data)
    assert refusal.value.outcome == "failed"
