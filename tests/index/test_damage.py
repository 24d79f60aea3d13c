"""Damaged pages of the database are reported by every reader and writer."""

import gc
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fathom.errors import IndexCorrupt, IndexMismatch
from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.opening import open_reader, open_writer
from fathom.index.embedded.schema import FILE

EntryFactory = Callable[..., tuple[Entry, SourceRecord]]
PAGE = 4096


def read_all(directory: Path, stored: set[str]) -> None:
    with open_reader(directory, {"a": "1"}, mend=False) as reader:
        documents = [reader.get_document(document.id) for document in reader.list_documents()]
        reader.chunks([match.chunk_id for match in reader.keyword_search("salt", k=99)])
        reader.status()
        # Damage of what nobody reads is no harm, but no other text is given.
        assert {document.text for document in documents if document is not None} <= stored


def forget_all(directory: Path, _stored: set[str]) -> None:
    with open_writer(directory, {"a": "1"}) as writer:
        writer.forget([source.path for source in writer.list_sources()][:1])


def damage_page(sound: bytes, rng: random.Random) -> Iterator[bytes]:
    """Yield the file with one page zeroed, one of noise, and with some bits of one flipped."""
    for start in range(0, len(sound), PAGE):
        page = bytearray(sound[start : start + PAGE])
        for _ in range(20):
            page[rng.randrange(PAGE)] ^= 1 << rng.randrange(8)
        for other in (bytes(PAGE), rng.randbytes(PAGE), bytes(page)):
            yield sound[:start] + other + sound[start + PAGE :]


@pytest.mark.parametrize("use", [read_all, forget_all])
def test_damaged_pages_are_named_as_damage(
    tmp_path: Path, make: EntryFactory, use: Callable[[Path, set[str]], None]
) -> None:
    rng = random.Random(7)
    words = ["salt", "pepper", "ginger"]
    entries = [make(f"d{n:02}", " ".join(rng.choices(words, k=500))) for n in range(10)]
    with open_writer(tmp_path, {"a": "1"}) as writer:
        writer.put([entry for entry, _ in entries], [source for _, source in entries])
    file = tmp_path / FILE
    sound = file.read_bytes()
    messages = []
    for data in damage_page(sound, rng):
        gc.collect()  # the frames of an error hold cursors, which keep the replaced file open
        for log in tmp_path.glob(f"{FILE}-*"):
            log.unlink()
        file.write_bytes(data)
        try:
            use(tmp_path, {entry.document.text for entry, _ in entries})
        except IndexCorrupt as error:
            messages.append(str(error))
        except IndexMismatch:
            pass  # its identity was hit
    assert len(messages) > len(sound) // PAGE // 2
    assert all("is damaged (" in message and "--rebuild" in message for message in messages)
    assert not any("pepper" in message for message in messages)  # no text of a document is shown
