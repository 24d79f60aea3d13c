"""The writer of an index on a server: each call is one transaction, and writers take turns."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePath

import numpy as np

from fathom.errors import RunError
from fathom.index.base import Entry, SourceRecord, Space, Vector
from fathom.index.postgres import rights
from fathom.index.postgres.halfvec import pack_vector
from fathom.index.postgres.reader import PostgresReader
from fathom.index.postgres.search_backend import ChunkPostings
from fathom.index.postgres.spaces import create_space, drop_space
from fathom.index.postgres.store import PostgresStore, SpaceTable, read_index_row
from fathom.index.rights import ReadingRule
from fathom.index.rows import (
    HalfMatrix,
    compute_checksum,
    compute_document_fingerprint,
    compute_entry_fingerprint,
    compute_kept_key,
    list_kept_keys,
    pack_headings,
    pack_metadata,
    pack_structure,
)
from fathom.index.validation import check_entries, check_vectors
from fathom.types import Chunk


class PostgresWriter(PostgresReader):
    """The writer of a workspace's index.

    A change locks the row of the index until it is committed. So writers wait for each other, but
    readers never wait.
    """

    @contextmanager
    def _begin_change(self) -> Iterator[PostgresStore]:
        """Yield a store for a change, which is committed at the end of the `with` block.

        If the block fails, nothing is stored.
        """
        with self._begin_transaction() as store:
            yield store
        self._backend.notify_commit(self._connections, store.index.no)

    @contextmanager
    def _begin_transaction(self) -> Iterator[PostgresStore]:
        """Yield a store in a transaction that locks the index.

        Raises:
            RunError: If another index has replaced this one.
        """
        with self._connections.borrow() as connection, connection.transaction():
            row = read_index_row(connection, self._number, lock=True)
            if row is None:
                raise RunError(f"{self._connections.address} was made anew; run it again")
            yield PostgresStore(connection, row)

    def catch_up(self) -> None:
        """Let the search backend take the rows of the index that it lacks."""
        with self._begin_transaction() as store:
            self._backend.check_backend(store)
            self._backend.catch_up(store)

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> None:
        """Store documents and the records of their places, in one step.

        Raises:
            ValueError: If vectors, chunks and documents do not fit together.
            IndexMismatch: If the vectors have another dimension than the stored ones.
            RunError: If the change cannot be stored; nothing is stored then.
        """
        first = self._backend.reserve_numbers(
            self._begin_transaction, sum(len(entry.chunks) for entry in entries)
        )
        with self._begin_change() as store:
            spaces = {space.name: space for space in store.list_spaces()}
            check_entries(entries, {name: space.dimension for name, space in spaces.items()})
            removed = _remove_documents(store, [entry.document.id for entry in entries])
            posted = self._add_entries(store, entries, spaces, first)
            _drop_kept_keys(store, list_kept_keys(entries))
            released = _replace_sources(store, sources)
            removed += _remove_documents(store, _find_orphans(store, released))
            self._backend.remove(store, removed)
            _move_documents(store, released)
            store.publish(chunks=bool(posted or removed))

    def forget(self, paths: Sequence[str], *, purge: bool = True) -> int:
        """Remove places and the documents that only they hold; return the number of documents."""
        with self._begin_change() as store:
            released = _remove_sources(store, paths)
            orphans = _find_orphans(store, released)
            removed = _remove_documents(store, orphans)
            self._backend.remove(store, removed)
            _move_documents(store, released)
            store.publish(chunks=bool(removed))
            if removed and purge:
                self._backend.purge(store)
        return len(orphans)

    def purge(self) -> None:
        """Delete the words of removed documents from the search backend."""
        with self._begin_change() as store:
            self._backend.purge(store)

    def _add_entries(
        self,
        store: PostgresStore,
        entries: Sequence[Entry],
        spaces: Mapping[str, SpaceTable],
        first: int | None,
    ) -> list[ChunkPostings]:
        """Insert documents with their chunks, vectors and words.

        Args:
            store: The store of the change.
            entries: The documents.
            spaces: The spaces of the index, by name.
            first: The first reserved number for the chunks; `None` takes the next free one.

        Returns:
            The words of the chunks, as the backend got them.
        """
        posted: list[ChunkPostings] = []
        terms_of = store.analyzer.list_document_terms
        document_no, chunk_no = store.index.next_document, first or store.index.next_chunk
        vectors: dict[str, dict[int, HalfMatrix]] = {name: {} for name in spaces}
        documents, chunks = [], []
        for number, entry in enumerate(entries, start=document_no):
            documents.append(_build_document_row(store, entry, number))
            numbers = range(chunk_no, chunk_no + len(entry.chunks))
            chunk_no = numbers.stop
            chunks += [
                _build_chunk_row(store, chunk, number, chunk_number)
                for chunk_number, chunk in zip(numbers, entry.chunks, strict=True)
            ]
            main = {} if entry.vectors is None else {"": entry.vectors}
            for name, matrix in {**main, **entry.more}.items():
                vectors[name].update(zip(numbers, matrix.astype(np.float16), strict=True))
            language = entry.document.language
            posted += [
                ChunkPostings(chunk_number, number, Counter(terms_of(chunk.context, language)))
                for chunk_number, chunk in zip(numbers, entry.chunks, strict=True)
            ]
        store.run(
            "UPDATE fathom.indexes SET next_document = %(document)s, "
            "next_chunk = greatest(next_chunk, %(chunk)s) WHERE no = %(index)s",
            document=document_no + len(entries),
            chunk=chunk_no,
        )
        store.insert(_DOCUMENT_COLUMNS, documents)
        store.insert(_CHUNK_COLUMNS, chunks)
        if store.read_rights():
            rights.add_document_readers(
                store, ((entry.document.id, entry.document.metadata) for entry in entries)
            )
        _update_term_counts(store, posted, 1)
        self._backend.add(store, posted)
        for name, rows in vectors.items():
            self._add_vectors(store, spaces[name], rows)
        return posted

    def _add_vectors(
        self, store: PostgresStore, space: SpaceTable, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        """Insert vectors by chunk number into a space, and into the backend."""
        if not vectors:
            return
        table = space.table.removeprefix("fathom.")
        rows = [
            (store.index.workspace_no, no, pack_vector(vector)) for no, vector in vectors.items()
        ]
        store.insert(f"{table}(workspace_no, chunk_no, vector)", rows)
        store.run(
            "UPDATE fathom.spaces SET filled = filled + %(more)s, dimension = %(dimension)s "
            "WHERE no = %(space)s",
            more=len(vectors),
            dimension=len(next(iter(vectors.values()))),
            space=space.no,
        )
        self._backend.add_vectors(store, space, vectors)

    def set_roots(self, roots: Sequence[str]) -> None:
        """Store which files and folders the index shall hold, in place of the earlier ones."""
        with self._begin_change() as store:
            store.run(
                "UPDATE fathom.indexes SET roots = %(data)s WHERE no = %(index)s",
                data=json.dumps(list(roots)),
            )

    def set_rights(self, rules: Sequence[ReadingRule]) -> None:
        """Store who may read which places, and publish it as a new revision.

        Raises:
            UsageError: If there are rules, and row-level security does not bind the role.
        """
        with self._begin_change() as store:
            if tuple(rules) != store.read_rights():
                rights.store_rules(store, rules)
                store.publish(chunks=False)

    def keep_calibration(self, strategy: str, data: str) -> None:
        """Store the calibration of a strategy in place of the older one; empty data removes it."""
        with self._begin_change() as store:
            store.run(
                "DELETE FROM fathom.calibrations WHERE index_no = %(index)s "
                "AND strategy = %(name)s",
                name=strategy,
            )
            if data:
                store.run(
                    "INSERT INTO fathom.calibrations(index_no, workspace_no, strategy, data) "
                    "VALUES (%(index)s, %(workspace)s, %(name)s, %(data)s)",
                    name=strategy,
                    data=data,
                )

    def keep_vectors(self, vectors: Mapping[str, Vector], *, space: str = "") -> None:
        """Keep vectors by their texts, until a chunk with the text is stored with a vector."""
        with self._begin_change() as store, store.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO fathom.kept VALUES (%s, %s, %s, %s) ON CONFLICT (index_no, key) "
                "DO UPDATE SET vector = excluded.vector",
                [
                    (
                        store.index.no,
                        store.index.workspace_no,
                        compute_kept_key(text, space),
                        vector.tobytes(),
                    )
                    for text, vector in vectors.items()
                ],
            )

    def get_kept_vectors(self, texts: Sequence[str], *, space: str = "") -> dict[str, Vector]:
        """Return the kept vectors of these texts, by text; texts without one are left out."""
        by_key = {compute_kept_key(text, space): text for text in texts}
        with self._open_store() as store:
            rows = store.select_rows(
                "SELECT key, vector FROM fathom.kept WHERE index_no = %s AND key = ANY(%s)",
                list(by_key),
            )
        return {by_key[row["key"]]: np.frombuffer(row["vector"], np.float32) for row in rows}

    def create_spaces(self, spaces: Sequence[Space]) -> None:
        """Create these further spaces, empty, if they are missing or have another identity."""
        with self._begin_change() as store:
            stored = {space.name: space for space in store.list_spaces()}
            for space in spaces:
                earlier = stored.get(space.name)
                if earlier is not None and earlier.identity == space.identity:
                    continue
                if earlier is not None:
                    self._drop_space(store, earlier)
                create_space(store, space)

    def drop_space(self, name: str) -> bool:
        """Remove a further space with its vectors; return whether it existed."""
        with self._begin_change() as store:
            space = store.find_space(name) if name else None
            if space is not None:
                self._drop_space(store, space)
        return space is not None

    def _drop_space(self, store: PostgresStore, space: SpaceTable) -> None:
        """Remove a space from the backend and from the index."""
        self._backend.drop_space(store, space)
        drop_space(store, space)

    def list_unembedded_chunks(self, space: str, *, most: int, after: str = "") -> list[Chunk]:
        """Return the first chunks that have no vector in a space, in the order of their arrival."""
        with self._open_store() as store:
            stored = store.require_space(space)
            if not store.count_unembedded(stored):
                return []
            ids = store.list_unembedded_ids(stored, most, after)
        return self.chunks(ids)

    def fill(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors in a space, by chunk id, for the chunks that lack one.

        Raises:
            ValueError: If the index has no such space.
            IndexMismatch: If the vectors have another dimension than the stored ones.
        """
        with self._begin_change() as store:
            stored = store.require_space(space)
            chunks = store.read_chunks(list(vectors))
            check_vectors([vectors[chunk_id] for chunk_id in chunks], stored.name, stored.dimension)
            numbers = store.look_up_numbers(chunks)
            filled = set(store.read_vectors([*numbers.values()], stored)[0].tolist())
            fresh = {
                number: vectors[chunk_id].astype(np.float16)
                for chunk_id, number in numbers.items()
                if number not in filled
            }
            self._add_vectors(store, stored, fresh)
            _drop_kept_keys(
                store, [compute_kept_key(chunk.context, space) for chunk in chunks.values()]
            )
            if not space:
                _update_fingerprints(
                    store, {chunk.document_id for chunk in chunks.values()}, stored
                )
            store.publish(chunks=False)

    def rebuild_backend(self) -> None:
        """Rebuild the search backend from the rows of the index."""
        with self._begin_change() as store:
            self._backend.rebuild(store)
        self._backend.finish_background_work(self._connections, store.index.no)

    def optimize(self) -> None:
        """Delete kept vectors, and prepare the fastest searches."""
        with self._begin_change() as store:
            store.run("DELETE FROM fathom.kept WHERE index_no = %(index)s")
            self._backend.optimize(store)
        self._backend.finish_background_work(self._connections, store.index.no)


_DOCUMENT_COLUMNS = (
    "documents(index_no, no, workspace_no, id, path, file, folder, title, language, metadata, "
    "fields, digest, fingerprint, updated, text, blocks, checksum)"
)
_CHUNK_COLUMNS = (
    'chunks(index_no, no, workspace_no, id, document_no, ordinal, start, "end", page, headings)'
)


def _build_document_row(store: PostgresStore, entry: Entry, number: int) -> tuple[object, ...]:
    """Return a row for `_DOCUMENT_COLUMNS`."""
    document, blocks = entry.document, pack_structure(entry.document)
    path, metadata = PurePath(document.path), pack_metadata(document.metadata)
    text = document.text.encode()
    return (
        store.index.no,
        number,
        store.index.workspace_no,
        document.id,
        document.path,
        path.name,
        path.parent.name,
        document.title,
        document.language,
        metadata,
        # jsonb refuses the null character; the text of the metadata keeps it.
        metadata.replace("\\u0000", ""),
        entry.digest,
        compute_entry_fingerprint(entry),
        datetime.now(UTC).isoformat(timespec="seconds"),
        text,
        blocks,
        compute_checksum(text, blocks),
    )


def _build_chunk_row(
    store: PostgresStore, chunk: Chunk, document: int, number: int
) -> tuple[object, ...]:
    """Return a row for `_CHUNK_COLUMNS`."""
    return (
        store.index.no,
        number,
        store.index.workspace_no,
        chunk.id,
        document,
        chunk.ordinal,
        chunk.span.start,
        chunk.span.end,
        chunk.page,
        pack_headings(chunk.headings),
    )


def _update_term_counts(store: PostgresStore, posted: Sequence[ChunkPostings], sign: int) -> None:
    """Update the statistics of BM25 when chunks are added or removed.

    Args:
        store: The store of the change.
        posted: The words of the chunks.
        sign: 1 if they are added, -1 if they are removed.
    """
    chunks = Counter(term for chunk in posted for term in chunk.counts)
    store.run(
        "INSERT INTO fathom.terms(index_no, workspace_no, term, chunks) SELECT %(index)s, "
        "%(workspace)s, term, chunks FROM unnest(%(terms)s::text[], %(counts)s::int[]) "
        "AS given(term, chunks) ON CONFLICT (index_no, term) "
        "DO UPDATE SET chunks = terms.chunks + excluded.chunks",
        terms=list(chunks),
        counts=[sign * count for count in chunks.values()],
    )
    if sign < 0:
        store.run("DELETE FROM fathom.terms WHERE index_no = %(index)s AND chunks <= 0")
    store.run(
        "UPDATE fathom.indexes SET chunks = chunks + %(chunks)s, terms = terms + %(terms)s "
        "WHERE no = %(index)s",
        chunks=sign * len(posted),
        terms=sign * sum(chunk.length for chunk in posted),
    )


def _remove_documents(store: PostgresStore, ids: Sequence[str]) -> list[int]:
    """Remove documents with all their rows; return the numbers of their chunks."""
    contents = store.read_contents(ids)
    terms_of = store.analyzer.list_document_terms
    posted = []
    for stored in contents:
        language = stored.document.language
        posted += [
            ChunkPostings(number, stored.no, Counter(terms_of(chunk.context, language)))
            for number, chunk in stored.chunks
        ]
    gone = [chunk.number for chunk in posted]
    rights.remove_document_readers(store, [stored.document.id for stored in contents])
    if gone:
        for space in store.list_spaces():
            store.run(
                f"WITH gone AS (DELETE FROM {space.table} WHERE chunk_no = ANY(%(gone)s) "  # noqa: S608
                "RETURNING 1) UPDATE fathom.spaces SET filled = filled - "
                "(SELECT count(*) FROM gone) WHERE no = %(space)s",
                gone=gone,
                space=space.no,
            )
        _update_term_counts(store, posted, -1)
    store.run(
        "DELETE FROM fathom.chunks WHERE index_no = %(index)s AND no = ANY(%(gone)s)", gone=gone
    )
    store.run(
        "DELETE FROM fathom.documents WHERE index_no = %(index)s AND no = ANY(%(numbers)s)",
        numbers=[stored.no for stored in contents],
    )
    return gone


def _replace_sources(store: PostgresStore, sources: Sequence[SourceRecord]) -> set[str]:
    """Insert the records of places, in place of earlier ones, with their readers.

    Returns:
        The ids of the documents that these places held before.
    """
    latest = {source.path: source for source in sources}
    released = _remove_sources(store, list(latest))
    with store.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO fathom.sources(index_no, workspace_no, path, digest, outcome, reason, "
            "document_id) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    store.index.no,
                    store.index.workspace_no,
                    record.path,
                    record.digest,
                    record.outcome,
                    record.reason.replace("\0", ""),
                    record.document_id,
                )
                for record in latest.values()
            ],
        )
    rights.add_place_readers(store, {path: record.document_id for path, record in latest.items()})
    return released


def _remove_sources(store: PostgresStore, paths: Sequence[str]) -> set[str]:
    """Delete the records of places; return the ids of the documents that they held."""
    rows = store.select_column(
        "DELETE FROM fathom.sources WHERE index_no = %s AND path = ANY(%s) RETURNING document_id",
        list(paths),
    )
    rights.remove_place_readers(store, paths)
    return {document_id for document_id in rows if document_id is not None}


def _find_orphans(store: PostgresStore, documents: Iterable[str]) -> list[str]:
    """Return the ids of those documents that no place points to."""
    return store.select_column(
        "SELECT id FROM fathom.documents WHERE index_no = %s AND id = ANY(%s) AND NOT EXISTS("
        "SELECT 1 FROM fathom.sources WHERE sources.index_no = documents.index_no "
        "AND document_id = documents.id)",
        sorted(documents),
    )


def _move_documents(store: PostgresStore, documents: Iterable[str]) -> None:
    """Give a document that lost the place it is named after the path of another of its places."""
    for row in store.select_rows(
        "SELECT no, path, ARRAY(SELECT path FROM fathom.sources WHERE sources.index_no = "
        "documents.index_no AND document_id = documents.id ORDER BY outcome <> 'ok', path) AS "
        "places FROM fathom.documents WHERE index_no = %s AND id = ANY(%s)",
        sorted(documents),
    ):
        if row["places"] and row["path"] not in row["places"]:
            path = PurePath(row["places"][0])
            store.run(
                "UPDATE fathom.documents SET path = %(path)s, file = %(file)s, "
                "folder = %(folder)s WHERE index_no = %(index)s AND no = %(no)s",
                path=row["places"][0],
                file=path.name,
                folder=path.parent.name,
                no=row["no"],
            )


def _update_fingerprints(
    store: PostgresStore, documents: Collection[str], space: SpaceTable
) -> None:
    """Update the fingerprints of documents whose chunks all have their vectors now.

    The fingerprint then equals that of a document stored together with its vectors.
    """
    contents = store.read_contents(list(documents))
    numbers = [number for stored in contents for number, _ in stored.chunks]
    vector_numbers, vectors = store.read_vectors(numbers, store.find_space(space.name) or space)
    by_number = dict(zip(vector_numbers.tolist(), vectors, strict=True))
    changed = []
    for stored in contents:
        complete = [by_number[number] for number, _ in stored.chunks if number in by_number]
        if len(complete) == len(stored.chunks):
            half = b"".join(vector.tobytes() for vector in complete)
            chunks = [chunk for _, chunk in stored.chunks]
            fingerprint = compute_document_fingerprint(stored.document, chunks, half)
            changed.append((fingerprint, store.index.no, stored.no))
    with store.connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE fathom.documents SET fingerprint = %s WHERE index_no = %s AND no = %s", changed
        )


def _drop_kept_keys(store: PostgresStore, keys: Sequence[str]) -> None:
    """Delete the kept vectors with these keys."""
    store.run(
        "DELETE FROM fathom.kept WHERE index_no = %(index)s AND key = ANY(%(keys)s)",
        keys=list(keys),
    )
