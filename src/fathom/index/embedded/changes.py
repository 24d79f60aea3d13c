"""What is written to SQLite: one transaction that adds and removes, one that publishes."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from fathom.index.base import Entry, Matrix, SourceRecord, Space, Vector
from fathom.index.embedded.schema import transaction
from fathom.index.embedded.spaces import StoredSpace
from fathom.index.embedded.store import Store
from fathom.index.rows import checksum, fingerprint, pack_headings, pack_metadata, pack_structure
from fathom.types import Chunk, Document

# A document whose own place let go of it is from now on that of another of its places.
_MOVE = """
UPDATE documents SET path = (
  SELECT path FROM sources WHERE document_id = documents.id ORDER BY outcome <> 'ok', path LIMIT 1)
WHERE id IN (SELECT value FROM json_each(?))
  AND id IN (SELECT document_id FROM sources)
  AND path NOT IN (SELECT path FROM sources WHERE document_id = documents.id)
"""


@dataclass(frozen=True, slots=True)
class Added:
    """A document that was stored: its number, and its chunks with theirs."""

    number: int
    document: Document
    chunks: tuple[tuple[int, Chunk], ...]


class Changes:
    """Writes new revisions; whoever holds one holds the writer's lock."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = store.connection

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> list[Added]:
        """Step 1 of a put: documents and places of the next revision, durable but unpublished.

        Returns the documents with their numbers.
        """
        with transaction(self._connection, write=True):
            revision = self._next_revision()
            self._remove_documents([entry.document.id for entry in entries], revision)
            spaces = self._store.all_spaces()
            added = self._add(entries, revision)
            for space in spaces:
                self._add_all_vectors(entries, added, space)
            self._let_go_of_vectors(entries)
            self._note_lacking(entries, spaces)
            left = self._replace_sources(sources, revision)
            self._remove_unheld(left, revision)
        return added

    def forget(self, paths: Sequence[str]) -> int:
        """Step 1 of a forget; returns how many documents will go."""
        with transaction(self._connection, write=True):
            revision = self._next_revision()
            return self._remove_unheld(self._remove_sources(paths, revision), revision)

    def purge(self) -> None:
        """Step 1 of a purge: a revision for which the keyword leg is to be filled anew."""
        with transaction(self._connection, write=True):
            self._set("purged_at", self._next_revision())

    def is_purging(self) -> bool:
        """Whether an unpublished revision is a purge."""
        return int(self._store.meta("purged_at") or 0) > self._number("published")

    def publish(self) -> None:
        """Step 3: readers see the last revision, and what it removed is gone for good."""
        with transaction(self._connection, write=True):
            revision = self._number("revision")
            execute = self._connection.execute
            gone = "SELECT no FROM chunks WHERE removed <= ?"
            dead = execute("SELECT count(*) FROM chunks WHERE removed <= ?", (revision,))
            removed = int(dead.fetchone()[0])
            self._set("dead", 0 if self.is_purging() else self._number("dead") + removed)
            if self.is_purging() or self.touches_chunks():
                self._set("chunks_at", revision)
            for space in self._store.all_spaces():
                query = f"DELETE FROM {space.table} WHERE chunk_no IN ({gone})"  # noqa: S608 - a number makes the name
                had = execute(query, (revision,)).rowcount
                self._set(space.lacking_key, space.lacking - (removed - had))
            execute(
                "DELETE FROM contents WHERE document_no IN "
                "(SELECT no FROM documents WHERE removed <= ?)",
                (revision,),
            )
            left = execute(
                "SELECT json_group_array(document_id) FROM sources WHERE removed <= ?", (revision,)
            ).fetchone()[0]
            for table in ("chunks", "documents", "sources"):
                execute(f"DELETE FROM {table} WHERE removed <= ?", (revision,))  # noqa: S608 - constant
            execute(_MOVE, (left,))
            self._set("published", revision)

    def touches_chunks(self) -> bool:
        """Whether the unpublished revisions add or remove chunks."""
        row = self._connection.execute(
            "SELECT EXISTS(SELECT 1 FROM chunks WHERE removed IS NOT NULL) OR "
            "(SELECT max(added) FROM chunks WHERE no = (SELECT max(no) FROM chunks)) > ?",
            (self._number("published"),),
        ).fetchone()
        return bool(row[0])

    def removed_chunks(self) -> list[int]:
        """Numbers of the chunks that the unpublished revisions remove."""
        rows = self._connection.execute("SELECT no FROM chunks WHERE removed IS NOT NULL")
        return [row[0] for row in rows]

    def keep_calibration(self, strategy: str, data: str) -> None:
        """Keep what was learned of a strategy, or forget it where that is nothing."""
        with transaction(self._connection, write=True):
            self._connection.execute("DELETE FROM calibrations WHERE strategy = ?", (strategy,))
            if data:
                self._connection.execute("INSERT INTO calibrations VALUES (?, ?)", (strategy, data))

    def lay_out(self, wanted: Sequence[Space]) -> None:
        """Make spaces where they are missing or were made otherwise."""
        known = {space.name: space for space in self._store.spaces()}
        for space in wanted:
            found = known.get(space.name)
            if found is not None and found.identity == space.identity:
                continue
            with transaction(self._connection, write=True):
                if found is not None:
                    self._drop(found)
                made = self._connection.execute(
                    "INSERT INTO spaces(name, identity, dimension, graph, changes) "
                    "VALUES (?, ?, 0, '', 0)",
                    (space.name, json.dumps(dict(space.identity))),
                )
                self._connection.execute(
                    f"CREATE TABLE vectors_{made.lastrowid}("
                    "chunk_no INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL)"
                )
                chunks = self._connection.execute("SELECT count(*) FROM chunks").fetchone()
                self._set(f"lacking.{made.lastrowid}", chunks[0])

    def drop_space(self, name: str) -> bool:
        """Remove a space; whether it was there."""
        found = self._store.space(name) if name else None
        if found is None:
            return False
        with transaction(self._connection, write=True):
            self._drop(found)
        return True

    def _drop(self, space: StoredSpace) -> None:
        self._connection.execute(f"DROP TABLE {space.table}")
        self._connection.execute("DELETE FROM meta WHERE key = ?", (space.lacking_key,))
        self._connection.execute("DELETE FROM spaces WHERE no = ?", (space.number,))

    def fill(self, space: StoredSpace, vectors: Mapping[int, Vector], texts: Sequence[str]) -> None:
        """Store vectors in a space, by chunk number, and publish them in the same step.

        Those that were kept of `texts` go.
        """
        with transaction(self._connection, write=True):
            found = self._connection.execute(
                f"SELECT chunk_no FROM {space.table} "  # noqa: S608 - a number makes the name
                "WHERE chunk_no IN (SELECT value FROM json_each(?))",
                (json.dumps(list(vectors)),),
            )
            had = {row[0] for row in found}
            fresh = {number: each for number, each in vectors.items() if number not in had}
            self._add_vectors(space, fresh)
            self._set(space.lacking_key, space.lacking - len(fresh))
            if not space.number:
                self._mark_filled(list(fresh))
            self._let_go([_key(text, space.name) for text in texts])
            self._set("published", self._next_revision())

    def _mark_filled(self, chunks: Sequence[int]) -> None:
        """Give the documents of these chunks the fingerprint of whole ones, where they are."""
        rows = self._connection.execute(
            "SELECT DISTINCT document_no FROM chunks AS one "
            "WHERE no IN (SELECT value FROM json_each(?)) AND NOT EXISTS ("
            "SELECT 1 FROM chunks WHERE document_no = one.document_no "
            "AND no NOT IN (SELECT chunk_no FROM vectors))",
            (json.dumps(list(chunks)),),
        )
        marks = self._store.fingerprints([row[0] for row in rows])
        self._connection.executemany("UPDATE documents SET fingerprint = ? WHERE no = ?", marks)

    def note_all_lacking(self) -> None:
        """Note what each space lacks, where an older version did not."""
        for space in self._store.all_spaces():
            if not self._store.meta(space.lacking_key):
                self.note_lacking(space, space.lacking)

    def note_lacking(self, space: StoredSpace, chunks: int) -> None:
        """Note how many chunks lack a vector in a space."""
        self.note(space.lacking_key, str(chunks))

    def _note_lacking(self, entries: Sequence[Entry], spaces: Sequence[StoredSpace]) -> None:
        for space in spaces:
            more = sum(len(one.chunks) for one in entries if _in_space(one, space) is None)
            if more:
                self._set(space.lacking_key, space.lacking + more)

    def _add_vectors(self, space: StoredSpace, vectors: Mapping[int, Vector]) -> None:
        stored = [
            (number, half, checksum(half))
            for number, vector in vectors.items()
            for half in [vector.astype(np.float16).tobytes()]
        ]
        self._connection.executemany(f"INSERT INTO {space.table} VALUES (?, ?, ?)", stored)  # noqa: S608 - a number makes the name
        if vectors:
            self._note_dimension(space, len(next(iter(vectors.values()))))

    def keep_vectors(self, vectors: Mapping[str, Vector], space: str = "") -> None:
        """Keep vectors of texts whose documents are not stored yet."""
        with transaction(self._connection, write=True):
            self._connection.executemany(
                "INSERT OR REPLACE INTO kept VALUES (?, ?)",
                [(_key(text, space), vector.tobytes()) for text, vector in vectors.items()],
            )

    def kept_vectors(self, texts: Sequence[str], space: str = "") -> dict[str, Vector]:
        """Those of the vectors that are kept."""
        by_key = {_key(text, space): text for text in texts}
        rows = self._connection.execute(
            "SELECT key, vector FROM kept WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(list(by_key)),),
        )
        return {by_key[row[0]]: np.frombuffer(row[1], dtype=np.float32) for row in rows}

    def keeps_vectors(self) -> bool:
        """Whether any are kept."""
        found = self._connection.execute("SELECT EXISTS(SELECT 1 FROM kept)").fetchone()
        return bool(found[0])

    def _let_go_of_vectors(self, entries: Sequence[Entry]) -> None:
        if self.keeps_vectors():
            self._let_go(
                [
                    _key(chunk.context, space)
                    for entry in entries
                    for chunk in entry.chunks
                    for space in _spaces_of(entry)
                ]
            )

    def _let_go(self, keys: Sequence[str]) -> None:
        self._connection.execute(
            "DELETE FROM kept WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )

    def drop_vectors(self) -> None:
        """Drop what `keep_vectors` kept: whoever wanted it has come to an end."""
        with transaction(self._connection, write=True):
            self._connection.execute("DELETE FROM kept")

    def note_graph(self, space: StoredSpace, record: str) -> None:
        """Keep what is known of a space's graph, in a transaction of its own."""
        if not space.number:
            self.note("graph", record)
            return
        with transaction(self._connection, write=True):
            self._connection.execute(
                "UPDATE spaces SET graph = ? WHERE no = ?", (record, space.number)
            )

    def note(self, key: str, value: str) -> None:
        """Keep a value in `meta`, in a transaction of its own."""
        with transaction(self._connection, write=True):
            self._set(key, value)

    def _next_revision(self) -> int:
        revision = self._number("revision") + 1
        self._set("revision", revision)
        return revision

    def _note_dimension(self, space: StoredSpace, dimension: int) -> None:
        if space.number:
            self._connection.execute(
                "UPDATE spaces SET dimension = ? WHERE no = ?", (dimension, space.number)
            )
        else:
            self._set("dimension", dimension)

    def _number(self, key: str) -> int:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return int(row[0])

    def _set(self, key: str, value: object) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))

    def _add(self, entries: Sequence[Entry], revision: int) -> list[Added]:
        """Documents with their chunks, a table at a time."""
        next_chunk = self._last("chunks") + 1
        added = []
        for number, entry in enumerate(entries, start=self._last("documents") + 1):
            chunks = tuple(enumerate(entry.chunks, start=next_chunk))
            next_chunk += len(chunks)
            added.append(Added(number, entry.document, chunks))
        self._add_documents(entries, added, revision)
        self._connection.executemany(
            'INSERT INTO chunks(no, id, document_no, ordinal, start, "end", page, headings, '
            "added) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    number,
                    chunk.id,
                    one.number,
                    chunk.ordinal,
                    chunk.span.start,
                    chunk.span.end,
                    chunk.page,
                    pack_headings(chunk.headings),
                    revision,
                )
                for one in added
                for number, chunk in one.chunks
            ),
        )
        return added

    def _last(self, table: str) -> int:
        """The number that was given last; none is given twice, also where its row is gone."""
        row = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)
        ).fetchone()
        return int(row[0]) if row else 0

    def _add_documents(
        self, entries: Sequence[Entry], added: Sequence[Added], revision: int
    ) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        documents, contents = [], []
        for entry, one in zip(entries, added, strict=True):
            document, metadata = entry.document, pack_metadata(entry.document.metadata)
            documents.append(
                (
                    one.number,
                    document.id,
                    document.path,
                    document.title,
                    document.language,
                    metadata,
                    entry.digest,
                    _fingerprint(entry, metadata),
                    now,
                    revision,
                )
            )
            blocks = pack_structure(document)
            check = checksum(document.text.encode(), blocks)
            contents.append((one.number, document.text, blocks, check))
        self._connection.executemany(
            "INSERT INTO documents(no, id, path, title, language, metadata, digest, fingerprint, "
            "updated, added) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            documents,
        )
        self._connection.executemany("INSERT INTO contents VALUES (?, ?, ?, ?)", contents)

    def _add_all_vectors(
        self, entries: Sequence[Entry], added: Sequence[Added], space: StoredSpace
    ) -> None:
        """Those in a space that come with their documents."""
        vectors: dict[int, Vector] = {}
        for entry, one in zip(entries, added, strict=True):
            own = _in_space(entry, space)
            if own is not None:
                numbers = (number for number, _ in one.chunks)
                vectors.update(zip(numbers, own, strict=True))
        self._add_vectors(space, vectors)

    def _replace_sources(self, sources: Sequence[SourceRecord], revision: int) -> set[str]:
        """Note the places; returns the documents that some place let go of."""
        latest = {source.path: source for source in sources}
        left = self._remove_sources(list(latest), revision)
        self._connection.executemany(
            "INSERT INTO sources(path, digest, outcome, reason, document_id, added)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (one.path, one.digest, one.outcome, one.reason, one.document_id, revision)
                for one in latest.values()
            ],
        )
        return left

    def _remove_sources(self, paths: Sequence[str], revision: int) -> set[str]:
        among = json.dumps(list(paths))
        rows = self._connection.execute(
            "SELECT document_id FROM sources WHERE removed IS NULL AND document_id IS NOT NULL "
            "AND path IN (SELECT value FROM json_each(?))",
            (among,),
        )
        left = {row[0] for row in rows}
        self._connection.execute(
            "UPDATE sources SET removed = ? WHERE removed IS NULL "
            "AND path IN (SELECT value FROM json_each(?))",
            (revision, among),
        )
        return left

    def _remove_unheld(self, documents: Iterable[str], revision: int) -> int:
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
        among = json.dumps(list(ids))
        self._connection.execute(
            "UPDATE chunks SET removed = ? WHERE removed IS NULL AND document_no IN "
            "(SELECT no FROM documents WHERE removed IS NULL "
            "AND id IN (SELECT value FROM json_each(?)))",
            (revision, among),
        )
        self._connection.execute(
            "UPDATE documents SET removed = ? WHERE removed IS NULL "
            "AND id IN (SELECT value FROM json_each(?))",
            (revision, among),
        )


def _in_space(entry: Entry, space: StoredSpace) -> Matrix | None:
    """The vectors of a document's chunks in a space, where they come with it."""
    return entry.more.get(space.name) if space.name else entry.vectors


def _spaces_of(entry: Entry) -> list[str]:
    """In which its vectors come with it."""
    return [*([] if entry.vectors is None else [""]), *entry.more]


def _fingerprint(entry: Entry, metadata: str) -> bytes:
    document = entry.document
    stored = b"" if entry.vectors is None else entry.vectors.astype(np.float16).tobytes()
    return fingerprint(
        (
            document.id,
            document.title,
            document.language,
            metadata,
            document.text,
        ),
        [(chunk.id, chunk.span.start, chunk.span.end) for chunk in entry.chunks],
        stored,
    )


def _key(text: str, space: str = "") -> str:
    own = f"{space}\0{text}" if space else text
    return hashlib.sha256(own.encode()).hexdigest()
