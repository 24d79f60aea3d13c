"""The entries of a manual's chunk: options, settings, terms and codes with their descriptions.

The layouts are: a name on a line or in a paragraph above its description, a name before a colon or
a dash, and a row of a table with the name in its first cell.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from fathom.text.language import load_stop_words
from fathom.text.quotable import list_blocks, strip_label
from fathom.types import Chunk, ChunkBlock, Span

_DASHED = re.compile(r"(?<![\w-])-{1,2}[A-Za-z0-9?#][\w-]*")
_MARKS = "`*_'\"\u201c\u201d\u2018\u2019"
_OPTION_HEAD = re.compile(
    rf"[{_MARKS}]*(?=-{{1,2}}[\w?#])[^\n]{{1,120}}?(?=\n|:\s|\s{{2,}}(?!-)|$)"
)
_TERM = rf"[{_MARKS}]{{0,9}}+\w[^\n:|]{{0,60}}?"
_LINE_HEAD = re.compile(rf"{_TERM}(?=\n\s*[^\Wa-z_])")
_MARKED_HEAD = re.compile(rf"{_TERM}(?=:\s|\s[\u2013\u2014-]\s|\s{{3,}}\S)")
_WORD = re.compile(r"[^\s:|]{1,40}$")
"""A block of one word, such as an exit code above its meaning."""
_FIELD = re.compile(
    r"(?:option|setting|name|parameter|directive|variable|key|opsi|setelan|nama|variabel)\s*:\s*"
    r"(?=[^\s:|]+\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""The label before the name in a record of fields."""
_LABELS = frozenset({
    "default", "description", "syntax", "context", "type", "example", "since", "value", "values",
    "note", "notes", "warning", "bawaan", "keterangan", "deskripsi", "tipe", "jenis", "contoh",
    "nilai", "catatan", "peringatan",
})  # fmt: skip
"""Labels of fields that describe the name above them, and so are no names."""
_MOST_WORDS = 4
"""The largest number of words of a name."""
_DESCRIBING = frozenset({"paragraph", "code"})
"""The kinds of blocks that may describe the name above them."""
_SENTENCE_END = re.compile(r"[.!?,;]\s*$")
_CELL_END = re.compile(r"\s\|\s")
_VALUE = re.compile(r"[^|:]{1,40}:\s")


class ManualEntry(NamedTuple):
    """An entry of a manual: a name with its description.

    Attributes:
        head: The span of the name with its arguments, in the text of the chunk.
        body: The span of the description, in the text of the chunk.
    """

    head: Span
    body: Span

    @property
    def span(self) -> Span:
        """The span from the name to the end of the description."""
        return Span(self.head.start, self.body.end)


def list_entries(chunk: Chunk) -> Iterator[ManualEntry]:
    """Yield the entries of a chunk in order.

    The paragraphs and code below a paragraph with a name belong to its description.
    """
    blocks = list_blocks(chunk)
    heads = [_find_head(chunk.text, block) for block in blocks]
    for place, (block, head) in enumerate(zip(blocks, heads, strict=True)):
        if head is not None:
            end = max([block.end, *_list_ends_below(blocks, heads, place)])
            body = _strip(chunk.text, head.end, end)
            if body is not None:
                yield ManualEntry(head, body)


def list_names(text: str) -> frozenset[str]:
    """Return the names in the head of an entry.

    They are its options, or else the whole head and its first word.
    """
    options = frozenset(_DASHED.findall(text))
    bare = text.strip(f" \t\n{_MARKS}")
    return options or frozenset({bare, bare.split()[0]} if bare else ())


def _list_ends_below(
    blocks: Sequence[ChunkBlock], heads: Sequence[Span | None], place: int
) -> list[int]:
    """Return the ends of the blocks below a paragraph that belong to its description.

    Args:
        blocks: The blocks of the chunk.
        heads: The head of each block; `None` for one without.
        place: The index of the paragraph; the result is empty for another kind of block.
    """
    if blocks[place].kind != "paragraph":
        return []
    below = zip(blocks[place + 1 :], heads[place + 1 :], strict=True)
    describing = takewhile(lambda pair: pair[0].kind in _DESCRIBING and pair[1] is None, below)
    return [block.end for block, _ in describing]


def _find_head(text: str, block: ChunkBlock) -> Span | None:
    """Return the span of the name at the start of a block; `None` if there is none."""
    start = strip_label(text, block).start
    if block.kind == "table_row":
        return _find_cell(text, start, block.end)
    if block.kind not in {"paragraph", "list_item"}:
        return None
    field = _FIELD.match(text, start, block.end)
    if field:
        line_end = text.find("\n", field.end(), block.end)
        return Span(field.end(), line_end if line_end > 0 else block.end)
    option = _OPTION_HEAD.match(text, start, block.end)
    if option:
        return Span(option.start(), option.end())
    for form in (_LINE_HEAD, _MARKED_HEAD, _WORD):
        match = form.match(text, start, block.end)
        if match and _is_name(match[0]):
            return Span(match.start(), match.end())
    return None


def _is_name(text: str) -> bool:
    """Return whether a text is a name rather than the first words of a sentence."""
    words = text.casefold().split()
    stop_words = load_stop_words("en") | load_stop_words("id")
    return (
        len(words) <= _MOST_WORDS
        and not _SENTENCE_END.search(text)
        and words[0] not in _LABELS
        and not {words[0], words[-1]} & stop_words
    )


def _find_cell(text: str, start: int, end: int) -> Span | None:
    """Return the span of the first cell of a table row, without a label; `None` for one cell."""
    mark = _CELL_END.search(text, start, end)
    if mark is None:
        return None
    label = _VALUE.match(text, start, mark.start())
    return Span(label.end() if label else start, mark.start())


def _strip(text: str, start: int, end: int) -> Span | None:
    """Return a span without the marks and blanks at its start; `None` if nothing else is in it."""
    body = text[start:end]
    stripped = body.lstrip(" \t\n:|\u2013\u2014-")
    return Span(end - len(stripped), end) if stripped.strip() else None
