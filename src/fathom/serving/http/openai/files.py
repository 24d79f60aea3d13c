"""OpenAI's files: uploads that are ingested like other documents, each in its own folder."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from time import time
from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Path, Query, Request, UploadFile
from pydantic import BaseModel, Field
from starlette.responses import FileResponse, Response

from fathom.errors import UsageError
from fathom.index.base import IndexReader
from fathom.serving.http.api import load_or_default
from fathom.serving.http.dependencies import CurrentWorkspace, IngestCaller, ReadCaller
from fathom.serving.http.document_routes import (
    build_file_reply,
    locate_upload,
    run_after_jobs,
)
from fathom.serving.http.event_stream import build_json_reply
from fathom.serving.http.object_store import ObjectData, make_object_id
from fathom.serving.http.openai.errors import (
    OpenAIRoute,
    ParameterProblem,
    build_parameter_problem,
)
from fathom.serving.http.problems import Problem
from fathom.serving.http.reply_schemas import OpenAIErrorReply, describe_file
from fathom.serving.http.uploads import is_sidecar
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import replace_invisible

router = APIRouter(route_class=OpenAIRoute)
PURPOSES = frozenset({"assistants", "user_data"})
"""The accepted purposes of files."""
State = Literal["in_progress", "completed", "failed", "cancelled"]
FileId = Annotated[str, Path(max_length=100)]


class Paging(BaseModel):
    """The parameters of one page of a list, bounded by ids, which sort by age."""

    after: str = Field(default="", max_length=100)
    before: str = Field(default="", max_length=100)
    limit: int = Field(default=20, ge=1, le=100)
    order: Literal["asc", "desc"] = "desc"

    def build_list(
        self, objects: Iterable[str], describe: Callable[[Sequence[str]], Iterable[ObjectData]]
    ) -> Response:
        """Build the reply with one page of objects.

        Args:
            objects: The ids of all objects.
            describe: Returns the objects of the ids on the page.
        """
        is_newest_first = self.order == "desc"

        def is_later(object_id: str, cursor: str) -> bool:
            return object_id < cursor if is_newest_first else object_id > cursor

        ids = [
            object_id
            for object_id in sorted(objects, reverse=is_newest_first)
            if not (self.after and not is_later(object_id, self.after))
            and not (self.before and not is_later(self.before, object_id))
        ]
        is_backward = bool(self.before and not self.after)
        page = ids[-self.limit :] if is_backward else ids[: self.limit]
        reply = {
            "object": "list",
            "data": list(describe(page)),
            "first_id": page[0] if page else None,
            "last_id": page[-1] if page else None,
            "has_more": len(ids) > len(page),
        }
        return build_json_reply(replace_invisible(reply))


class FilePaging(Paging):
    """The parameters of one page of the list of files."""

    limit: int = Field(default=10_000, ge=1, le=10_000)
    purpose: str = Field(default="", max_length=40)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """The state of a file in the index.

    Attributes:
        documents: The ids of its documents; several if it is a file of records.
        reason: The reason of a failure; else empty.
    """

    status: State
    documents: tuple[str, ...] = ()
    reason: str = ""


@router.post("/files")
def upload_file(
    file: Annotated[UploadFile, File()],
    purpose: Annotated[str, Form(max_length=40)],
    space: CurrentWorkspace,
    _: IngestCaller,
    expiry: Annotated[str, Form(alias="expires_after[anchor]", max_length=40)] = "",
) -> Response:
    """Upload a file, which is ingested in the background."""
    if purpose not in PURPOSES:
        raise build_parameter_problem("purpose", f"use one of {', '.join(sorted(PURPOSES))}")
    if expiry:
        raise build_parameter_problem("expires_after", "files stay until they are deleted")
    file_id = make_object_id("file-")
    filename = PurePath((file.filename or "").replace("\\", "/")).name
    if is_sidecar(filename):
        raise ParameterProblem(
            "file", 400, "invalid_file", f"{filename[:200]!r}: it names readers, and is no document"
        )
    # Each file has a folder, because files of the same name are different files.
    file.filename = f"{file_id}/{filename}"
    stored = space.files.store([file])
    if stored.refused:
        reason = stored.refused[0]["reason"]
        raise ParameterProblem("file", 400, "invalid_file", f"{filename[:200]!r}: {reason}")
    [(path, name)] = stored.names.items()
    job = space.jobs.add(stored.names)
    data = {
        "filename": filename,
        "path": path,
        "name": name,
        "bytes": file.size or 0,
        "created_at": int(time()),
        "purpose": purpose,
        "job": job.id,
    }
    space.objects.put("file", file_id, data)
    return build_json_reply(_describe_files(space, {file_id: data})[0])


@router.get("/files")
def list_files(
    space: CurrentWorkspace, _: ReadCaller, paging: Annotated[FilePaging, Query()]
) -> Response:
    """List the files that were uploaded by this interface, newest first."""
    files = {
        file_id: data
        for file_id, data in space.objects.list_all("file").items()
        if paging.purpose in {"", data["purpose"]}
    }
    return paging.build_list(
        files, lambda ids: _describe_files(space, {file_id: files[file_id] for file_id in ids})
    )


@router.get("/files/{file_id}")
def get_file(file_id: FileId, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """Get a file's name, size and state."""
    data = find_file_data(space, file_id)
    return build_json_reply(_describe_files(space, {file_id: data})[0])


@router.get(
    "/files/{file_id}/content",
    response_class=FileResponse,
    responses=describe_file(OpenAIErrorReply, "application/json"),
)
def get_file_content(
    file_id: FileId, request: Request, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Get the bytes of a file."""
    data = find_file_data(space, file_id)
    return build_file_reply(locate_upload(space, _find_path(space, data), file_id), request)


@router.delete("/files/{file_id}")
def delete_file(file_id: FileId, space: CurrentWorkspace, _: IngestCaller) -> Response:
    """Delete a file with its documents and the traces that hold their text, in every store."""
    path = _find_path(space, find_file_data(space, file_id))

    def remove() -> None:
        space.files.remove(path)  # first, so that a job that still waits cannot ingest it
        with suppress(UsageError):  # nothing was ingested from it
            space.engine.documents.remove([path])
        space.objects.remove(file_id)

    run_after_jobs(space, remove)
    return build_json_reply({"id": file_id, "object": "file", "deleted": True})


def find_file_data(space: Workspace, file_id: str) -> ObjectData:
    """Return the data of a file.

    Raises:
        Problem: If there is no such file (404).
    """
    data = space.objects.get("file", file_id)
    if data is None:
        raise Problem(404, "file_not_found", f"there is no file {file_id[:80]!r}")
    return data


def find_states(space: Workspace, files: Sequence[ObjectData]) -> list[FileState]:
    """Return the states of files, in order."""
    # Read before the index, because a job may end between both reads.
    open_jobs = {job.id for job in space.jobs.list_open()}
    index = load_or_default(lambda: space.engine.reader(checked=False), None)
    paths = space.files.find_paths({data["path"]: data["name"] for data in files})
    return [
        FileState(status="in_progress")
        if data["job"] in open_jobs
        else _find_final_state(space, index, paths[data["path"]], data["job"])
        for data in files
    ]


def _find_final_state(
    space: Workspace, index: IndexReader | None, path: str, job_id: str
) -> FileState:
    source = index.get_source(path) if index else None
    if index is None or source is None:
        job = space.jobs.get(job_id)
        reasons = [job.reason, *(file["reason"] for file in job.files)] if job else []
        reason = next(filter(None, reasons), "its document was removed")
        return FileState(status="failed", reason=reason)
    if source.document_id is not None:
        return FileState(status="completed", documents=(source.document_id,))
    if source.is_corpus:
        records = index.list_sources(path)
        documents = tuple(record.document_id for record in records if record.document_id)
        return FileState(status="completed", documents=documents)
    return FileState(status="failed", reason=source.reason)


def _find_path(space: Workspace, data: ObjectData) -> str:
    return space.files.find_paths({data["path"]: data["name"]})[data["path"]]


def _describe_files(space: Workspace, files: Mapping[str, ObjectData]) -> list[ObjectData]:
    """Return files in the form that OpenAI's clients expect."""
    statuses = {"in_progress": "uploaded", "completed": "processed", "failed": "error"}
    states = find_states(space, list(files.values()))
    return [
        {
            "id": file_id,
            "object": "file",
            **{name: data[name] for name in ("bytes", "created_at", "purpose")},
            "filename": replace_invisible(data["filename"]),
            "expires_at": None,
            "status": statuses[state.status],
            "status_details": replace_invisible(state.reason) or None,
        }
        for (file_id, data), state in zip(files.items(), states, strict=True)
    ]
