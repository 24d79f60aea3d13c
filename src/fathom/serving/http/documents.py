"""Documents over HTTP: upload, list, show, open at a place, remove; and the jobs that read them."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePath
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, File, Header, Query, UploadFile
from pydantic import Field
from starlette.responses import FileResponse, Response

from fathom.documents.base import ParseLimits, Refused
from fathom.documents.sandbox.drawing import MOST_QUOTED, draw_page
from fathom.index.base import DocumentSummary
from fathom.index.corpus_places import find_file
from fathom.serving.http.api import Body, or_empty
from fathom.serving.http.dependencies import Here, MayIngest, MayRead
from fathom.serving.http.fetch import MOST_URL_CHARS, Fetcher
from fathom.serving.http.problems import Problem
from fathom.serving.http.streams import json_reply
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import harmless
from fathom.types import Chunk, Document

router = APIRouter(prefix="/api/v1", tags=["documents"])
INLINE = frozenset({".txt", ".md", ".csv", ".log", ".json", ".rst"})
"""Files that are text: shown as such by browsers. All others are saved, not opened."""
PAGE_S = 60
"""So long a browser keeps the picture of a page."""
BUSY_S = 20.0
"""Who removes a document waits so long for the files that are read."""
DOCUMENT = "/documents/{document_id:path}"
Place = Annotated[int, Query(ge=0, le=10**12)]


class Drawing(NamedTuple):
    """What decides how a page looks: the file as it is now, and what is wanted of it."""

    path: Path
    changed: int
    size: int
    page: int
    width: int
    quote: str


@router.get("/documents")
def listed(
    space: Here,
    _: MayRead,
    cursor: Annotated[str, Query(max_length=10_000)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The documents by path; `next` is the cursor of the next page."""
    known: list[DocumentSummary] = or_empty(lambda: list(space.engine.documents.list()), [])
    rest = [each for each in known if each.path > cursor]
    page = rest[:limit]
    told = {
        "documents": [asdict(each) for each in page],
        "total": len(known),
        "next": page[-1].path if len(rest) > limit else None,
    }
    return json_reply(harmless(told))


@router.post("/documents", status_code=202)
async def upload(
    files: Annotated[list[UploadFile], File(description="One or more files.")],
    space: Here,
    _: MayIngest,
    idempotency_key: Annotated[str, Header(max_length=200)] = "",
) -> Response:
    """Take files in. They are read in the background: see the job.

    A file of the same name takes the place of the one before.
    """

    async def work() -> Response:
        stored = await asyncio.to_thread(space.files.store, files)
        job = await asyncio.to_thread(space.jobs.add, stored.names, stored.refused)
        return json_reply({"job": job.id, **harmless(job.to_json())}, 202)

    told = sha256(repr([(file.filename, file.size) for file in files]).encode("utf-8", "replace"))
    return await space.once.do(idempotency_key, told.hexdigest(), work)


class UrlBody(Body):
    """Where a document is to be fetched from."""

    url: str = Field(min_length=1, max_length=MOST_URL_CHARS)


@router.post("/documents/from-url", status_code=202)
def fetched(body: UrlBody, space: Here, _: MayIngest) -> Response:
    """Fetch a document from a public address of the web; off unless `serve.fetch_urls`."""
    settings = space.engine.settings
    if settings.offline or not settings.serve.fetch_urls:
        raise Problem(
            403,
            "fetching_off",
            "this server fetches nothing from the web",
            next="set serve.fetch_urls, without offline, or upload the file",
        )
    found_there = Fetcher(most_bytes=settings.limits.file_mb << 20).fetch(body.url)
    sent = UploadFile(BytesIO(found_there.content), filename=found_there.name)
    stored = space.files.store([sent])
    job = space.jobs.add(stored.names, stored.refused)
    return json_reply({"job": job.id, **harmless(job.to_json())}, 202)


@router.get("/jobs")
def jobs(space: Here, _: MayRead) -> Response:
    """The latest jobs, newest first."""
    return json_reply({"jobs": [harmless(job.to_json()) for job in space.jobs.latest()]})


@router.get("/jobs/{job_id}")
def job_of(job_id: str, space: Here, _: MayRead) -> Response:
    """How far an upload is, and what became of each file."""
    job = space.jobs.get(job_id)
    if job is None:
        raise Problem(404, "job_missing", f"there is no job {job_id[:64]!r}")
    return json_reply(harmless(job.to_json()))


def found(space: Workspace, document_id: str) -> Document:
    """The document of this id in a workspace.

    Raises:
        Problem: If there is none.
    """
    document = or_empty(lambda: space.engine.reader(checked=False).document(document_id), None)
    if document is None:
        raise Problem(
            404,
            "document_missing",
            f"there is no document {document_id[:64]!r}",
            next="GET /api/v1/documents lists them",
        )
    return document


def _find_path(space: Workspace, document: Document) -> str:
    """Find the path of the file that a document was read from."""
    return find_file(space.engine.reader(checked=False), document.path, document.id)


def _locate_file(space: Workspace, document: Document) -> Path:
    """Find the file that a document was read from, on this machine.

    Raises:
        Problem: If it is not there.
    """
    try:
        return space.files.opened(_find_path(space, document))
    except OSError:
        raise _gone(document.id) from None


@router.get(f"{DOCUMENT}/text")
def text(document_id: str, space: Here, _: MayRead, start: Place = 0, end: Place = 0) -> Response:
    """The text of a document from `start` to `end` (0: to its end), in characters.

    The offsets of citations point into it.
    """
    whole = harmless(found(space, document_id).text)
    return Response(whole[start : end or None], media_type="text/plain; charset=utf-8")


@router.get(f"{DOCUMENT}/chunks")
def chunks(document_id: str, space: Here, _: MayRead) -> Response:
    """The parts in which a document is searched."""
    document = found(space, document_id)
    told = [
        {
            "id": each.id,
            "start": each.span.start,
            "end": each.span.end,
            "section": " > ".join(each.headings),
            "page": each.page,
            "text": each.text,
        }
        for each in _chunks(space, document.id)
    ]
    return json_reply(harmless({"document": document.id, "chunks": told}))


def _chunks(space: Workspace, document_id: str) -> Iterator[Chunk]:
    index, first, some = space.engine.reader(checked=False), 0, 200
    while True:
        read = index.chunks([f"{document_id}#{first + at}" for at in range(some)])
        yield from read
        if len(read) < some:
            return
        first += some


@router.get(f"{DOCUMENT}/file")
def file(document_id: str, space: Here, _: MayRead) -> FileResponse:
    """The file that a document was read from; text is shown, all else is saved."""
    path = _locate_file(space, found(space, document_id))
    is_text = path.suffix.lower() in INLINE
    return FileResponse(
        path,
        filename=path.name,
        media_type="text/plain; charset=utf-8" if is_text else "application/octet-stream",
        content_disposition_type="inline" if is_text else "attachment",
    )


@router.get(f"{DOCUMENT}/pages/{{page}}.png")
def page_of(
    document_id: str,
    page: int,
    space: Here,
    _: MayRead,
    width: Annotated[int, Query(ge=100, le=2400)] = 1000,
    start: Place = 0,
    end: Place = 0,
) -> Response:
    """A page of a PDF as it looks, drawn in the sandbox; pages are counted from 1.

    The text from `start` to `end`, as a citation gives them, is marked where it is on the page.
    """
    document = found(space, document_id)
    if PurePath(_find_path(space, document)).suffix.lower() != ".pdf":
        raise Problem(404, "no_pages", "only PDF files have pages that can be drawn")
    path = _locate_file(space, document)
    try:
        read = path.stat()
        limits = space.engine.assembly.parse_limits
        quote = document.text[start : max(start, end)][:MOST_QUOTED]
        wanted = Drawing(path, read.st_mtime_ns, read.st_size, page, width, quote)
        drawn = _drawn(wanted, limits)
    except OSError:
        raise _gone(document_id) from None
    except Refused as refused:
        raise Problem(404, "page_missing", str(refused.reason)) from None
    headers = {"Cache-Control": f"private, max-age={PAGE_S}"}
    return Response(drawn, media_type="image/png", headers=headers)


@lru_cache(maxsize=64)
def _drawn(wanted: Drawing, limits: ParseLimits) -> bytes:
    return draw_page(
        wanted.path, wanted.page, width=wanted.width, limits=limits, quote=wanted.quote
    )


def _gone(document_id: str) -> Problem:
    return Problem(404, "file_missing", f"the file of {document_id[:64]!r} is not there any more")


@router.get(DOCUMENT)
def shown(document_id: str, space: Here, _: MayRead) -> Response:
    """What a document is, and its outline: sections with where they begin in the text."""
    document = found(space, document_id)
    place = _find_path(space, document)
    told = {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "language": document.language,
        "metadata": dict(document.metadata),
        "length": len(document.text),
        "pages": max((block.page or 0 for block in document.blocks), default=0),
        "file": space.files.find(place),
        "format": PurePath(place).suffix.lower().lstrip("."),
        "outline": outline(document),
    }
    return json_reply(harmless(told))


def outline(document: Document) -> list[dict[str, Any]]:
    """The headings of a document in order; `level` is from 1."""
    return [
        {
            "title": " ".join(block.span.cut(document.text).split()),
            "level": max(len(block.headings), 1),
            "start": block.span.start,
            "page": block.page,
        }
        for block in document.blocks
        if block.kind == "heading"
    ]


@router.delete(DOCUMENT)
def removed(document_id: str, space: Here, _: MayIngest) -> Response:
    """Remove a document with its chunks, the traces that hold its text, and what was uploaded.

    The corpus file of a record stays, as it holds others.
    """
    document = found(space, document_id)
    index = space.engine.reader(checked=False)
    places = [each.path for each in index.places(document.id)]
    files = [path for path in places if find_file(index, path, document.id) == path]
    removal = space.jobs.do(lambda: space.engine.documents.remove([document.id]))
    try:
        count = removal.result(BUSY_S)
    except TimeoutError:
        if removal.cancel():  # it has not begun: files are still read
            raise Problem(
                503, "index_busy", "files are being read", next="try again later", retry_after=30
            ) from None
        count = removal.result()
    for path in files:
        space.files.remove(path)
    return json_reply({"removed": count})
