"""What reading one file may cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps for one file; for a corpus, time and CPU hold for each batch of records.

    Attributes:
        memory_bytes: Address space of the reading process.
        cpu_s: Seconds of processor time.
        wall_s: Seconds by the clock.
        file_bytes: Size of a file that is read as a whole.
        text_chars: Characters of text one document may give.
        corpus_bytes: Unpacked size of a corpus that is read record by record.
    """

    memory_bytes: int = 1 << 30
    cpu_s: int = 20
    wall_s: float = 30
    file_bytes: int = 200_000_000
    text_chars: int = 20_000_000
    corpus_bytes: int = 20_000_000_000
