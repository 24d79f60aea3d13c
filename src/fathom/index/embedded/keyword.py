"""The keyword leg: BM25 over tantivy, derived from SQLite and of one revision with it."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tantivy

from fathom.errors import RunError
from fathom.index.filters import Allowed
from fathom.index.rows import file_checksum

FOLDER = "tantivy"
WRITER_HEAP_BYTES = 64_000_000
FEW_DOCUMENTS = 1000
MOST_COUNTED = 1000
MOST_FOOTER = 4096


@dataclass(frozen=True, slots=True)
class Entered:
    """A chunk as the keyword leg takes it: its number, its document's, its terms in order."""

    chunk: int
    document: int
    terms: Sequence[str]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", indexed=True, fast=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("marker", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


class KeywordLeg:
    """One tantivy index in a folder, or in memory where `folder` is `None`.

    A marker names the state that the last commit brought; tantivy commits it together with the
    change, so that the two cannot part. The last chunk of the commit carries it, so that scores
    depend on chunks alone; where none is added it is a document of its own until the next commit.
    (In indexes made before, all are: there they count as chunks without words until a refill.)
    """

    def __init__(self, folder: Path | None, *, create: bool) -> None:
        """Open the index.

        Raises:
            RunError: If it is missing or cannot be read.
        """
        self.folder = folder
        self._schema = _schema()
        self._links: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._index = tantivy.Index(self._schema)
        elif create or os.access(folder, os.W_OK) or not folder.is_dir():
            self._index = _open(folder, self._schema, create=create)
        else:
            self._index = self._open_unwritable(folder)
        # A reader that follows commits by itself locks its folder from a thread of its own, also
        # after it was closed; this one follows when it is told to.
        self._index.config_reader(reload_policy="manual")
        self._see()

    def _see(self) -> None:
        """Look at the index as it is now; what is seen stays until the next time."""
        self._searcher = self._index.searcher()
        self._marker: str | None = None

    def _open_unwritable(self, folder: Path) -> tantivy.Index:
        """Whoever reads must write a lock file beside it: links to the files stand elsewhere."""
        # Opening it starts a thread of tantivy that may lock the files while they are removed.
        self._links = tempfile.TemporaryDirectory(prefix="fathom-", ignore_cleanup_errors=True)
        try:
            _link(folder, Path(self._links.name))
            return _open(Path(self._links.name), self._schema, create=False)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of what was needed to read it; calling it twice is fine."""
        if self._links is not None:
            self._links.cleanup()
            self._links = None

    def reload(self) -> None:
        """See the last commit."""
        if self._links is not None and self.folder is not None:
            _link(self.folder, Path(self._links.name))
        self._index.reload()
        self._see()

    def marker(self) -> str:
        """Which state is seen; empty when it has none. Every search asks, so it is remembered."""
        if self._marker is None:
            self._marker = self._read_marker()
        return self._marker

    def _read_marker(self) -> str:
        """The latest: older ones stay with the chunks that carried them."""
        found = [term for term, _ in self._searcher.terms_with_prefix("marker", "")]
        return max(found, key=_order, default="")

    def count(self) -> int:
        """Number of chunks."""
        alone = self._searcher.search(self._alone(), 2, count=False).hits
        return int(self._searcher.num_docs) - len(alone)

    def _alone(self) -> tantivy.Query:
        """Markers that are documents of their own."""
        every = tantivy.Query.regex_query(self._schema, "marker", ".*")
        carried = tantivy.Query.exists_query("chunk")
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, every), (tantivy.Occur.MustNot, carried)]
        )

    def apply(self, entered: Iterable[Entered], removed: Sequence[int], marker: str) -> None:
        """Add and remove chunks and set the marker, in one commit; all of it or nothing is kept.

        Raises:
            RunError: If the disk is full or the folder cannot be written.
        """
        self._commit(entered, removed, marker)

    def refill(self, entered: Iterable[Entered], marker: str) -> None:
        """Replace all chunks; else like `apply`."""
        self._commit(entered, None, marker)

    def _commit(
        self, entered: Iterable[Entered], removed: Sequence[int] | None, marker: str
    ) -> None:
        try:
            writer = self._index.writer(WRITER_HEAP_BYTES, 1)
            # What a killed commit left behind has the names that this one is going to use.
            writer.garbage_collect_files()
            if removed is None:
                writer.delete_all_documents()
            else:
                self._remove(writer, removed)
            last = tantivy.Document()
            for number, one in enumerate(entered):
                if number:
                    writer.add_document(last)
                last = _document(one)
            last.add_text("marker", marker)
            writer.add_document(last)
            writer.commit()
            writer.wait_merging_threads()
        except (ValueError, OSError) as error:
            raise RunError(f"the keyword index cannot be written: {error}") from error
        self.reload()

    def _remove(self, writer: tantivy.IndexWriter, numbers: Sequence[int]) -> None:
        # By query: deletion by term reads the number as signed and so finds nothing.
        if numbers:
            writer.delete_documents_by_query(
                tantivy.Query.term_set_query(self._schema, "chunk", list(numbers))
            )
        writer.delete_documents_by_query(self._alone())

    def search(
        self, terms: Mapping[str, int], *, k: int, allowed: Allowed | None
    ) -> list[tuple[int, float]]:
        """The best chunks by number with their scores, at least `k` if there are, all ties in."""
        if not terms or (allowed is not None and not len(allowed.chunks)):
            return []
        query = self._query(terms, allowed)
        limit = k + 16
        while True:
            found = self._searcher.search(query, limit, count=False).hits
            kept = self._numbered(found, allowed)
            complete = len(found) < limit
            if complete or (len(kept) > k and kept[k - 1][1] > kept[-1][1]):
                return kept
            limit *= 4

    def chunks_with(self, terms: Sequence[str]) -> int:
        """How many chunks have any of the terms, counted up to `MOST_COUNTED`."""
        # Those of removed chunks are in the frequency until their segment is merged.
        held = [term for term in terms if self._searcher.doc_freq("body", term)]
        if not held:
            return 0
        query = self._query(dict.fromkeys(held, 1), None)
        return len(self._searcher.search(query, MOST_COUNTED, count=False).hits)

    def _numbered(
        self, found: list[tuple[float, tantivy.DocAddress]], allowed: Allowed | None
    ) -> list[tuple[int, float]]:
        addresses = [address for _, address in found]
        numbers = np.array(self._searcher.fast_field_values("chunk", addresses), dtype=np.int64)
        scores = [float(score) for score, _ in found]
        pairs = list(zip(numbers.tolist(), scores, strict=True))
        if allowed is None:
            return pairs
        inside = np.isin(numbers, allowed.chunks)
        return [pair for pair, kept in zip(pairs, inside, strict=True) if kept]

    def _query(self, terms: Mapping[str, int], allowed: Allowed | None) -> tantivy.Query:
        words = [(tantivy.Occur.Should, self._term(term, count)) for term, count in terms.items()]
        query = tantivy.Query.boolean_query(words)
        if allowed is None or len(allowed.documents) > FEW_DOCUMENTS:
            return query
        numbers = [int(number) for number in allowed.documents]
        inside = tantivy.Query.term_set_query(self._schema, "document", numbers)
        return tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Must, query),
                (tantivy.Occur.Must, tantivy.Query.const_score_query(inside, 0.0)),
            ]
        )

    def _term(self, term: str, count: int) -> tantivy.Query:
        query = tantivy.Query.term_query(self._schema, "body", term, index_option="freq")
        return tantivy.Query.boost_query(query, float(count)) if count > 1 else query


def _document(one: Entered) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("chunk", one.chunk)
    document.add_unsigned("document", one.document)
    document.add_text("body", " ".join(one.terms))
    return document


def _order(marker: str) -> int:
    """Markers end with the number of a revision."""
    number = marker.rpartition(".")[2]
    return int(number) if number.isdigit() else -1


def _open(folder: Path, schema: tantivy.Schema, *, create: bool) -> tantivy.Index:
    try:
        if create and not tantivy.Index.exists(str(_made(folder))):
            return tantivy.Index(schema, str(folder))
        damaged = damaged_files(folder)
        if damaged:
            raise RunError(f"{damaged[0]} is damaged")
        return tantivy.Index.open(str(folder))
    except (ValueError, OSError) as error:
        raise RunError(f"{folder} cannot be read: {error}") from error


def _link(folder: Path, links: Path) -> None:
    for path in folder.iterdir():
        link = links / path.name
        if not (path.name.startswith(".tantivy") or link.is_symlink()):
            link.symlink_to(path.absolute())


def damaged_files(folder: Path) -> list[Path]:
    """Files of the last commit that do not agree with the checksum at their end."""
    try:
        segments = json.loads((folder / "meta.json").read_bytes())["segments"]
    except (OSError, ValueError, KeyError):
        return [folder / "meta.json"]
    names = [segment["segment_id"].replace("-", "") for segment in segments]
    files = sorted(path for name in names for path in folder.glob(f"{name}.*"))
    return [path for path in files if path.suffix != ".del" and not _footer_holds(path)]


def _footer_holds(path: Path) -> bool:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - MOST_FOOTER))
            end = file.read()
        length = int.from_bytes(end[-8:-4], "little")
        footer = json.loads(end[-8 - length : -8])
        return bool(footer["crc"] == file_checksum(path, size - 8 - length))
    except FileNotFoundError:
        return True  # a writer has merged it away meanwhile
    except (ValueError, KeyError, TypeError):
        return False


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def discard(folder: Path) -> None:
    """Remove a keyword index that is unsound."""
    shutil.rmtree(folder, ignore_errors=True)
