"""The routes of documents and of ingestion jobs."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePath
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import APIRouter, File, Query, Request, UploadFile
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles

from fathom.documents.base import ParseLimits, ParseRefusal
from fathom.documents.discover import format_path
from fathom.documents.sandbox.drawing import MOST_QUOTED, draw_page
from fathom.index.base import DocumentSummary
from fathom.index.rights import ReaderList
from fathom.ingest.corpus_places import find_file
from fathom.ingest.sources.fetch import MOST_URL_CHARS
from fathom.serving.http.access import Caller
from fathom.serving.http.admission import Admission
from fathom.serving.http.api import Body, load_or_default
from fathom.serving.http.dependencies import (
    CurrentWorkspace,
    IdempotencyKey,
    IngestCaller,
    KeyFirstRoute,
    ReadCaller,
    Runner,
)
from fathom.serving.http.event_stream import build_json_reply, run_while_connected
from fathom.serving.http.fetch import Fetcher
from fathom.serving.http.problems import MEDIA_TYPE, Problem
from fathom.serving.http.reply_schemas import (
    AcceptedJob,
    ChunkList,
    DocumentListReply,
    DocumentReply,
    JobList,
    JobReply,
    ProblemReply,
    Removal,
    describe_content,
    describe_file,
)
from fathom.serving.http.uploads import PIECE
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import (
    make_cursor,
    parse_cursor,
    replace_invisible,
    serialize_limits,
    serialize_summaries,
)
from fathom.types import SECTION_SEPARATOR, Chunk, Document

router = APIRouter(prefix="/api/v1", tags=["documents"], route_class=KeyFirstRoute)
T = TypeVar("T")
INLINE = frozenset({".txt", ".md", ".csv", ".log", ".json", ".rst"})
"""The endings of text files, which browsers show; they save all other files."""
PAGE_S = 60
"""The seconds for which a browser may reuse the picture of a page."""
BUSY_S = 20.0
"""The seconds for which a deletion waits until running jobs are done."""
DOCUMENT = "/documents/{document_id:path}"
Place = Annotated[int, Query(ge=0, le=10**12)]


class PageView(BaseModel):
    """The width of a drawn page in pixels, and the offsets of the text to mark on it."""

    width: int = Field(default=1000, ge=100, le=2400)
    start: Place = 0
    end: Place = 0


class PageDrawing(NamedTuple):
    """The key of a drawn page: the version of the file, the page, its width and the marked text."""

    path: Path
    changed: int
    size: int
    page: int
    width: int
    quote: str


@router.get("/documents", response_model=DocumentListReply)
def list_documents(
    space: CurrentWorkspace,
    caller: ReadCaller,
    cursor: Annotated[
        str, Query(max_length=10_000, description="The `next` of the page before.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    words: Annotated[
        str,
        Query(
            max_length=1_000,
            description="Only documents whose title or path contains this text.",
        ),
    ] = "",
) -> Response:
    """List the documents by path.

    The `next` of a reply is the `cursor` of the request for the next page.

    In an index with rights, a caller who may read all documents also gets `readers` and
    `reader_lists` of each.
    """
    summaries: list[DocumentSummary] = load_or_default(
        lambda: list(space.engine.documents.list()), []
    )
    if words:
        part = words.casefold()
        summaries = [
            summary
            for summary in summaries
            if part in f"{summary.title}\n{summary.path}".casefold()
        ]
    last = parse_cursor(cursor)
    remaining = [summary for summary in summaries if summary.path > last]
    page = remaining[:limit]
    limits = _list_limits(space, caller, [summary.id for summary in page])
    reply = {
        "documents": serialize_summaries(page, limits),
        "total": len(summaries),
        "next": make_cursor(page[-1].path) if len(remaining) > limit else None,
    }
    return build_json_reply(replace_invisible(reply))


def _list_limits(
    space: Workspace, caller: Caller, ids: Sequence[str]
) -> Mapping[str, Sequence[ReaderList]]:
    """Return the reader lists of documents by id; empty if the caller may not see them."""
    # The engine may have been opened before the first rules came, so it does not decide.
    if caller.viewer is not None:
        return {}
    return load_or_default(lambda: space.engine.documents.list_limits(ids), None) or {}


@router.post("/documents", status_code=202, response_model=AcceptedJob)
async def upload_documents(
    files: Annotated[list[UploadFile], File(description="One or more files.")],
    space: CurrentWorkspace,
    _: IngestCaller,
    idempotency_key: IdempotencyKey,
) -> Response:
    """Upload files, which are ingested in the background; the reply has the job.

    A file replaces an earlier one of the same name.
    """

    async def work() -> Response:
        job = await asyncio.to_thread(space.accept_files, files)
        return build_json_reply({"job": job.id, **replace_invisible(job.to_json())}, 202)

    content = await asyncio.to_thread(_hash_files, files) if idempotency_key else ""
    return await space.replies.run_once(idempotency_key, content, work)


def _hash_files(files: list[UploadFile]) -> str:
    """Return a hash of the names and contents of files, and rewind the files."""
    whole = sha256()
    for file in files:
        content = sha256()
        while piece := file.file.read(PIECE):
            content.update(piece)
        file.file.seek(0)
        name = repr(file.filename).encode("utf-8", "replace")
        whole.update(sha256(name).digest() + content.digest())
    return whole.hexdigest()


class UrlBody(Body):
    """The address of a document."""

    url: str = Field(min_length=1, max_length=MOST_URL_CHARS)


@router.post("/documents/from-url", status_code=202, response_model=AcceptedJob)
async def fetch_document(
    body: UrlBody, request: Request, space: CurrentWorkspace, _: IngestCaller
) -> Response:
    """Fetch a document from a public web address, and ingest it in the background.

    The operator of the server must have set `serve.fetch_urls`.
    """
    check_may_fetch(space)
    settings = space.engine.settings

    def fetch() -> Response:
        fetched_file = Fetcher(most_bytes=settings.limits.file_mb << 20).fetch(body.url)
        upload = UploadFile(BytesIO(fetched_file.content), filename=fetched_file.name)
        job = space.accept_files([upload])
        return build_json_reply({"job": job.id, **replace_invisible(job.to_json())}, 202)

    fetching: Admission = request.app.state.fetching
    async with fetching.take_turn():
        return await run_in_threadpool(fetch)


def check_may_fetch(space: Workspace) -> None:
    """Check that this server may fetch from other servers for its users.

    Raises:
        Problem: 403 if the operator did not allow it.
    """
    settings = space.engine.settings
    if settings.offline or not settings.serve.fetch_urls:
        raise Problem(
            403,
            "fetching_off",
            "this server fetches nothing from the web",
            next="set serve.fetch_urls, without offline, or upload the file",
        )


@router.get("/jobs", response_model=JobList)
def list_jobs(space: CurrentWorkspace, _: ReadCaller) -> Response:
    """List the latest jobs, newest first."""
    return build_json_reply(
        {"jobs": [replace_invisible(job.to_json()) for job in space.jobs.list_latest()]}
    )


@router.get("/jobs/{job_id}", response_model=JobReply)
def get_job(job_id: str, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """Get the progress of an upload, and the outcome of each file."""
    job = space.jobs.get(job_id)
    if job is None:
        raise Problem(404, "job_missing", f"there is no job {job_id[:64]!r}")
    return build_json_reply(replace_invisible(job.to_json()))


def find_document(space: Workspace, document_id: str) -> Document:
    """Return the document of this id in a workspace.

    Raises:
        Problem: If there is none.
    """
    document = load_or_default(
        lambda: space.engine.reader(checked=False).get_document(document_id), None
    )
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
    """Find the file of a document on this machine.

    Raises:
        Problem: If the file is gone.
    """
    return locate_upload(space, _find_path(space, document), document.id)


def locate_upload(space: Workspace, path: str, name: str) -> Path:
    """Return the local path of a stored file; `name` is its name in the error message.

    Raises:
        Problem: If the file is gone.
    """
    try:
        return space.files.get_local_path(path)
    except OSError:
        raise _build_file_problem(name) from None


@router.get(f"{DOCUMENT}/text", response_class=PlainTextResponse)
def get_document_text(
    document_id: str, space: CurrentWorkspace, _: ReadCaller, start: Place = 0, end: Place = 0
) -> Response:
    """Get the text of a document from character `start` to character `end`.

    Without `end`, or with 0, the reply has the text to its end.

    The offsets of citations point into this text.
    """
    whole = replace_invisible(find_document(space, document_id).text)
    return Response(whole[start : end or None], media_type="text/plain; charset=utf-8")


@router.get(f"{DOCUMENT}/chunks", response_model=ChunkList)
def list_document_chunks(document_id: str, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """List the chunks of a document, which are what a search finds."""
    document = find_document(space, document_id)
    rows = [
        {
            "id": chunk.id,
            "start": chunk.span.start,
            "end": chunk.span.end,
            "section": SECTION_SEPARATOR.join(chunk.headings),
            "page": chunk.page,
            "text": chunk.text,
        }
        for chunk in _iterate_chunks(space, document.id)
    ]
    return build_json_reply(replace_invisible({"document": document.id, "chunks": rows}))


def _iterate_chunks(space: Workspace, document_id: str) -> Iterator[Chunk]:
    index, first, batch_size = space.engine.reader(checked=False), 0, 200
    while True:
        # Chunks are numbered from 0; ids that do not exist are left out of the reply.
        batch = index.chunks([f"{document_id}#{first + offset}" for offset in range(batch_size)])
        yield from batch
        if len(batch) < batch_size:
            return
        first += batch_size


@router.get(
    f"{DOCUMENT}/file",
    response_class=FileResponse,
    responses=describe_file(ProblemReply, MEDIA_TYPE),
)
def get_document_file(
    document_id: str, request: Request, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Get the file of a document. Browsers show text files and save all others."""
    return build_file_reply(_locate_file(space, find_document(space, document_id)), request)


def build_file_reply(path: Path, request: Request) -> Response:
    """Build the reply with a file, in a media type whose scripts no browser runs.

    If the client names the version that it has, and it is the present one, the reply is 304.
    """
    is_text = path.suffix.lower() in INLINE
    reply = FileResponse(
        path,
        stat_result=path.stat(),
        filename=format_path(PurePath(path.name)),
        media_type="text/plain; charset=utf-8" if is_text else "application/octet-stream",
        content_disposition_type="inline" if is_text else "attachment",
    )
    files = StaticFiles(check_dir=False)
    is_unchanged = files.is_not_modified(reply.headers, request.headers)
    return NotModifiedResponse(reply.headers) if is_unchanged else reply


@router.get(
    f"{DOCUMENT}/pages/{{page}}.png",
    response_class=Response,
    responses=describe_content("image/png", "The page"),
)
async def get_page_image(
    document_id: str,
    page: int,
    request: Request,
    asking: Runner,
    space: CurrentWorkspace,
    _: ReadCaller,
    view: Annotated[PageView, Query()],
) -> Response:
    """Draw a page of a PDF in the sandbox; pages are counted from 1.

    The text from `start` to `end`, as a citation gives them, is marked on the page.
    """

    def draw() -> bytes:
        document = find_document(space, document_id)
        if PurePath(_find_path(space, document)).suffix.lower() != ".pdf":
            raise Problem(404, "no_pages", "only PDF files have pages that can be drawn")
        path = _locate_file(space, document)
        try:
            status = path.stat()
            limits = space.engine.assembly.parse_limits
            quote = document.text[view.start : max(view.start, view.end)][:MOST_QUOTED]
            drawing = PageDrawing(path, status.st_mtime_ns, status.st_size, page, view.width, quote)
            return _draw_page_cached(drawing, limits)
        except OSError:
            raise _build_file_problem(document_id) from None
        except ParseRefusal as refused:
            raise Problem(404, "page_missing", str(refused.reason)) from None

    # Each drawing is a process of its own, so no more run at once than questions.
    image = await run_while_connected(request, asking.run_in_turn(space, draw))
    headers = {"Cache-Control": f"private, max-age={PAGE_S}"}
    return Response(image, media_type="image/png", headers=headers)


@lru_cache(maxsize=64)
def _draw_page_cached(drawing: PageDrawing, limits: ParseLimits) -> bytes:
    return draw_page(
        drawing.path, drawing.page, width=drawing.width, limits=limits, quote=drawing.quote
    )


def _build_file_problem(document_id: str) -> Problem:
    return Problem(404, "file_missing", f"the file of {document_id[:64]!r} is gone")


@router.get(DOCUMENT, response_model=DocumentReply)
def get_document(document_id: str, space: CurrentWorkspace, caller: ReadCaller) -> Response:
    """Get a document's metadata and outline: its headings with their offsets in the text.

    In an index with rights, a caller who may read all documents also gets `readers` and
    `reader_lists`.
    """
    document = find_document(space, document_id)
    place = _find_path(space, document)
    limits = _list_limits(space, caller, [document.id]).get(document.id)
    reply = {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "language": document.language,
        "metadata": dict(document.metadata),
        "length": len(document.text),
        "pages": max((block.page or 0 for block in document.blocks), default=0),
        "file": space.files.has_file(place),
        "format": PurePath(place).suffix.lower().lstrip("."),
        "outline": build_outline(document),
        **({} if limits is None else serialize_limits(limits)),
    }
    return build_json_reply(replace_invisible(reply))


def build_outline(document: Document) -> list[dict[str, Any]]:
    """Return the headings of a document in order; `level` counts from 1."""
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


@router.delete(DOCUMENT, response_model=Removal)
def delete_document(document_id: str, space: CurrentWorkspace, _: IngestCaller) -> Response:
    """Delete a document with its chunks, the traces that hold its text, and its uploaded file.

    The corpus file of a record stays, because it holds other records.
    """
    find_document(space, document_id)  # before the wait

    def remove() -> int:
        # Only now, because a job or a deletion before it may have removed the document, or put
        # another one in one of its places.
        document = find_document(space, document_id)
        index = space.engine.reader(checked=False)
        places = [place.path for place in index.list_places(document.id)]
        files = [path for path in places if find_file(index, path, document.id) == path]
        count = space.engine.documents.remove([document.id])
        with space.files.lock():
            waiting = space.list_waiting_paths()
            for path in files:
                if path not in waiting:  # a job that waits will read a newer version of the file
                    space.files.remove(path)
        return count

    return build_json_reply({"removed": run_after_jobs(space, remove)})


def run_after_jobs(space: Workspace, work: Callable[[], T]) -> T:
    """Run work that changes the index once the running jobs are done: the index has one writer.

    Raises:
        Problem: If the jobs take longer than `BUSY_S` (503).
    """
    waiting = space.jobs.submit(work)
    try:
        return waiting.result(BUSY_S)
    except TimeoutError:
        if waiting.cancel():  # the work has not begun: files are still being read
            raise Problem(
                503, "index_busy", "files are being read", next="try again later", retry_after=30
            ) from None
        return waiting.result()
