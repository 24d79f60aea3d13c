"""Transactions on SQLite: one that adds and removes rows, one that publishes them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from fathom.index.base import Entry, Matrix, SourceRecord, Space, Vector
from fathom.index.embedded.schema import open_transaction
from fathom.index.embedded.spaces import SqliteSpace
from fathom.index.embedded.store import RIGHTS, SqliteStore
from fathom.index.rights import (
    METADATA_KEY,
    ReadingRule,
    Rights,
    dump_rules,
    list_own_readers,
    load_rules,
)
from fathom.index.rows import (
    compute_checksum,
    compute_entry_fingerprint,
    compute_kept_key,
    list_kept_keys,
    pack_headings,
    pack_metadata,
    pack_structure,
)
from fathom.types import Chunk, Document, Scalar

# A document that lost the place it was named after takes the path of another of its places.
_MOVE = """
UPDATE documents SET path = (
  SELECT path FROM sources WHERE document_id = documents.id ORDER BY outcome <> 'ok', path LIMIT 1)
WHERE id IN (SELECT value FROM json_each(?))
  AND id IN (SELECT document_id FROM sources)
  AND path NOT IN (SELECT path FROM sources WHERE document_id = documents.id)
"""


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """A stored document with its number, and its chunks with their numbers."""

    number: int
    document: Document
    chunks: tuple[tuple[int, Chunk], ...]


class Changes:
    """The writes of new revisions to SQLite; the caller must hold the writer's lock.

    A change is stored first, invisible to readers, and published later (`EmbeddedWriter`).
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._connection = store.connection

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> list[AddedDocument]:
        """Store documents and places as the next revision, durable but unpublished.

        This is step 1 of a put.

        Returns:
            The documents with their numbers, in the order of the entries.
        """
        with open_transaction(self._connection, write=True):
            revision = self._next_revision()
            # The old version of a document goes in the same revision in which the new one comes.
            self._remove_documents([entry.document.id for entry in entries], revision)
            spaces = self._store.list_spaces()
            added = self._add(entries, revision)
            for space in spaces:
                self._add_all_vectors(entries, added, space)
            self._drop_kept_vectors(entries)
            self._add_lacking(entries, spaces)
            released = self._replace_sources(sources, revision)
            self._remove_unheld(released, revision)
        return added

    def forget(self, paths: Sequence[str]) -> int:
        """Mark places, and the documents that only they hold, as removed by the next revision.

        The removal is durable but unpublished. This is step 1 of a forget.

        Returns:
            The number of removed documents.
        """
        with open_transaction(self._connection, write=True):
            revision = self._next_revision()
            return self._remove_unheld(self._remove_sources(paths, revision), revision)

    def purge(self) -> None:
        """Begin a revision for which the keyword index is filled anew; step 1 of a purge."""
        with open_transaction(self._connection, write=True):
            self._set("purged_at", self._next_revision())

    def is_purging(self) -> bool:
        """Return whether an unpublished revision is a purge."""
        return int(self._store.read_meta("purged_at") or 0) > self._read_number("published")

    def publish(self) -> None:
        """Publish the last revision and delete for good the rows that it removed.

        This is step 3; readers see the revision from now on.
        """
        with open_transaction(self._connection, write=True):
            revision = self._read_number("revision")
            execute = self._connection.execute
            # Counted before the rows are deleted: the keyword index still holds their words.
            gone = "SELECT no FROM chunks WHERE removed <= ?"
            dead = execute("SELECT count(*) FROM chunks WHERE removed <= ?", (revision,))
            removed = int(dead.fetchone()[0])
            self._set("dead", 0 if self.is_purging() else self._read_number("dead") + removed)
            if self.is_purging() or self.touches_chunks():
                self._set("chunks_at", revision)
            for space in self._store.list_spaces():
                query = f"DELETE FROM {space.table} WHERE chunk_no IN ({gone})"  # noqa: S608 - a number makes the name
                deleted = execute(query, (revision,)).rowcount
                self._set(space.lacking_key, space.lacking - (removed - deleted))
            execute(
                "DELETE FROM contents WHERE document_no IN "
                "(SELECT no FROM documents WHERE removed <= ?)",
                (revision,),
            )
            released = execute(
                "SELECT json_group_array(document_id) FROM sources WHERE removed <= ?", (revision,)
            ).fetchone()[0]
            for table in ("chunks", "documents", "sources"):
                execute(f"DELETE FROM {table} WHERE removed <= ?", (revision,))  # noqa: S608 - constant
            execute(_MOVE, (released,))
            execute(
                "DELETE FROM place_readers WHERE NOT EXISTS("
                "SELECT 1 FROM sources WHERE path = place_readers.path)"
            )
            execute(
                "DELETE FROM document_readers WHERE NOT EXISTS("
                "SELECT 1 FROM documents WHERE no = document_no)"
            )
            self._set("published", revision)

    def touches_chunks(self) -> bool:
        """Return whether the unpublished revisions add or remove chunks."""
        row = self._connection.execute(
            "SELECT EXISTS(SELECT 1 FROM chunks WHERE removed IS NOT NULL) OR "
            "(SELECT max(added) FROM chunks WHERE no = (SELECT max(no) FROM chunks)) > ?",
            (self._read_number("published"),),
        ).fetchone()
        return bool(row[0])

    def list_removed_chunks(self) -> list[int]:
        """Return the numbers of the chunks that the unpublished revisions remove."""
        rows = self._connection.execute("SELECT no FROM chunks WHERE removed IS NOT NULL")
        return [row[0] for row in rows]

    def keep_calibration(self, strategy: str, data: str) -> None:
        """Store the calibration of a strategy; empty data removes it."""
        with open_transaction(self._connection, write=True):
            self._connection.execute("DELETE FROM calibrations WHERE strategy = ?", (strategy,))
            if data:
                self._connection.execute("INSERT INTO calibrations VALUES (?, ?)", (strategy, data))

    def create_spaces(self, spaces: Sequence[Space]) -> None:
        """Create spaces, each in a transaction, if they are missing or have another identity."""
        existing = {space.name: space for space in self._store.list_spaces() if space.name}
        for space in spaces:
            stored = existing.get(space.name)
            if stored is not None and stored.identity == space.identity:
                continue
            with open_transaction(self._connection, write=True):
                if stored is not None:
                    self._drop(stored)
                cursor = self._connection.execute(
                    "INSERT INTO spaces(name, identity, dimension, graph, changes) "
                    "VALUES (?, ?, 0, '', 0)",
                    (space.name, json.dumps(dict(space.identity))),
                )
                self._connection.execute(
                    f"CREATE TABLE vectors_{cursor.lastrowid}("
                    "chunk_no INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL)"
                )
                # A new space lacks every chunk, until `fill` or a later put brings vectors.
                chunks = self._connection.execute("SELECT count(*) FROM chunks").fetchone()
                self._set(f"lacking.{cursor.lastrowid}", chunks[0])

    def drop_space(self, name: str) -> bool:
        """Remove a further space with its vectors; return whether it existed."""
        stored = self._store.find_space(name) if name else None
        if stored is None:
            return False
        with open_transaction(self._connection, write=True):
            self._drop(stored)
        return True

    def _drop(self, space: SqliteSpace) -> None:
        """Delete a space with its table, in the present transaction."""
        self._connection.execute(f"DROP TABLE {space.table}")
        self._connection.execute("DELETE FROM meta WHERE key = ?", (space.lacking_key,))
        self._connection.execute("DELETE FROM spaces WHERE no = ?", (space.number,))

    def fill(self, space: SqliteSpace, vectors: Mapping[int, Vector], texts: Sequence[str]) -> None:
        """Store vectors in a space and publish them, in one transaction.

        Args:
            space: The space.
            vectors: The vectors by chunk number; chunks that have a vector already are skipped.
            texts: The texts whose kept vectors are dropped.
        """
        with open_transaction(self._connection, write=True):
            rows = self._connection.execute(
                f"SELECT chunk_no FROM {space.table} "  # noqa: S608 - a number makes the name
                "WHERE chunk_no IN (SELECT value FROM json_each(?))",
                (json.dumps(list(vectors)),),
            )
            present = {row[0] for row in rows}
            fresh = {number: vector for number, vector in vectors.items() if number not in present}
            self._add_vectors(space, fresh)
            self._set(space.lacking_key, space.lacking - len(fresh))
            if not space.number:
                self._update_fingerprints(list(fresh))
            self._drop_kept([compute_kept_key(text, space.name) for text in texts])
            self._set("published", self._next_revision())

    def _update_fingerprints(self, chunks: Sequence[int]) -> None:
        """Update the fingerprints of those documents of these chunks that now have all vectors."""
        rows = self._connection.execute(
            "SELECT DISTINCT document_no FROM chunks AS one "
            "WHERE no IN (SELECT value FROM json_each(?)) AND NOT EXISTS ("
            "SELECT 1 FROM chunks WHERE document_no = one.document_no "
            "AND no NOT IN (SELECT chunk_no FROM vectors))",
            (json.dumps(list(chunks)),),
        )
        fingerprints = self._store.compute_fingerprints([row[0] for row in rows])
        self._connection.executemany(
            "UPDATE documents SET fingerprint = ? WHERE no = ?", fingerprints
        )

    def note_all_lacking(self) -> None:
        """Store how many chunks of each space lack a vector, if an older version did not."""
        for space in self._store.list_spaces():
            if not self._store.read_meta(space.lacking_key):
                self.note_lacking(space, space.lacking)

    def note_lacking(self, space: SqliteSpace, chunks: int) -> None:
        """Store how many chunks lack a vector in a space."""
        self.note(space.lacking_key, str(chunks))

    def _add_lacking(self, entries: Sequence[Entry], spaces: Sequence[SqliteSpace]) -> None:
        """Count the chunks that were stored without a vector, for each space."""
        for space in spaces:
            more = sum(len(entry.chunks) for entry in entries if _get_vectors(entry, space) is None)
            if more:
                self._set(space.lacking_key, space.lacking + more)

    def _add_vectors(self, space: SqliteSpace, vectors: Mapping[int, Vector]) -> None:
        """Insert vectors by chunk number into a space, rounded to float16."""
        rows = [
            (number, half, compute_checksum(half))
            for number, vector in vectors.items()
            for half in [vector.astype(np.float16).tobytes()]
        ]
        self._connection.executemany(f"INSERT INTO {space.table} VALUES (?, ?, ?)", rows)  # noqa: S608 - a number makes the name
        if vectors:
            self._note_dimension(space, len(next(iter(vectors.values()))))

    def keep_vectors(self, vectors: Mapping[str, Vector], space: str = "") -> None:
        """Keep vectors of texts whose documents are not stored yet."""
        with open_transaction(self._connection, write=True):
            self._connection.executemany(
                "INSERT OR REPLACE INTO kept VALUES (?, ?)",
                [
                    (compute_kept_key(text, space), vector.tobytes())
                    for text, vector in vectors.items()
                ],
            )

    def get_kept_vectors(self, texts: Sequence[str], space: str = "") -> dict[str, Vector]:
        """Return the kept vectors of these texts, by text; texts without one are left out."""
        by_key = {compute_kept_key(text, space): text for text in texts}
        rows = self._connection.execute(
            "SELECT key, vector FROM kept WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(list(by_key)),),
        )
        return {by_key[row[0]]: np.frombuffer(row[1], dtype=np.float32) for row in rows}

    def keeps_vectors(self) -> bool:
        """Return whether any vectors are kept."""
        row = self._connection.execute("SELECT EXISTS(SELECT 1 FROM kept)").fetchone()
        return bool(row[0])

    def _drop_kept_vectors(self, entries: Sequence[Entry]) -> None:
        # Usually no vectors are kept; then the keys, the hashes of all texts, are not computed.
        if self.keeps_vectors():
            self._drop_kept(list_kept_keys(entries))

    def _drop_kept(self, keys: Sequence[str]) -> None:
        self._connection.execute(
            "DELETE FROM kept WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )

    def drop_vectors(self) -> None:
        """Drop all kept vectors, once no ingest needs them any more."""
        with open_transaction(self._connection, write=True):
            self._connection.execute("DELETE FROM kept")

    def note_graph(self, space: SqliteSpace, record: str) -> None:
        """Store the record of a space's graph, in a transaction of its own."""
        if not space.number:
            self.note("graph", record)
            return
        with open_transaction(self._connection, write=True):
            self._connection.execute(
                "UPDATE spaces SET graph = ? WHERE no = ?", (record, space.number)
            )

    def note(self, key: str, value: str) -> None:
        """Store a value in `meta`, in a transaction of its own."""
        with open_transaction(self._connection, write=True):
            self._set(key, value)

    def _next_revision(self) -> int:
        """Raise the number of the last stored revision by one, and return it."""
        revision = self._read_number("revision") + 1
        self._set("revision", revision)
        return revision

    def _note_dimension(self, space: SqliteSpace, dimension: int) -> None:
        """Store the dimension of a space's vectors, in the present transaction."""
        if space.number:
            self._connection.execute(
                "UPDATE spaces SET dimension = ? WHERE no = ?", (dimension, space.number)
            )
        else:
            self._set("dimension", dimension)

    def _read_number(self, key: str) -> int:
        """Return a number of `meta`; the key must exist."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return int(row[0])

    def _set(self, key: str, value: object) -> None:
        """Store a value in `meta`, in the present transaction."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))

    def _add(self, entries: Sequence[Entry], revision: int) -> list[AddedDocument]:
        """Insert documents with their chunks, table by table, and return them with numbers."""
        next_chunk = self._read_last_number("chunks") + 1
        added = []
        for number, entry in enumerate(entries, start=self._read_last_number("documents") + 1):
            chunks = tuple(enumerate(entry.chunks, start=next_chunk))
            next_chunk += len(chunks)
            added.append(AddedDocument(number, entry.document, chunks))
        self._add_documents(entries, added, revision)
        self._connection.executemany(
            'INSERT INTO chunks(no, id, document_no, ordinal, start, "end", page, headings, '
            "added) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    number,
                    chunk.id,
                    document.number,
                    chunk.ordinal,
                    chunk.span.start,
                    chunk.span.end,
                    chunk.page,
                    pack_headings(chunk.headings),
                    revision,
                )
                for document in added
                for number, chunk in document.chunks
            ),
        )
        return added

    def _read_last_number(self, table: str) -> int:
        """Return the highest number that a table ever gave to a row; 0 if it gave none.

        The numbers of deleted rows are never given again.
        """
        row = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)
        ).fetchone()
        return int(row[0]) if row else 0

    def _add_documents(
        self, entries: Sequence[Entry], added: Sequence[AddedDocument], revision: int
    ) -> None:
        """Insert documents with their contents and the readers that they name."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        documents, contents = [], []
        for entry, stored in zip(entries, added, strict=True):
            document, metadata = entry.document, pack_metadata(entry.document.metadata)
            documents.append(
                (
                    stored.number,
                    document.id,
                    document.path,
                    document.title,
                    document.language,
                    metadata,
                    entry.digest,
                    compute_entry_fingerprint(entry),
                    now,
                    revision,
                )
            )
            blocks = pack_structure(document)
            check = compute_checksum(document.text.encode(), blocks)
            contents.append((stored.number, document.text, blocks, check))
        self._connection.executemany(
            "INSERT INTO documents(no, id, path, title, language, metadata, digest, fingerprint, "
            "updated, added) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            documents,
        )
        self._connection.executemany("INSERT INTO contents VALUES (?, ?, ?, ?)", contents)
        if self._store.read_meta(RIGHTS):
            self._write_document_readers(
                (stored.number, stored.document.metadata) for stored in added
            )

    def _add_all_vectors(
        self, entries: Sequence[Entry], added: Sequence[AddedDocument], space: SqliteSpace
    ) -> None:
        """Store the vectors of a space that come with their documents."""
        vectors: dict[int, Vector] = {}
        for entry, stored in zip(entries, added, strict=True):
            matrix = _get_vectors(entry, space)
            if matrix is not None:
                numbers = (number for number, _ in stored.chunks)
                vectors.update(zip(numbers, matrix, strict=True))
        self._add_vectors(space, vectors)

    def _replace_sources(self, sources: Sequence[SourceRecord], revision: int) -> set[str]:
        """Insert the records of places, in place of earlier ones, with their readers.

        Returns:
            The ids of the documents that these places held before.
        """
        latest = {source.path: source for source in sources}
        released = self._remove_sources(list(latest), revision)
        self._connection.executemany(
            "INSERT INTO sources(path, digest, outcome, reason, document_id, added)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    source_record.path,
                    source_record.digest,
                    source_record.outcome,
                    source_record.reason,
                    source_record.document_id,
                    revision,
                )
                for source_record in latest.values()
            ],
        )
        # In the same step, so that nobody sees a place before its rights.
        if rules := load_rules(self._store.read_meta(RIGHTS)):
            self._write_place_readers(Rights(rules), list(latest))
        return released

    def set_rights(self, rules: Sequence[ReadingRule]) -> None:
        """Store rules, and the readers of all places by them, as an unpublished revision."""
        with open_transaction(self._connection, write=True):
            self._next_revision()
            self._set(RIGHTS, dump_rules(rules))
            self._connection.execute("DELETE FROM place_readers")
            self._connection.execute("DELETE FROM document_readers")
            if rules:
                paths = self._connection.execute("SELECT DISTINCT path FROM sources").fetchall()
                self._write_place_readers(Rights(rules), [row[0] for row in paths])
                # Most documents name no readers; a wrong match does no harm.
                rows = self._connection.execute(
                    "SELECT no, metadata FROM documents WHERE instr(metadata, ?)", (METADATA_KEY,)
                ).fetchall()
                self._write_document_readers((row[0], json.loads(row[1])) for row in rows)

    def _write_place_readers(self, rights: Rights, paths: Sequence[str]) -> None:
        """Store the readers of places by the rules, in place of earlier ones."""
        rows = [
            (path, number, reader)
            for path in paths
            for number, clause in enumerate(rights.list_clauses(path))
            for reader in clause
        ]
        self._connection.executemany(
            "DELETE FROM place_readers WHERE path = ?", [(path,) for path in paths]
        )
        self._connection.executemany("INSERT OR IGNORE INTO place_readers VALUES (?, ?, ?)", rows)

    def _write_document_readers(
        self, documents: Iterable[tuple[int, Mapping[str, Scalar]]]
    ) -> None:
        """Store the readers that documents, by number, name in their metadata."""
        rows = [
            (number, reader)
            for number, metadata in documents
            for reader in list_own_readers(metadata)
        ]
        self._connection.executemany("INSERT OR IGNORE INTO document_readers VALUES (?, ?)", rows)

    def _remove_sources(self, paths: Sequence[str], revision: int) -> set[str]:
        """Mark the records of places as removed; return the ids of the documents they held."""
        path_list = json.dumps(list(paths))
        rows = self._connection.execute(
            "SELECT document_id FROM sources WHERE removed IS NULL AND document_id IS NOT NULL "
            "AND path IN (SELECT value FROM json_each(?))",
            (path_list,),
        )
        released = {row[0] for row in rows}
        self._connection.execute(
            "UPDATE sources SET removed = ? WHERE removed IS NULL "
            "AND path IN (SELECT value FROM json_each(?))",
            (revision, path_list),
        )
        return released

    def _remove_unheld(self, documents: Iterable[str], revision: int) -> int:
        """Mark those documents as removed that no place holds any more; return their number."""
        rows = self._connection.execute(
            "SELECT id FROM documents WHERE id IN (SELECT value FROM json_each(?)) "
            "AND removed IS NULL AND NOT EXISTS ("
            "SELECT 1 FROM sources WHERE document_id = documents.id AND removed IS NULL)",
            (json.dumps(sorted(documents)),),
        )
        unheld = [row[0] for row in rows]
        self._remove_documents(unheld, revision)
        return len(unheld)

    def _remove_documents(self, ids: Sequence[str], revision: int) -> None:
        """Mark documents and their chunks as removed by a revision."""
        id_list = json.dumps(list(ids))
        self._connection.execute(
            "UPDATE chunks SET removed = ? WHERE removed IS NULL AND document_no IN "
            "(SELECT no FROM documents WHERE removed IS NULL "
            "AND id IN (SELECT value FROM json_each(?)))",
            (revision, id_list),
        )
        self._connection.execute(
            "UPDATE documents SET removed = ? WHERE removed IS NULL "
            "AND id IN (SELECT value FROM json_each(?))",
            (revision, id_list),
        )


def _get_vectors(entry: Entry, space: SqliteSpace) -> Matrix | None:
    """Return the vectors of an entry in a space; `None` if they follow later."""
    return entry.more.get(space.name) if space.name else entry.vectors
