"""Changing an index on a server: each call is one transaction; several may change one index."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePath

import numpy as np

from fathom.errors import RunError
from fathom.index.base import Entry, SourceRecord, Space, Vector
from fathom.index.postgres.halfvec import packed
from fathom.index.postgres.legs import Posted
from fathom.index.postgres.reader import PostgresReader
from fathom.index.postgres.spaces import drop_space, make_space
from fathom.index.postgres.store import Store, StoredSpace, index_row
from fathom.index.rows import (
    HalfMatrix,
    checksum,
    fingerprint,
    pack_headings,
    pack_metadata,
    pack_structure,
)
from fathom.index.validation import check_entries, check_vectors
from fathom.types import Chunk, Document


class PostgresWriter(PostgresReader):
    """Changes the index of a workspace.

    Whoever changes it holds the lock of its row until that is committed: writers wait for each
    other, readers for nobody.
    """

    @contextmanager
    def _change(self) -> Iterator[Store]:
        """A change: whole, or not at all where it fails."""
        with self._transaction() as store:
            yield store
        self._legs.committed(self._connections, store.index.no)

    @contextmanager
    def _transaction(self) -> Iterator[Store]:
        """One transaction, alone with the index."""
        with self._connections.taken() as connection, connection.transaction():
            found = index_row(connection, self._number, lock=True)
            if found is None:
                raise RunError(f"{self._connections.address} was made anew; run it again")
            yield Store(connection, found)

    def catch_up(self) -> None:
        """Let the legs take what they lack; see `Legs`."""
        with self._transaction() as store:
            self._legs.opened(store)
            self._legs.catch_up(store)

    def put(self, entries: Sequence[Entry], sources: Sequence[SourceRecord]) -> None:
        """See `IndexWriter.put`."""
        first = self._legs.reserve(self._transaction, sum(len(each.chunks) for each in entries))
        with self._change() as store:
            spaces = {space.name: space for space in store.spaces()}
            check_entries(entries, {name: each.dimension for name, each in spaces.items()})
            gone = _remove_documents(store, [entry.document.id for entry in entries])
            posted = self._add(store, entries, spaces, first)
            _let_go(store, entries)
            left = _replace_sources(store, sources)
            gone += _remove_documents(store, _unheld(store, left))
            self._legs.remove(store, gone)
            _move(store, left)
            store.publish(chunks=bool(posted or gone))

    def forget(self, paths: Sequence[str], *, purge: bool = True) -> int:
        """See `IndexWriter.forget`."""
        with self._change() as store:
            left = _remove_sources(store, paths)
            unheld = _unheld(store, left)
            gone = _remove_documents(store, unheld)
            self._legs.remove(store, gone)
            _move(store, left)
            store.publish(chunks=bool(gone))
            if gone and purge:
                self._legs.purge(store)
        return len(unheld)

    def purge(self) -> None:
        """See `IndexWriter.purge`."""
        with self._change() as store:
            self._legs.purge(store)

    def _add(
        self,
        store: Store,
        entries: Sequence[Entry],
        spaces: Mapping[str, StoredSpace],
        first: int | None,
    ) -> list[Posted]:
        """Documents, chunks from a number on, vectors and words; returns what was posted."""
        posted: list[Posted] = []
        terms_of = store.analyzer.document_terms
        document_no, chunk_no = store.index.next_document, first or store.index.next_chunk
        vectors: dict[str, dict[int, HalfMatrix]] = {name: {} for name in spaces}
        documents, chunks = [], []
        for number, entry in enumerate(entries, start=document_no):
            documents.append(_document_row(store, entry, number))
            numbers = range(chunk_no, chunk_no + len(entry.chunks))
            chunk_no = numbers.stop
            chunks += [
                _chunk_row(store, chunk, number, each)
                for each, chunk in zip(numbers, entry.chunks, strict=True)
            ]
            main = {} if entry.vectors is None else {"": entry.vectors}
            for name, matrix in {**main, **entry.more}.items():
                vectors[name].update(zip(numbers, matrix.astype(np.float16), strict=True))
            language = entry.document.language
            posted += [
                Posted(each, number, Counter(terms_of(chunk.context, language)))
                for each, chunk in zip(numbers, entry.chunks, strict=True)
            ]
        store.run(
            "UPDATE fathom.indexes SET next_document = %(document)s, "
            "next_chunk = greatest(next_chunk, %(chunk)s) WHERE no = %(index)s",
            document=document_no + len(entries),
            chunk=chunk_no,
        )
        store.insert(_DOCUMENTS, documents)
        store.insert(_CHUNKS, chunks)
        _count(store, posted, 1)
        self._legs.add(store, posted)
        for name, found in vectors.items():
            self._add_vectors(store, spaces[name], found)
        return posted

    def _add_vectors(
        self, store: Store, space: StoredSpace, vectors: Mapping[int, HalfMatrix]
    ) -> None:
        if not vectors:
            return
        table = space.table.removeprefix("fathom.")
        rows = [(store.index.workspace_no, no, packed(vector)) for no, vector in vectors.items()]
        store.insert(f"{table}(workspace_no, chunk_no, vector)", rows)
        store.run(
            "UPDATE fathom.spaces SET filled = filled + %(more)s, dimension = %(dimension)s "
            "WHERE no = %(space)s",
            more=len(vectors),
            dimension=len(next(iter(vectors.values()))),
            space=space.no,
        )
        self._legs.add_vectors(store, space, vectors)

    def set_roots(self, roots: Sequence[str]) -> None:
        """See `IndexWriter.set_roots`."""
        with self._change() as store:
            store.run(
                "UPDATE fathom.indexes SET roots = %(data)s WHERE no = %(index)s",
                data=json.dumps(list(roots)),
            )

    def keep_calibration(self, strategy: str, data: str) -> None:
        """See `IndexWriter.keep_calibration`."""
        with self._change() as store:
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
        """See `IndexWriter.keep_vectors`."""
        with self._change() as store, store.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO fathom.kept VALUES (%s, %s, %s, %s) ON CONFLICT (index_no, key) "
                "DO UPDATE SET vector = excluded.vector",
                [
                    (store.index.no, store.index.workspace_no, _key(text, space), vector.tobytes())
                    for text, vector in vectors.items()
                ],
            )

    def kept_vectors(self, texts: Sequence[str], *, space: str = "") -> dict[str, Vector]:
        """See `IndexWriter.kept_vectors`."""
        by_key = {_key(text, space): text for text in texts}
        with self._snapshot() as store:
            rows = store.rows(
                "SELECT key, vector FROM fathom.kept WHERE index_no = %s AND key = ANY(%s)",
                list(by_key),
            )
        return {by_key[row["key"]]: np.frombuffer(row["vector"], np.float32) for row in rows}

    def lay_out(self, spaces: Sequence[Space]) -> None:
        """See `IndexWriter.lay_out`."""
        with self._change() as store:
            known = {space.name: space for space in store.spaces()}
            for space in spaces:
                found = known.get(space.name)
                if found is not None and found.identity == space.identity:
                    continue
                if found is not None:
                    self._drop(store, found)
                make_space(store, space)

    def drop_space(self, name: str) -> bool:
        """See `IndexWriter.drop_space`."""
        with self._change() as store:
            found = store.space(name) if name else None
            if found is not None:
                self._drop(store, found)
        return found is not None

    def _drop(self, store: Store, space: StoredSpace) -> None:
        self._legs.drop_space(store, space)
        drop_space(store, space)

    def lacking(self, space: str, *, most: int, after: str = "") -> list[Chunk]:
        """See `IndexWriter.lacking`."""
        with self._snapshot() as store:
            looked_at = _known(store, space)
            if not store.lacking(looked_at):
                return []
            ids = store.lacking_ids(looked_at, most, after)
        return self.chunks(ids)

    def fill(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """See `IndexWriter.fill`."""
        with self._change() as store:
            into = _known(store, space)
            chunks = store.chunks(list(vectors))
            check_vectors([vectors[each] for each in chunks], into.name, into.dimension)
            numbers = store.numbers(chunks)
            filled = set(store.vectors([*numbers.values()], into)[0].tolist())
            fresh = {
                number: vectors[each].astype(np.float16)
                for each, number in numbers.items()
                if number not in filled
            }
            self._add_vectors(store, into, fresh)
            _drop_kept(store, [_key(chunk.context, space) for chunk in chunks.values()])
            if not space:
                _note_fingerprints(store, {chunk.document_id for chunk in chunks.values()}, into)
            store.publish(chunks=False)

    def remake_legs(self) -> None:
        """Make anew what finds the chunks, from the rows of the index."""
        with self._change() as store:
            self._legs.remake(store)
        self._legs.settle(self._connections, store.index.no)

    def optimize(self) -> None:
        """See `IndexWriter.optimize`."""
        with self._change() as store:
            store.run("DELETE FROM fathom.kept WHERE index_no = %(index)s")
            self._legs.optimize(store)
        self._legs.settle(self._connections, store.index.no)


def _known(store: Store, name: str) -> StoredSpace:
    found = store.space(name)
    if found is None:
        raise ValueError(f"{name!r} is no space of the index; lay it out first")
    return found


_DOCUMENTS = (
    "documents(index_no, no, workspace_no, id, path, file, folder, title, language, metadata, "
    "fields, digest, fingerprint, updated, text, blocks, checksum)"
)
_CHUNKS = (
    'chunks(index_no, no, workspace_no, id, document_no, ordinal, start, "end", page, headings)'
)


def _document_row(store: Store, entry: Entry, number: int) -> tuple[object, ...]:
    """A row of `_DOCUMENTS`."""
    document, blocks = entry.document, pack_structure(entry.document)
    path, metadata = PurePath(document.path), pack_metadata(document.metadata)
    half = b"" if entry.vectors is None else entry.vectors.astype(np.float16).tobytes()
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
        metadata.replace("\\u0000", ""),
        entry.digest,
        _mark(document, entry.chunks, half),
        datetime.now(UTC).isoformat(timespec="seconds"),
        text,
        blocks,
        checksum(text, blocks),
    )


def _chunk_row(store: Store, chunk: Chunk, document: int, number: int) -> tuple[object, ...]:
    """A row of `_CHUNKS`."""
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


def _count(store: Store, posted: Sequence[Posted], sign: int) -> None:
    """Note what BM25 knows of the index: exact, whatever came and went."""
    chunks = Counter(term for each in posted for term in each.counts)
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
        terms=sign * sum(each.length for each in posted),
    )


def _remove_documents(store: Store, ids: Sequence[str]) -> list[int]:
    """Remove documents with all that is of them; returns the numbers of their chunks."""
    found = store.contents_of(ids)
    terms_of = store.analyzer.document_terms
    posted, numbers = [], store.numbers(chunk.id for _, _, chunks in found for chunk in chunks)
    for row, document, chunks in found:
        posted += [
            Posted(numbers[each.id], row["no"], Counter(terms_of(each.context, document.language)))
            for each in chunks
        ]
    gone = [each.number for each in posted]
    if gone:
        for space in store.spaces():
            store.run(
                f"WITH gone AS (DELETE FROM {space.table} WHERE chunk_no = ANY(%(gone)s) "  # noqa: S608
                "RETURNING 1) UPDATE fathom.spaces SET filled = filled - "
                "(SELECT count(*) FROM gone) WHERE no = %(space)s",
                gone=gone,
                space=space.no,
            )
        _count(store, posted, -1)
    store.run(
        "DELETE FROM fathom.chunks WHERE index_no = %(index)s AND no = ANY(%(gone)s)", gone=gone
    )
    store.run(
        "DELETE FROM fathom.documents WHERE index_no = %(index)s AND no = ANY(%(numbers)s)",
        numbers=[row["no"] for row, _, _ in found],
    )
    return gone


def _replace_sources(store: Store, sources: Sequence[SourceRecord]) -> set[str]:
    """Note the places; returns the documents that some place let go of."""
    latest = {source.path: source for source in sources}
    left = _remove_sources(store, list(latest))
    with store.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO fathom.sources(index_no, workspace_no, path, digest, outcome, reason, "
            "document_id) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    store.index.no,
                    store.index.workspace_no,
                    one.path,
                    one.digest,
                    one.outcome,
                    one.reason.replace("\0", ""),
                    one.document_id,
                )
                for one in latest.values()
            ],
        )
    return left


def _remove_sources(store: Store, paths: Sequence[str]) -> set[str]:
    rows = store.column(
        "DELETE FROM fathom.sources WHERE index_no = %s AND path = ANY(%s) RETURNING document_id",
        list(paths),
    )
    return {each for each in rows if each is not None}


def _unheld(store: Store, documents: Iterable[str]) -> list[str]:
    """Those of the documents that no place points to."""
    return store.column(
        "SELECT id FROM fathom.documents WHERE index_no = %s AND id = ANY(%s) AND NOT EXISTS("
        "SELECT 1 FROM fathom.sources WHERE sources.index_no = documents.index_no "
        "AND document_id = documents.id)",
        sorted(documents),
    )


def _move(store: Store, documents: Iterable[str]) -> None:
    """A document whose own place let go of it is from now on that of another of its places."""
    for row in store.rows(
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


def _note_fingerprints(store: Store, documents: Collection[str], space: StoredSpace) -> None:
    """Documents of which all chunks have their vectors are what they were had these come along."""
    found = store.contents_of(list(documents))
    numbers = store.numbers(chunk.id for _, _, chunks in found for chunk in chunks)
    stored = store.space(space.name) or space
    listed, vectors = store.vectors([*numbers.values()], stored)
    held = dict(zip(listed.tolist(), vectors, strict=True))
    changed = []
    for row, document, chunks in found:
        own = [held[numbers[chunk.id]] for chunk in chunks if numbers[chunk.id] in held]
        if len(own) == len(chunks):
            half = b"".join(vector.tobytes() for vector in own)
            changed.append((_mark(document, chunks, half), store.index.no, row["no"]))
    with store.connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE fathom.documents SET fingerprint = %s WHERE index_no = %s AND no = %s", changed
        )


def _mark(document: Document, chunks: Sequence[Chunk], half: bytes) -> bytes:
    """A document's fingerprint; `half` are the vectors of its chunks, in 16 bits."""
    metadata = pack_metadata(document.metadata)
    return fingerprint(
        (document.id, document.title, document.language, metadata, document.text),
        [(chunk.id, chunk.span.start, chunk.span.end) for chunk in chunks],
        half,
    )


def _let_go(store: Store, entries: Sequence[Entry]) -> None:
    _drop_kept(
        store,
        [
            _key(chunk.context, space)
            for entry in entries
            for chunk in entry.chunks
            for space in (*([] if entry.vectors is None else [""]), *entry.more)
        ],
    )


def _drop_kept(store: Store, keys: Sequence[str]) -> None:
    store.run(
        "DELETE FROM fathom.kept WHERE index_no = %(index)s AND key = ANY(%(keys)s)",
        keys=list(keys),
    )


def _key(text: str, space: str = "") -> str:
    own = f"{space}\0{text}" if space else text
    return hashlib.sha256(own.encode()).hexdigest()
