"""The route of the audit log, for keys with the scope `admin`."""

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fathom.serving.http.audit_log import AuditLog, AuditQuery, parse_since
from fathom.serving.http.dependencies import AdminCaller, CurrentWorkspace
from fathom.serving.http.event_stream import build_json_reply
from fathom.serving.http.reply_schemas import AuditList

router = APIRouter(prefix="/api/v1", tags=["server"])


@router.get("/audit", response_model=AuditList)
def list_audit_lines(
    request: Request,
    space: CurrentWorkspace,
    _: AdminCaller,
    since: Annotated[str, Query(max_length=40, description="The earliest time, in UTC.")] = "",
    key: Annotated[
        str, Query(max_length=200, description="Only lines of this key, by its id or name.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
) -> Response:
    """List the lines of the audit log of this workspace, oldest first.

    The `next` of a reply is the `since` of the request for the further lines.
    """
    log: AuditLog = request.app.state.audit_log
    query = AuditQuery(since=parse_since(since), key=key, workspace=space.name)
    lines = [line.to_json() for line in islice(log.list_lines(query), limit + 1)]
    following = lines[limit]["requested"] if len(lines) > limit else None
    return build_json_reply({"lines": lines[:limit], "next": following})
