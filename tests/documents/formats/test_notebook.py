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


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"cells": 3}'])
def test_damaged_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(data)
    assert refusal.value.outcome == "failed"
