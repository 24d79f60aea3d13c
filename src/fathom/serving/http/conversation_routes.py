"""The routes of conversations."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from fathom.serving.http.api import Body
from fathom.serving.http.dependencies import (
    CurrentWorkspace,
    KeyFirstRoute,
    ReadCaller,
    build_scope_problem,
)
from fathom.serving.http.event_stream import build_json_reply
from fathom.serving.http.reply_schemas import (
    ConversationCreated,
    ConversationList,
    ConversationReply,
)
from fathom.serving.shapes import replace_invisible

router = APIRouter(
    prefix="/api/v1/conversations", tags=["conversations"], route_class=KeyFirstRoute
)


class ConversationBody(Body):
    """A new conversation."""

    title: str = Field(default="", max_length=200)


@router.get("", response_model=ConversationList)
def list_conversations(
    space: CurrentWorkspace,
    _: ReadCaller,
    cursor: Annotated[
        str, Query(max_length=100, description="The `next` of the page before.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """List the latest conversations, newest first.

    The `next` of a reply is the `cursor` of the request for the next page.
    """
    # One more than the limit shows whether there is a next page.
    listed = space.conversations.list_latest(limit + 1, cursor)
    conversations = listed[:limit]
    last = conversations[-1] if len(listed) > limit else None
    next_cursor = last and f"{last['updated']}{last['id']}"
    return build_json_reply(
        {"conversations": replace_invisible(conversations), "next": next_cursor}
    )


@router.post("", status_code=201, response_model=ConversationCreated)
def create_conversation(
    body: ConversationBody, space: CurrentWorkspace, caller: ReadCaller
) -> Response:
    """Create a conversation; a question that names it is read as a follow-up of its questions."""
    return build_json_reply(
        {"id": space.conversations.add(body.title, caller.key_id, caller.owner)}, 201
    )


@router.get("/{conversation_id}", response_model=ConversationReply)
def get_conversation(conversation_id: str, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """Get a conversation with its questions, and their answers as they were given."""
    return build_json_reply(replace_invisible(space.conversations.get(conversation_id)))


@router.delete("/{conversation_id}", status_code=204)
def delete_conversation(
    conversation_id: str, space: CurrentWorkspace, caller: ReadCaller
) -> Response:
    """Delete a conversation that the key began; with the scope `curate`, delete any."""
    owner = space.conversations.find_owner(conversation_id)
    # A caller who sees only the conversations that they hold may remove each of them.
    is_owner = space.owner or (caller.key_id and owner == caller.key_id)
    if not is_owner and not caller.may_curate:
        raise build_scope_problem("curate", "remove a conversation that another key began")
    space.conversations.remove(conversation_id)
    return Response(status_code=204)
