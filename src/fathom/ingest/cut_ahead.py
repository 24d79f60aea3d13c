"""Records of a corpus file that workers cut while the writing process reads on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fathom.documents.base import ParsedDocument, ParseRefusal, RecordFailure
from fathom.ingest.workers.base import ChunkedText, CutRecordsTask, LostTask, TaskResult, WorkerPool

MAX_RECORDS = 64
"""The largest number of items in a worker's task."""
MAX_CHARS = 100_000
"""The number of characters from which on a worker's task is full."""

CorpusItem = ParsedDocument | RecordFailure
CutOutcome = ChunkedText | ParseRefusal | None
"""The chunks of a record, or the reason why it cannot be cut; `None` if no worker got it."""


def cut_ahead(
    items: Iterable[CorpusItem],
    place: str,
    pool: WorkerPool | None,
    is_wanted: Callable[[ParsedDocument], bool],
) -> Iterator[tuple[CorpusItem, CutOutcome]]:
    """Yield the items in their order, each with its outcome from a worker.

    The number of items in memory is bounded.

    Args:
        items: The items of a corpus file.
        place: The place of the file.
        pool: The workers; without them no record is cut here, and all outcomes are `None`.
        is_wanted: The function that returns whether a record must be cut; the index may have it
            already.

    Raises:
        ParseRefusal: If reading `items` raises it; the items before it are yielded first.
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
    """Successive items of a file, for one task of a worker.

    Attributes:
        items: The items.
        to_cut: The records among them that are to be cut.
        chars: The number of characters of the records.
        refused: The refusal after the items, which ended the file; `None` without one.
    """

    items: list[CorpusItem] = field(default_factory=list)
    to_cut: list[ParsedDocument] = field(default_factory=list)
    chars: int = 0
    refused: ParseRefusal | None = None

    @property
    def is_full(self) -> bool:
        """True if the block takes no more items."""
        return len(self.items) >= MAX_RECORDS or self.chars >= MAX_CHARS

    def add(self, item: CorpusItem, *, is_wanted: bool) -> None:
        """Add an item."""
        self.items.append(item)
        if isinstance(item, ParsedDocument):
            self.chars += len(item.text)
        if isinstance(item, ParsedDocument) and is_wanted:
            self.to_cut.append(item)

    def pair_with_outcomes(
        self, cuts: Iterable[ChunkedText | ParseRefusal]
    ) -> Iterator[tuple[CorpusItem, CutOutcome]]:
        """Yield the items with their outcomes; `None` for those that were not to be cut."""
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
    """Yield a task for each block, and append the block to `ahead`.

    A block without a record to cut gets a task too, so that the number of blocks in `ahead` is that
    of tasks.
    """
    for block in blocks:
        ahead.append(block)
        yield CutRecordsTask(place, tuple(block.to_cut))


def _collect_outcomes(
    pool: WorkerPool, task: CutRecordsTask, result: TaskResult
) -> Iterator[ChunkedText | ParseRefusal]:
    """Yield the outcome of each record of a task.

    If no worker survived the task, its records are cut one by one, to find the one that is to
    blame.
    """
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
