"""The routes of sources, for keys with the scope `admin`.

Adding a source makes this server send requests. So these routes add web sites only, and only if the
operator lets the server fetch for its users. Each request goes to a public address and carries no
password of this machine. The operator adds folders, and servers that need a password, at the
command line.
"""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi import Path as PathParameter
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fathom.errors import UsageError
from fathom.ingest.sources.fetch import MOST_URL_CHARS, WayOut
from fathom.ingest.sources.store import StoredSource
from fathom.jsonable import Json
from fathom.serving.http.admission import Admission
from fathom.serving.http.api import Body
from fathom.serving.http.dependencies import AdminCaller, CurrentWorkspace, KeyFirstRoute
from fathom.serving.http.document_routes import check_may_fetch, run_after_jobs
from fathom.serving.http.event_stream import build_json_reply
from fathom.serving.http.fetch import check_public_address
from fathom.serving.http.problems import Problem
from fathom.serving.http.reply_schemas import Removal, SourceList, SourceReply
from fathom.serving.http.source_schedule import SourceName, SourceSchedule
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import replace_invisible

router = APIRouter(prefix="/api/v1", tags=["sources"], route_class=KeyFirstRoute)
MOST_SOURCES = 100
"""The number of sources of a workspace, at most."""
Name = Annotated[str, PathParameter(min_length=1, max_length=64)]
Patterns = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)]


class SourceBody(Body):
    """A web site that the index is to follow."""

    url: str = Field(min_length=1, max_length=MOST_URL_CHARS)
    name: str = Field(default="", max_length=64)
    include: Patterns = Field(default_factory=list)
    exclude: Patterns = Field(default_factory=list)
    every: str = Field(default="", max_length=6, description="`1m` to `30d`; empty for never.")


@router.get("/sources", response_model=SourceList)
def list_sources(request: Request, space: CurrentWorkspace, _: AdminCaller) -> Response:
    """List the sources of this workspace with their state, last synchronization and error."""
    # Read first: a synchronization that ends between both reads is then seen as pending.
    pending = _get_schedule(request).list_pending()
    sources = [
        _serialize_source(source, is_pending=SourceName(space.name, source.name) in pending)
        for source in space.engine.sources.list()
    ]
    return build_json_reply({"sources": sources})


@router.post("/sources", status_code=201, response_model=SourceReply)
async def add_source(
    body: SourceBody, request: Request, space: CurrentWorkspace, _: AdminCaller
) -> Response:
    """Add a web site; with `every` the server synchronizes it at that interval."""
    check_may_fetch(space)
    fetching: Admission = request.app.state.fetching
    async with fetching.take_turn():
        await run_in_threadpool(check_public_address, body.url, WayOut().resolve)
    source = await run_in_threadpool(_add_source, space, body)
    return build_json_reply(_serialize_source(source), 201)


@router.post("/sources/{name}/sync", status_code=202, response_model=SourceReply)
def sync_source(name: Name, request: Request, space: CurrentWorkspace, _: AdminCaller) -> Response:
    """Synchronize a source in the background, after the earlier requests."""
    source = _find_source(space, name)
    _get_schedule(request).request(SourceName(space.name, name))
    return build_json_reply(_serialize_source(source, is_pending=True), 202)


@router.post("/sources/{name}/pause", response_model=SourceReply)
def pause_source(name: Name, request: Request, space: CurrentWorkspace, _: AdminCaller) -> Response:
    """Pause the automatic synchronization of a source; its documents stay."""
    return _set_paused(name, request, space, paused=True)


@router.post("/sources/{name}/resume", response_model=SourceReply)
def resume_source(
    name: Name, request: Request, space: CurrentWorkspace, _: AdminCaller
) -> Response:
    """Resume the automatic synchronization of a source."""
    return _set_paused(name, request, space, paused=False)


@router.delete("/sources/{name}", response_model=Removal)
def remove_source(name: Name, space: CurrentWorkspace, _: AdminCaller) -> Response:
    """Remove a source and its documents from the index; the source itself does not change."""
    _find_source(space, name)
    removed = run_after_jobs(space, partial(space.engine.sources.remove, name))
    return build_json_reply({"removed": removed})


def _add_source(space: Workspace, body: SourceBody) -> StoredSource:
    if len(space.engine.sources.list()) >= MOST_SOURCES:
        raise UsageError(f"there are {MOST_SOURCES} sources already; remove one first")
    return space.engine.sources.add(
        body.url,
        name=body.name,
        include=body.include,
        exclude=body.exclude,
        every=body.every,
        with_secrets=False,
    )


def _set_paused(name: str, request: Request, space: Workspace, *, paused: bool) -> Response:
    _find_source(space, name)
    is_pending = SourceName(space.name, name) in _get_schedule(request).list_pending()
    space.engine.sources.pause(name, paused=paused)
    return build_json_reply(_serialize_source(_find_source(space, name), is_pending=is_pending))


def _find_source(space: Workspace, name: str) -> StoredSource:
    source = next((source for source in space.engine.sources.list() if source.name == name), None)
    if source is None:
        raise Problem(
            404, "source_missing", f"no source {name!r}", next="GET /api/v1/sources lists them"
        )
    return source


def _get_schedule(request: Request) -> SourceSchedule:
    schedule: SourceSchedule = request.app.state.schedule
    return schedule


def _serialize_source(source: StoredSource, *, is_pending: bool = False) -> Json:
    return replace_invisible(
        {
            "name": source.name,
            "url": source.url,
            "include": [*source.include],
            "exclude": [*source.exclude],
            "every": source.every,
            "state": "running" if source.running else "waiting" if is_pending else "idle",
            "paused": source.paused,
            "documents": source.documents,
            "synced": source.synced or None,
            "fault": source.fault,
        }
    )
