"""The keyword index: BM25 with tantivy, derived from SQLite and kept at the same revision."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tantivy

from fathom.errors import RunError
from fathom.index.filters import SearchScope
from fathom.index.rows import compute_file_checksum

FOLDER = "tantivy"
"""The beginning of the name of a keyword index's folder."""
WRITER_HEAP_BYTES = 64_000_000
FEW_DOCUMENTS = 1000
"""Up to so many allowed documents are named in a query."""
MAX_COUNTED = 1000
"""The number up to which chunks with a word are counted."""
MAX_FOOTER_BYTES = 4096
"""The number of bytes at the end of a file that contain its footer."""


@dataclass(frozen=True, slots=True)
class KeywordEntry:
    """An entry of the keyword index: the numbers of a chunk and its document, and its terms."""

    chunk: int
    document: int
    terms: Sequence[str]


def _build_schema() -> tantivy.Schema:
    """Build the schema: the numbers of chunk and document, the terms, and the marker."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", indexed=True, fast=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("marker", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


class KeywordIndex:
    """One tantivy index in a folder, or in memory if `folder` is `None`.

    A marker names the state that the last commit brought. Tantivy commits the marker together with
    the change, so that the two always agree. The last chunk of the commit carries the marker, so
    that scores depend on chunks alone; if no chunk is added, the marker is a document of its own
    until the next commit. (In older indexes all markers are documents of their own; they count as
    chunks without words until a refill.)
    """

    def __init__(self, folder: Path | None, *, create: bool) -> None:
        """Open the index.

        Args:
            folder: The folder; `None` for a new index in memory.
            create: Create a missing index in the folder.

        Raises:
            RunError: If the index is missing, damaged or cannot be read.
        """
        self.folder = folder
        self._schema = _build_schema()
        self._links: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._index = tantivy.Index(self._schema)
        elif create or os.access(folder, os.W_OK) or not folder.is_dir():
            self._index = _open(folder, self._schema, create=create)
        else:
            self._index = self._open_unwritable(folder)
        # A reader that follows commits by itself locks its folder from a thread of its own, even
        # after it was closed. So this reader follows them only in `reload`.
        self._index.config_reader(reload_policy="manual")
        self._refresh_searcher()

    def _refresh_searcher(self) -> None:
        """Take a searcher of the index's present state; it sees no later commit."""
        self._searcher = self._index.searcher()
        self._marker: str | None = None

    def _open_unwritable(self, folder: Path) -> tantivy.Index:
        """Open a folder without write permission through links in a temporary folder.

        The links are needed because even a reader of tantivy writes a lock file beside the index.
        """
        # Tantivy starts a thread that may lock the files while the folder is removed.
        self._links = tempfile.TemporaryDirectory(prefix="fathom-", ignore_cleanup_errors=True)
        try:
            _link(folder, Path(self._links.name))
            return _open(Path(self._links.name), self._schema, create=False)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the temporary links; a second call does nothing."""
        if self._links is not None:
            self._links.cleanup()
            self._links = None

    def reload(self) -> None:
        """Move the searches to the last commit."""
        if self._links is not None and self.folder is not None:
            _link(self.folder, Path(self._links.name))
        self._index.reload()
        self._refresh_searcher()

    def get_marker(self) -> str:
        """Return the name of the state that searches see; empty before the first commit.

        Every search asks for the marker, so it is cached.
        """
        if self._marker is None:
            self._marker = self._read_marker()
        return self._marker

    def _read_marker(self) -> str:
        """Return the latest marker; older ones stay with the chunks that carried them."""
        markers = [term for term, _ in self._searcher.terms_with_prefix("marker", "")]
        return max(markers, key=_parse_revision, default="")

    def count_chunks(self) -> int:
        """Return the number of chunks."""
        bare_markers = self._searcher.search(self._query_bare_markers(), 2, count=False).hits
        return int(self._searcher.num_docs) - len(bare_markers)

    def _query_bare_markers(self) -> tantivy.Query:
        """Return the query for markers that are documents of their own."""
        every = tantivy.Query.regex_query(self._schema, "marker", ".*")
        carried = tantivy.Query.exists_query("chunk")
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, every), (tantivy.Occur.MustNot, carried)]
        )

    def apply(self, entered: Iterable[KeywordEntry], removed: Sequence[int], marker: str) -> None:
        """Add and remove chunks and set the marker, in one commit: all of it or nothing.

        Args:
            entered: The chunks to add.
            removed: The numbers of the chunks to remove.
            marker: The name of the state that the commit brings.

        Raises:
            RunError: If the disk is full or the folder cannot be written.
        """
        self._commit(entered, removed, marker)

    def refill(self, entered: Iterable[KeywordEntry], marker: str) -> None:
        """Replace all chunks and set the marker, in one commit, as `apply` does."""
        self._commit(entered, None, marker)

    def _commit(
        self, entered: Iterable[KeywordEntry], removed: Sequence[int] | None, marker: str
    ) -> None:
        """Run the commit of `apply`; `None` for `removed` removes all chunks first."""
        try:
            with self._open_writer() as writer:
                # Files that a killed commit left behind have the names that this commit will use.
                writer.garbage_collect_files()
                if removed is None:
                    writer.delete_all_documents()
                else:
                    self._remove(writer, removed)
                last = tantivy.Document()
                for number, entry in enumerate(entered):
                    if number:
                        writer.add_document(last)
                    last = _build_document(entry)
                last.add_text("marker", marker)
                writer.add_document(last)
                writer.commit()
        except (ValueError, OSError) as error:
            name = self.folder or "the keyword index"
            raise RunError(f"{name} cannot be written: {error}") from error
        self.reload()

    @contextmanager
    def _open_writer(self) -> Iterator[tantivy.IndexWriter]:
        """Open tantivy's writer for a `with` block; the block's end frees its lock."""
        writer = self._index.writer(WRITER_HEAP_BYTES, 1)
        try:
            yield writer
        except BaseException:
            # The error holds the writer, so the garbage collector would free the lock late. A
            # second error, of the wait, must not hide the first one.
            with suppress(ValueError, OSError):
                writer.wait_merging_threads()
            raise
        writer.wait_merging_threads()

    def _remove(self, writer: tantivy.IndexWriter, numbers: Sequence[int]) -> None:
        """Remove chunks, and the markers that are documents of their own."""
        # By query, because deletion by term reads the number as signed and finds nothing.
        if numbers:
            writer.delete_documents_by_query(
                tantivy.Query.term_set_query(self._schema, "chunk", list(numbers))
            )
        writer.delete_documents_by_query(self._query_bare_markers())

    def search(
        self, terms: Mapping[str, int], *, k: int, allowed: SearchScope | None
    ) -> list[tuple[int, float]]:
        """Return at least the `k` best chunks, and all ties of the last, best first.

        Args:
            terms: The number of times that the query has each term.
            k: The number of chunks, at least 1.
            allowed: The chunks that may be returned; `None` for all.

        Returns:
            The numbers of the chunks and their BM25 scores; fewer than `k` if fewer match.
        """
        if not terms or (allowed is not None and not len(allowed.chunks)):
            return []
        query = self._build_query(terms, allowed)
        # A few more than k, because ties with the last hit must all be returned.
        limit = k + 16
        while True:
            hits = self._searcher.search(query, limit, count=False).hits
            matches = self._resolve_numbers(hits, allowed)
            complete = len(hits) < limit
            if complete or (len(matches) > k and matches[k - 1][1] > matches[-1][1]):
                return matches
            limit *= 4

    def count_chunks_with(self, terms: Sequence[str]) -> int:
        """Return the number of chunks that contain any of the terms, at most `MAX_COUNTED`."""
        # Tantivy's frequencies include removed chunks until a merge, so the chunks are counted.
        occurring = [term for term in terms if self._searcher.doc_freq("body", term)]
        if not occurring:
            return 0
        query = self._build_query(dict.fromkeys(occurring, 1), None)
        return len(self._searcher.search(query, MAX_COUNTED, count=False).hits)

    def _resolve_numbers(
        self, hits: list[tuple[float, tantivy.DocAddress]], allowed: SearchScope | None
    ) -> list[tuple[int, float]]:
        """Return the chunk numbers and scores of hits, without the chunks that are not allowed."""
        addresses = [address for _, address in hits]
        numbers = np.array(self._searcher.fast_field_values("chunk", addresses), dtype=np.int64)
        scores = [float(score) for score, _ in hits]
        pairs = list(zip(numbers.tolist(), scores, strict=True))
        if allowed is None:
            return pairs
        inside = np.isin(numbers, allowed.chunks)
        return [pair for pair, is_inside in zip(pairs, inside, strict=True) if is_inside]

    def _build_query(self, terms: Mapping[str, int], allowed: SearchScope | None) -> tantivy.Query:
        """Build the query for any of the terms, in the allowed documents if these are few."""
        words = [
            (tantivy.Occur.Should, self._build_term_query(term, count))
            for term, count in terms.items()
        ]
        query = tantivy.Query.boolean_query(words)
        # A query of many document numbers is slower than dropping the hits outside them.
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

    def _build_term_query(self, term: str, count: int) -> tantivy.Query:
        """Build the query for a term that occurs `count` times in the user's query."""
        query = tantivy.Query.term_query(self._schema, "body", term, index_option="freq")
        return tantivy.Query.boost_query(query, float(count)) if count > 1 else query


def _build_document(entry: KeywordEntry) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("chunk", entry.chunk)
    document.add_unsigned("document", entry.document)
    document.add_text("body", " ".join(entry.terms))
    return document


def _parse_revision(marker: str) -> int:
    """Return the number of the revision at the end of a marker; -1 if it has none."""
    number = marker.rpartition(".")[2]
    return int(number) if number.isdigit() else -1


def _open(folder: Path, schema: tantivy.Schema, *, create: bool) -> tantivy.Index:
    """Open the index in a folder, or with `create` create a missing one.

    Raises:
        RunError: If it is missing, damaged or cannot be read.
    """
    try:
        if create and not tantivy.Index.exists(str(_make_folder(folder))):
            return tantivy.Index(schema, str(folder))
        damaged = find_damaged_files(folder)
        if damaged:
            raise RunError(f"{damaged[0]} is damaged")
        return tantivy.Index.open(str(folder))
    except (ValueError, OSError) as error:
        raise RunError(f"{folder} cannot be read: {error}") from error


def _link(folder: Path, links: Path) -> None:
    """Link the files of an index, except its lock files, into another folder."""
    for path in folder.iterdir():
        link = links / path.name
        if not (path.name.startswith(".tantivy") or link.is_symlink()):
            link.symlink_to(path.absolute())


def find_damaged_files(folder: Path) -> list[Path]:
    """Return the files of the last commit that do not match the checksum at their end.

    If the commit itself cannot be read, `meta.json` is returned.
    """
    try:
        segments = json.loads((folder / "meta.json").read_bytes())["segments"]
    except (OSError, ValueError, KeyError):
        return [folder / "meta.json"]
    names = [segment["segment_id"].replace("-", "") for segment in segments]
    files = sorted(path for name in names for path in folder.glob(f"{name}.*"))
    return [path for path in files if path.suffix != ".del" and not _footer_matches(path)]


def _footer_matches(path: Path) -> bool:
    """Return whether the CRC-32 in the footer of a file is that of the bytes before it."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - MAX_FOOTER_BYTES))
            tail = file.read()
        length = int.from_bytes(tail[-8:-4], "little")
        footer = json.loads(tail[-8 - length : -8])
        return bool(footer["crc"] == compute_file_checksum(path, size - 8 - length))
    except FileNotFoundError:
        return True  # a writer has merged the file into another one meanwhile
    except (ValueError, KeyError, TypeError):
        return False


def _make_folder(folder: Path) -> Path:
    """Create a folder if it is missing, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def discard_unlisted_files(folder: Path) -> None:
    """Remove files that belong neither to the last commit nor to tantivy's list of its files.

    After a loss of power the list may be older than the files. Tantivy removes only listed files,
    and refuses to write a file whose name is taken.
    """
    try:
        listed = set(json.loads((folder / ".managed.json").read_bytes()))
        segments = json.loads((folder / "meta.json").read_bytes())["segments"]
    except (OSError, ValueError, KeyError):
        return  # a folder that cannot be read is made anew
    deletions = {
        segment["segment_id"].replace("-", ""): (segment["deletes"] or {}).get("opstamp")
        for segment in segments
    }
    for path in folder.glob(f"{'[0-9a-f]' * 32}.*"):
        segment, *stamp = path.name.split(".")[:-1]
        is_committed = segment in deletions and stamp in ([], [str(deletions[segment])])
        if not is_committed and path.name not in listed:
            path.unlink(missing_ok=True)


def discard_folder(folder: Path) -> None:
    """Remove the folder of a keyword index."""
    shutil.rmtree(folder, ignore_errors=True)
