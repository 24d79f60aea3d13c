"""Records of a corpus file that workers cut while the process that writes reads on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.index.workers.base import Cut, CutRecords, Done, Lost, Pool

MOST_RECORDS = 64
MOST_CHARS = 100_000
"""So much is given to a worker at a time."""

Part = ParsedDocument | RecordFailure
Found = Cut | ParseRefusal | None
"""What a worker made of a record, or why it cannot be cut; nothing where nobody was asked."""


def cut_ahead(
    parts: Iterable[Part],
    place: str,
    pool: Pool | None,
    is_wanted: Callable[[ParsedDocument], bool],
) -> Iterator[tuple[Part, Found]]:
    """The parts in their order, each with what a worker made of it.

    Args:
        parts: Of a corpus file, as they are read; a bounded number is held.
        place: Of the file.
        pool: Who cuts; nobody where it is left to who writes.
        is_wanted: Whether a record is to be cut; it may be known already.

    Raises:
        ParseRefusal: That `parts` raise; after what came before it.
    """
    if pool is None:
        yield from ((part, None) for part in parts)
        return
    ahead: deque[_Block] = deque()
    for task, found in pool.in_order(_tasks(_blocks(parts, is_wanted), place, ahead)):
        block = ahead.popleft()
        yield from block.with_cuts(_cuts(pool, task, found))
        if block.refused is not None:
            raise block.refused


@dataclass(slots=True)
class _Block:
    """Parts that follow each other, the records among them that are wanted, and how it ended."""

    parts: list[Part] = field(default_factory=list)
    wanted: list[ParsedDocument] = field(default_factory=list)
    chars: int = 0
    refused: ParseRefusal | None = None

    @property
    def is_full(self) -> bool:
        return len(self.parts) >= MOST_RECORDS or self.chars >= MOST_CHARS

    def add(self, part: Part, *, is_wanted: bool) -> None:
        self.parts.append(part)
        if isinstance(part, ParsedDocument):
            self.chars += len(part.text)
        if isinstance(part, ParsedDocument) and is_wanted:
            self.wanted.append(part)

    def with_cuts(self, cuts: Iterable[Cut | ParseRefusal]) -> Iterator[tuple[Part, Found]]:
        """The parts, with what was made of those that are wanted."""
        made, wanted = iter(cuts), set(map(id, self.wanted))
        for part in self.parts:
            yield part, next(made) if id(part) in wanted else None


def _blocks(parts: Iterable[Part], is_wanted: Callable[[ParsedDocument], bool]) -> Iterator[_Block]:
    """All parts; a refusal is the end of the last block."""
    block = _Block()
    try:
        for part in parts:
            block.add(part, is_wanted=isinstance(part, ParsedDocument) and is_wanted(part))
            if block.is_full:
                yield block
                block = _Block()
    except ParseRefusal as refused:
        block.refused = refused
    yield block


def _tasks(blocks: Iterable[_Block], place: str, ahead: deque[_Block]) -> Iterator[CutRecords]:
    """One for each block, also where nothing of it is wanted: so few are held in `ahead`."""
    for block in blocks:
        ahead.append(block)
        yield CutRecords(place, tuple(block.wanted))


def _cuts(pool: Pool, task: CutRecords, found: Done) -> Iterator[Cut | ParseRefusal]:
    """What came of each record; where no worker survives them they are tried one by one."""
    if isinstance(found, tuple):
        yield from found
    elif len(task.records) != 1:
        for alone, cut in pool.in_order(CutRecords(task.place, (one,)) for one in task.records):
            yield from _cuts(pool, alone, cut)
    else:
        why = found.told if isinstance(found, Lost) else "its worker gave nothing"
        yield ParseRefusal("failed", why)
