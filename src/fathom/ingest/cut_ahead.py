"""Records of a corpus file that workers cut while the writing process reads on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.ingest.workers.base import ChunkedText, CutRecordsTask, LostTask, TaskResult, WorkerPool

MAX_RECORDS = 64
MAX_CHARS = 100_000
"""The largest number of characters in a worker's task."""

CorpusItem = ParsedDocument | RecordFailure
CutOutcome = ChunkedText | ParseRefusal | None
"""The chunks of a record, or why it cannot be cut; `None` if no worker got it."""


def cut_ahead(
    items: Iterable[CorpusItem],
    place: str,
    pool: WorkerPool | None,
    is_wanted: Callable[[ParsedDocument], bool],
) -> Iterator[tuple[CorpusItem, CutOutcome]]:
    """Yield the items in their order, each with what a worker made of it.

    A bounded number of items is in memory. Without a pool the writing process cuts. `is_wanted`
    returns whether a record is to be cut; the index may have it already.

    Raises:
        ParseRefusal: If reading `parts` raises it; the items before it come first.
    """
    if pool is None:
        yield from ((item, None) for item in items)
        return
    ahead: deque[_Block] = deque()
    for task, result in pool.run_in_order(
        _build_tasks(_build_blocks(items, is_wanted), place, ahead)
    ):
        block = ahead.popleft()
        yield from block.pair_with_outcomes(_collect_outcomes(pool, task, result))
        if block.refused is not None:
            raise block.refused


@dataclass(slots=True)
class _Block:
    """Successive items, the records among them to cut, and the refusal that ended the file."""

    items: list[CorpusItem] = field(default_factory=list)
    to_cut: list[ParsedDocument] = field(default_factory=list)
    chars: int = 0
    refused: ParseRefusal | None = None

    @property
    def is_full(self) -> bool:
        return len(self.items) >= MAX_RECORDS or self.chars >= MAX_CHARS

    def add(self, item: CorpusItem, *, is_wanted: bool) -> None:
        self.items.append(item)
        if isinstance(item, ParsedDocument):
            self.chars += len(item.text)
        if isinstance(item, ParsedDocument) and is_wanted:
            self.to_cut.append(item)

    def pair_with_outcomes(
        self, cuts: Iterable[ChunkedText | ParseRefusal]
    ) -> Iterator[tuple[CorpusItem, CutOutcome]]:
        """Yield the items, with the outcome of those that were to be cut."""
        # By identity: equal records are different items, and each has its own outcome.
        outcomes, ids = iter(cuts), set(map(id, self.to_cut))
        for item in self.items:
            yield item, next(outcomes) if id(item) in ids else None


def _build_blocks(
    items: Iterable[CorpusItem], is_wanted: Callable[[ParsedDocument], bool]
) -> Iterator[_Block]:
    """Yield all items in blocks; a refusal ends the last block."""
    block = _Block()
    try:
        for item in items:
            block.add(item, is_wanted=isinstance(item, ParsedDocument) and is_wanted(item))
            if block.is_full:
                yield block
                block = _Block()
    except ParseRefusal as refusal:
        block.refused = refusal
    yield block


def _build_tasks(
    blocks: Iterable[_Block], place: str, ahead: deque[_Block]
) -> Iterator[CutRecordsTask]:
    """Yield a task for each block, also if it has no record to cut: so few are in `ahead`."""
    for block in blocks:
        ahead.append(block)
        yield CutRecordsTask(place, tuple(block.to_cut))


def _collect_outcomes(
    pool: WorkerPool, task: CutRecordsTask, result: TaskResult
) -> Iterator[ChunkedText | ParseRefusal]:
    """Yield the outcome of each record; if no worker survives them, cut them one by one."""
    if isinstance(result, tuple):
        yield from result
    elif len(task.records) != 1:
        for single_task, single_result in pool.run_in_order(
            CutRecordsTask(task.place, (record,)) for record in task.records
        ):
            yield from _collect_outcomes(pool, single_task, single_result)
    else:
        reason = (
            result.final_reason if isinstance(result, LostTask) else "its worker returned nothing"
        )
        yield ParseRefusal("failed", reason)
