"""The blocks of a document in columns, because a long document has too many to build each."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Self, get_args, overload

from fathom.types import Block, BlockKind, ChunkBlock, Span

KINDS: tuple[BlockKind, ...] = get_args(BlockKind)
_ROW = bytes([KINDS.index("table_row")])
_NO_PAGE = -1


class PackedBlocks(Sequence[Block]):
    """The blocks of a document, each built when it is accessed.

    Attributes:
        paths: The heading paths, each once.
        kinds: The index in `KINDS` of the kind of each block.
        starts: The offset of each block in the document's text.
        lengths: The length of each block in characters.
        headings: The index in `paths` of the heading path of each block.
        pages: The page of each block; -1 without one.
        recognised: The sureness of recognised blocks in [0, 1], by index.
    """

    def __init__(
        self,
        paths: Sequence[Sequence[str]],
        kinds: bytes,
        columns: Iterable[Sequence[int]],
        recognised: Mapping[int, float],
    ) -> None:
        self.paths = [tuple(path) for path in paths]
        self.kinds = kinds
        self.starts, self.lengths, self.headings, self.pages = columns
        self.recognised = recognised

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Self:
        """Pack blocks in columns."""
        paths: dict[tuple[str, ...], int] = {}
        kinds, recognised = bytearray(), dict[int, float]()
        starts, lengths, headings, pages = (array("q") for _ in range(4))
        for at, block in enumerate(blocks):
            kinds.append(KINDS.index(block.kind))
            starts.append(block.span.start)
            lengths.append(block.span.end - block.span.start)
            headings.append(paths.setdefault(block.headings, len(paths)))
            pages.append(_NO_PAGE if block.page is None else block.page)
            if block.recognised is not None:
                recognised[at] = block.recognised
        return cls(list(paths), bytes(kinds), (starts, lengths, headings, pages), recognised)

    def __len__(self) -> int:
        return len(self.kinds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    @overload
    def __getitem__(self, at: int) -> Block: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Block]: ...
    def __getitem__(self, at: int | slice) -> Block | Sequence[Block]:
        if isinstance(at, slice):
            return tuple(self[position] for position in range(*at.indices(len(self))))
        start, page = self.starts[at], self.pages[at]
        return Block(
            kind=KINDS[self.kinds[at]],
            span=Span(start, start + self.lengths[at]),
            headings=self.paths[self.headings[at]],
            page=None if page == _NO_PAGE else page,
            recognised=self.recognised.get(at % len(self)) if self.recognised else None,
        )

    def find_last(self, offset: int) -> int:
        """Return the index of the last block that begins at or before an offset; -1 without one."""
        return bisect_right(self.starts, offset) - 1

    def find_blocks(self, span: Span) -> tuple[ChunkBlock, ...]:
        """Return the blocks inside a span, with offsets that count from its start.

        The method builds no `Block`, because it is called for every hit.
        """
        blocks = []
        # The last block that starts at or before the start of the span may reach into it.
        for at in range(max(self.find_last(span.start), 0), len(self)):
            start = self.starts[at]
            if start >= span.end:
                break
            begin, end = max(start, span.start), min(start + self.lengths[at], span.end)
            if begin < end:
                kind = KINDS[self.kinds[at]]
                blocks.append(ChunkBlock(kind, begin - span.start, end - span.start))
        return tuple(blocks)

    def skip_rows(self, at: int) -> int:
        """Return the index of the last block at or before `at` that is no table row, or -1."""
        return len(self.kinds[: at + 1].rstrip(_ROW)) - 1
