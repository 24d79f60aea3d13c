"""Documents over HTTP: upload, list, show, open at a place, remove; and the jobs that read them."""

import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, Query, UploadFile
from starlette.responses import FileResponse, Response

from fathom.errors import IndexMissing
from fathom.serving.http.dependencies import Here, MayIngest, MayRead
from fathom.serving.http.problems import Problem
from fathom.serving.http.streams import json_text
from fathom.serving.http.workspaces import Workspace
from fathom.types import Document

router = APIRouter(prefix="/api/v1", tags=["documents"])
UPLOADS = "uploads"
INLINE = {
    ".pdf": "application/pdf",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}


@router.get("/documents")
def listed(
    space: Here,
    _: MayRead,
    cursor: str = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Any:  # noqa: ANN401
    """The documents by path; `next` is the cursor of the next page."""
    from dataclasses import asdict

    try:
        all_of_them = list(space.engine.documents())
    except IndexMissing:
        all_of_them = []
    rest = [each for each in all_of_them if (each.path + "\n" + each.id) > cursor]
    page = rest[:limit]
    following = f"{page[-1].path}\n{page[-1].id}" if len(rest) > limit else None
    return {
        "documents": [asdict(each) for each in page],
        "total": len(all_of_them),
        "next": following,
    }


@router.post("/documents", status_code=202)
async def upload(files: Annotated[list[UploadFile], File()], space: Here, _: MayIngest) -> Any:  # noqa: ANN401
    """Take files in; they are read in the background, see the job."""
    folder = (space.directory / UPLOADS).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    names = {}
    for file in files:
        name = Path((file.filename or "unnamed").replace("\\", "/")).name or "unnamed"
        path = folder / name
        path.write_bytes(await file.read())
        names[str(path)] = name
    job = space.jobs.add(folder, names)
    return {"job": job.id, **job.to_json()}


@router.get("/jobs")
def jobs(space: Here, _: MayRead) -> Any:  # noqa: ANN401
    """The latest jobs, newest first."""
    return {"jobs": [job.to_json() for job in space.jobs.list()]}


@router.get("/jobs/{job_id}")
def job_of(job_id: str, space: Here, _: MayRead) -> Any:  # noqa: ANN401
    """How far an upload is, and what became of each file."""
    job = space.jobs.get(job_id)
    if job is None:
        raise Problem(404, "job_missing", f"there is no job {job_id[:80]!r}")
    return job.to_json()


def found(space: Workspace, document_id: str) -> Document:
    """The document of this id in a workspace.

    Raises:
        Problem: If there is none.
    """
    try:
        document = space.engine.reader(checked=False).document(document_id)
    except IndexMissing:
        document = None
    if document is None:
        raise Problem(
            404,
            "document_missing",
            f"there is no document {document_id[:80]!r}",
            next="GET /api/v1/documents lists them",
        )
    return document


@router.get("/documents/{document_id}")
def shown(document_id: str, space: Here, _: MayRead) -> Response:
    """What a document is, and its outline: sections with where they begin in the text."""
    document = found(space, document_id)
    path = Path(document.path.removesuffix(f"#{document.id}"))
    told = {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "language": document.language,
        "metadata": dict(document.metadata),
        "length": len(document.text),
        "pages": max((block.page or 0 for block in document.blocks), default=0),
        "file": path.is_file(),
        "format": path.suffix.lower().lstrip("."),
        "outline": outline(document),
    }
    return Response(json_text(told), media_type="application/json")


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


@router.get("/documents/{document_id}/text")
def text(
    document_id: str,
    space: Here,
    _: MayRead,
    start: Annotated[int, Query(ge=0)] = 0,
    end: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """The text of a document; the offsets of citations point into it, in characters."""
    whole = found(space, document_id).text
    return Response(whole[start:end], media_type="text/plain; charset=utf-8")


@router.get("/documents/{document_id}/file")
def file(document_id: str, space: Here, _: MayRead) -> FileResponse:
    """The file that a document was read from; shown by browsers only where that is safe."""
    document = found(space, document_id)
    path = Path(document.path.removesuffix(f"#{document.id}"))
    if not os.path.isfile(path):  # noqa: PTH113
        raise Problem(404, "file_missing", f"the file of {document_id!r} is not there any more")
    kind = INLINE.get(path.suffix.lower())
    return FileResponse(
        path,
        filename=path.name,
        media_type=kind or "application/octet-stream",
        content_disposition_type="inline" if kind else "attachment",
    )


@router.delete("/documents/{document_id}")
def removed(document_id: str, space: Here, _: MayIngest) -> Any:  # noqa: ANN401
    """Remove a document with its chunks, and the traces that hold its text."""
    found(space, document_id)
    return {"removed": space.engine.remove([document_id])}
