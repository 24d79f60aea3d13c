"""The lists of a chunk: runs of list items, with the line that introduces them, and inner lists.

A run is the range of the indices of a list's blocks in `list_blocks(chunk)`.
"""

import re
from collections.abc import Iterator, Sequence

from fathom.text.quotable import list_blocks, strip_label
from fathom.types import Chunk, ChunkBlock, Span

_INNER_KINDS = frozenset({"paragraph", "code"})
"""The kinds of blocks that may be between two items and belong to the item before them."""
_NUMBER = re.compile(r"\(?(\d{1,3}|[a-zA-Z])[.)]\s")


def ends_in_colon(text: str) -> bool:
    """Return whether a text ends in a colon."""
    return text.rstrip().endswith(":")


def find_lead_start(text: str, blocks: Sequence[ChunkBlock], first: int) -> int:
    """Return the start of the block with a colon before a list, else the start of the list.

    Args:
        text: The text of the chunk.
        blocks: The blocks of the chunk.
        first: The index of the list's first block.
    """
    previous = blocks[first - 1] if first else None
    if previous is not None and ends_in_colon(text[previous.start : previous.end]):
        return previous.start
    return blocks[first].start


def find_runs(chunk: Chunk) -> list[range]:
    """Return the runs of a chunk's lists, from first item to last: outer ones, then inner ones."""
    outer = find_outer_runs(chunk)
    return [*outer, *(inner for run in outer for inner in _iterate_inner_runs(chunk, run))]


def _iterate_inner_runs(chunk: Chunk, run: range) -> Iterator[range]:
    """Yield the inner runs of a run.

    An inner run follows an item that ends in a colon, and lasts until the next item with a label of
    that item's kind.
    """
    blocks = list_blocks(chunk)
    labels = [normalize_label(chunk, blocks[at]) for at in run]
    for place, at in enumerate(run):
        if ends_in_colon(chunk.text[blocks[at].start : blocks[at].end]):
            later_labels = labels[place + 1 :]
            count = (
                later_labels.index(labels[place])
                if labels[place] in later_labels
                else len(later_labels)
            )
            if count and blocks[at + 1].kind == "list_item":
                yield range(at + 1, at + 1 + count)


def normalize_label(chunk: Chunk, block: ChunkBlock) -> str:
    """Return the kind of a list item's label, equal for "(1)" and "(2)", other for "a."."""
    label = chunk.text[block.start : strip_label(chunk.text, block).start]
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "1", label)).strip()


def find_outer_runs(chunk: Chunk) -> list[range]:
    """Return the runs of a chunk's lists, from first item to last, without inner lists.

    Text and code between two items belong to the list if the numbering continues after them.
    """
    blocks = list_blocks(chunk)
    items = [at for at, block in enumerate(blocks) if block.kind == "list_item"]
    runs: list[range] = []
    for at in items:
        if runs and _continues_run(chunk.text, blocks, runs[-1], at):
            runs[-1] = range(runs[-1][0], at + 1)
        else:
            runs.append(range(at, at + 1))
    return runs


def _continues_run(text: str, blocks: Sequence[ChunkBlock], run: range, at: int) -> bool:
    """Return whether the item with index `at` continues the list of a run."""
    inner = blocks[run[-1] + 1 : at]
    if not inner:
        return True
    last_label, label = (_NUMBER.match(text, blocks[place].start) for place in (run[-1], at))
    is_next_number = (
        last_label is not None and label is not None and _follows(last_label[1], label[1])
    )
    return is_next_number and all(block.kind in _INNER_KINDS for block in inner)


def _follows(before: str, after: str) -> bool:
    """Return whether a number or letter is the successor of another: "4" of "3", "d" of "c"."""
    if before.isdigit() and after.isdigit():
        return int(after) == int(before) + 1
    return ord(after[0]) == ord(before[0]) + 1


def list_numbers(chunk: Chunk, run: range) -> list[str]:
    """Return the numbers or letters of a list's labels, in order: "3" for "3."."""
    blocks = list_blocks(chunk)
    items = (blocks[at] for at in run if blocks[at].kind == "list_item")
    return [match[1] for item in items if (match := _NUMBER.match(chunk.text, item.start))]


def goes_on(chunk: Chunk, run: range, next_chunk: Chunk, next_run: range) -> bool:
    """Return whether the numbering of a list continues in a list of the next chunk."""
    numbers, next_numbers = list_numbers(chunk, run), list_numbers(next_chunk, next_run)
    return bool(numbers and next_numbers) and _follows(numbers[-1], next_numbers[0])


def find_items(chunk: Chunk, run: range) -> list[Span]:
    """Return the span of each item of a list, without its label and with its text and code."""
    blocks = list_blocks(chunk)
    starts = [at for at in run if blocks[at].kind == "list_item"]
    # Text or code between two items belongs to the item before it.
    ends = [*(start - 1 for start in starts[1:]), *run[-1:]]
    return [
        Span(strip_label(chunk.text, blocks[start]).start, blocks[end].end)
        for start, end in zip(starts, ends, strict=True)
    ]
