"""What is written to SQLite: one transaction that adds and removes, one that publishes."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from fathom.index.base import Entry, SourceRecord, Space, Vector
from fathom.index.embedded.rows import checksum, fingerprint, pack_metadata, pack_structure
from fathom.index.embedded.schema import transaction
from fathom.index.embedded.spaces import StoredSpace
from fathom.index.embedded.store import Store

# A document whose own place let go of it is from now on that of another of its places.
_MOVE = """
UPDATE documents SET path = (
  SELECT path FROM sources WHERE document_id = documents.id ORDER BY outcome <> 'ok', path LIMIT 1)
WHERE id IN (SELECT value FROM json_each(?))
  AND id IN (SELECT document_id FROM sources)
  AND path NOT IN (SELECT path FROM sources WHERE document_id = documents.id)
"""


class Changes:
    """Writes new revisions; whoever holds one holds the writer's lock."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = store.connection

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> None:
        """Step 1 of a put: documents and places of the next revision, durable but unpublished."""
        with transaction(self._connection, write=True):
            revision = self._next_revision()
            self._note_dimension(entries)
            self._remove_documents([entry.document.id for entry in entries], revision)
            spaces = {space.name: space for space in self._store.spaces()}
            for entry in entries:
                self._add(entry, revision, spaces)
            self._let_go_of_vectors(entries)
            left = self._replace_sources(sources, revision)
            self._remove_unheld(left, revision)

    def forget(self, paths: Sequence[str]) -> int:
        """Step 1 of a forget; returns how many documents will go."""
        with transaction(self._connection, write=True):
            revision = self._next_revision()
            return self._remove_unheld(self._remove_sources(paths, revision), revision)

    def publish(self) -> None:
        """Step 3: readers see the last revision, and what it removed is gone for good."""
        with transaction(self._connection, write=True):
            revision = self._number("revision")
            execute = self._connection.execute
            gone = "SELECT no FROM chunks WHERE removed <= ?"
            dead = execute("SELECT count(*) FROM chunks WHERE removed <= ?", (revision,))
            self._set("dead", self._number("dead") + int(dead.fetchone()[0]))
            if self.touches_chunks():
                self._set("chunks_at", revision)
            for space in self._store.all_spaces():
                execute(f"DELETE FROM {space.table} WHERE chunk_no IN ({gone})", (revision,))  # noqa: S608 - a number makes the name
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
        self._connection.execute("DELETE FROM spaces WHERE no = ?", (space.number,))

    def fill(self, space: StoredSpace, vectors: Mapping[int, Vector], texts: Sequence[str]) -> None:
        """Store vectors in a space, by chunk number; those that were kept of `texts` go."""
        with transaction(self._connection, write=True):
            self._add_vectors(space, vectors)
            self._connection.execute(
                "UPDATE spaces SET changes = changes + 1 WHERE no = ?", (space.number,)
            )
            self._let_go([_key(text, space.name) for text in texts])

    def _add_vectors(self, space: StoredSpace, vectors: Mapping[int, Vector]) -> None:
        stored = [
            (number, half, checksum(half))
            for number, vector in vectors.items()
            for half in [vector.astype(np.float16).tobytes()]
        ]
        self._connection.executemany(f"INSERT INTO {space.table} VALUES (?, ?, ?)", stored)  # noqa: S608 - a number makes the name
        if space.number and vectors:
            dimension = len(next(iter(vectors.values())))
            self._connection.execute(
                "UPDATE spaces SET dimension = ? WHERE no = ?", (dimension, space.number)
            )

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

    def _let_go_of_vectors(self, entries: Sequence[Entry]) -> None:
        if self._connection.execute("SELECT EXISTS(SELECT 1 FROM kept)").fetchone()[0]:
            self._let_go(
                [
                    _key(chunk.context, space)
                    for entry in entries
                    for chunk in entry.chunks
                    for space in ("", *entry.more)
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

    def _note_dimension(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if len(entry.vectors):
                self._set("dimension", entry.vectors.shape[1])
                return

    def _number(self, key: str) -> int:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return int(row[0])

    def _set(self, key: str, value: object) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))

    def _add(self, entry: Entry, revision: int, spaces: Mapping[str, StoredSpace]) -> None:
        half = entry.vectors.astype(np.float16)
        number = self._add_document(entry, fingerprint(entry, half), revision)
        numbers = []
        for chunk in entry.chunks:
            cursor = self._connection.execute(
                'INSERT INTO chunks(id, document_no, ordinal, start, "end", page, headings, added)'
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    chunk.id,
                    number,
                    chunk.ordinal,
                    chunk.span.start,
                    chunk.span.end,
                    chunk.page,
                    json.dumps(chunk.headings, ensure_ascii=False),
                    revision,
                ),
            )
            numbers.append(int(cursor.lastrowid or 0))
        self._add_vectors(self._store.main_space(), dict(zip(numbers, half, strict=True)))
        for name, vectors in entry.more.items():
            self._add_vectors(spaces[name], dict(zip(numbers, vectors, strict=True)))

    def _add_document(self, entry: Entry, mark: bytes, revision: int) -> int:
        document = entry.document
        cursor = self._connection.execute(
            "INSERT INTO documents(id, path, title, language, metadata, digest, fingerprint, "
            "updated, added) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document.id,
                document.path,
                document.title,
                document.language,
                pack_metadata(document.metadata),
                entry.digest,
                mark,
                datetime.now(UTC).isoformat(timespec="seconds"),
                revision,
            ),
        )
        blocks = pack_structure(document)
        self._connection.execute(
            "INSERT INTO contents VALUES (?, ?, ?, ?)",
            (cursor.lastrowid, document.text, blocks, checksum(document.text.encode(), blocks)),
        )
        return int(cursor.lastrowid or 0)

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


def _key(text: str, space: str = "") -> str:
    own = f"{space}\0{text}" if space else text
    return hashlib.sha256(own.encode()).hexdigest()
