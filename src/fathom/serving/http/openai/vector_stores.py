"""OpenAI's vector stores: named sets of uploaded files, to which searches can be limited.

All files are in the index of the workspace. A vector store only says which of them a search may
use, so attaching a file costs nothing, and a file can be in several stores.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import time
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from fathom.question.question import Question
from fathom.retrieval.rerank import Reranker
from fathom.serving.http.dependencies import CurrentWorkspace, IngestCaller, ReadCaller, Runner
from fathom.serving.http.event_stream import build_json_reply, run_while_connected
from fathom.serving.http.object_store import ObjectData, make_object_id
from fathom.serving.http.openai.attributes import (
    AttributeFilter,
    Attributes,
    OpenAIBody,
    RankingOptions,
    ResultCount,
    Scalar,
)
from fathom.serving.http.openai.errors import OpenAIRoute, build_parameter_problem
from fathom.serving.http.openai.files import (
    FileId,
    FileState,
    Paging,
    State,
    find_file_data,
    find_states,
)
from fathom.serving.http.problems import Problem
from fathom.serving.http.question_runner import MOST_CHARS
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import replace_invisible
from fathom.types import Filter, Hit

router = APIRouter(prefix="/vector_stores", route_class=OpenAIRoute)
StoreId = Annotated[str, Path(max_length=100)]
MemberId = Annotated[str, Field(max_length=100)]
SearchQuery = Annotated[str, Field(min_length=1, max_length=MOST_CHARS)]


class MemberBody(OpenAIBody):
    """A file to attach."""

    file_id: MemberId
    attributes: Attributes | None = None


class StoreBody(OpenAIBody):
    """A new vector store; the settings of the index decide how files are chunked."""

    name: str = Field(default="", max_length=256)
    metadata: Attributes | None = None
    file_ids: list[MemberId] = Field(default_factory=list, max_length=2_000)
    expires_after: dict[str, Any] | None = None


class StoreChangeBody(OpenAIBody):
    """New fields of a vector store; other fields stay."""

    name: str | None = Field(default=None, max_length=256)
    metadata: Attributes | None = None
    expires_after: dict[str, Any] | None = None


class MemberChangeBody(OpenAIBody):
    """The new attributes of a file in a vector store, which replace all earlier ones."""

    attributes: Attributes | None


class BatchBody(OpenAIBody):
    """Files to attach together, with common or with individual attributes."""

    file_ids: list[MemberId] = Field(default_factory=list, max_length=2_000)
    attributes: Attributes | None = None
    files: list[MemberBody] = Field(default_factory=list, max_length=2_000)


class StoreSearchBody(OpenAIBody):
    """A search in a vector store."""

    query: SearchQuery | Annotated[list[SearchQuery], Field(min_length=1, max_length=10)]
    filters: AttributeFilter | None = None
    max_num_results: ResultCount = 10
    ranking_options: RankingOptions = Field(default_factory=RankingOptions)


class MemberPaging(Paging):
    """The parameters of one page of the files of a vector store."""

    filter: State | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file of a vector store, with the fields that results include."""

    file_id: str
    filename: str
    attributes: Mapping[str, Scalar]


@router.post("")
def create_vector_store(body: StoreBody, space: CurrentWorkspace, _: IngestCaller) -> Response:
    """Create a vector store of uploaded files."""
    _refuse_expiry(body.expires_after)
    store_id = make_object_id("vs_")
    members = _collect_members(space, [MemberBody(file_id=file_id) for file_id in body.file_ids])
    data = {"name": body.name, "metadata": body.metadata or {}, "created_at": int(time())}
    _attach_files(space, store_id, members)
    space.objects.put("vector_store", store_id, data)
    return build_json_reply(_describe_store(space, store_id, data))


@router.get("")
def list_vector_stores(
    space: CurrentWorkspace, _: ReadCaller, paging: Annotated[Paging, Query()]
) -> Response:
    """List the vector stores, newest first."""
    stores = space.objects.list_all("vector_store")
    return paging.build_list(
        stores,
        lambda ids: [_describe_store(space, store_id, stores[store_id]) for store_id in ids],
    )


@router.get("/{store_id}")
def get_vector_store(store_id: StoreId, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """Get a vector store, with the number of its files by state."""
    return build_json_reply(_describe_store(space, store_id, _find_store(space, store_id)))


@router.post("/{store_id}")
def change_vector_store(
    store_id: StoreId, body: StoreChangeBody, space: CurrentWorkspace, _: IngestCaller
) -> Response:
    """Change the name or the metadata of a vector store."""
    _refuse_expiry(body.expires_after)
    empty = {"name": "", "metadata": {}}
    fields = {name: getattr(body, name) or empty[name] for name in body.model_fields_set & {*empty}}
    data = space.objects.change("vector_store", store_id, lambda stored: {**stored, **fields})
    store = _require_object(data, "vector_store", store_id)
    return build_json_reply(_describe_store(space, store_id, store))


@router.delete("/{store_id}")
def delete_vector_store(store_id: StoreId, space: CurrentWorkspace, _: IngestCaller) -> Response:
    """Delete a vector store; its files stay."""
    _find_store(space, store_id)
    space.objects.remove(store_id)
    reply = {"id": store_id, "object": "vector_store.deleted", "deleted": True}
    return build_json_reply(reply)


@router.post("/{store_id}/search")
async def search_vector_store(
    store_id: StoreId,
    body: StoreSearchBody,
    request: Request,
    asking: Runner,
    space: CurrentWorkspace,
    _: ReadCaller,
) -> Response:
    """Find the best chunks of a vector store's files for a query, or for several."""
    queries = [body.query] if isinstance(body.query, str) else body.query

    def search() -> Any:  # noqa: ANN401 - JSON
        members = find_members(space, store_id, body.filters)
        hits = _find_hits(space, queries, members, body.max_num_results) if members else []
        return {
            "object": "vector_store.search_results.page",
            "search_query": queries,
            "data": [
                {
                    **describe_source(members[hit.chunk.document_id]),
                    "score": hit.score,
                    "content": [{"type": "text", "text": hit.chunk.text}],
                }
                for hit in hits
                if hit.score >= body.ranking_options.score_threshold
            ],
            "has_more": False,
            "next_page": None,
        }

    reply = await run_while_connected(request, asking.run_in_turn(space, search))
    return build_json_reply(replace_invisible(reply))


@router.post("/{store_id}/files")
def attach_file(
    store_id: StoreId, body: MemberBody, space: CurrentWorkspace, _: IngestCaller
) -> Response:
    """Attach an uploaded file to a vector store, or change its attributes there."""
    _find_store(space, store_id)
    members = _collect_members(space, [body])
    _attach_files(space, store_id, members)
    return build_json_reply(_describe_members(space, store_id, members)[0])


@router.get("/{store_id}/files")
def list_vector_store_files(
    store_id: StoreId,
    space: CurrentWorkspace,
    _: ReadCaller,
    paging: Annotated[MemberPaging, Query()],
) -> Response:
    """List the files of a vector store, newest first."""
    _find_store(space, store_id)
    return _build_member_list(space, store_id, space.objects.list_all("member", store_id), paging)


@router.get("/{store_id}/files/{file_id}")
def get_vector_store_file(
    store_id: StoreId, file_id: FileId, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Get the state of a file in a vector store."""
    data = _find_member(space, store_id, file_id)
    return build_json_reply(_describe_members(space, store_id, {file_id: data})[0])


@router.post("/{store_id}/files/{file_id}")
def change_vector_store_file(
    store_id: StoreId,
    file_id: FileId,
    body: MemberChangeBody,
    space: CurrentWorkspace,
    _: IngestCaller,
) -> Response:
    """Change the attributes of a file in a vector store."""
    attributes = body.attributes or {}
    data = space.objects.change(
        "member", file_id, lambda stored: {**stored, "attributes": attributes}, store_id
    )
    member = _require_object(data, "file", file_id)
    return build_json_reply(_describe_members(space, store_id, {file_id: member})[0])


@router.get("/{store_id}/files/{file_id}/content")
def get_vector_store_file_text(
    store_id: StoreId, file_id: FileId, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Get the text of a file, with a part for each of its documents."""
    data = _find_member(space, store_id, file_id)
    [(_item, state)] = _pair_states(space, {file_id: data})
    documents = space.engine.documents
    texts = [documents.get(document).text for document in state.documents]
    reply = {
        "object": "vector_store.file_content.page",
        "data": [{"type": "text", "text": text} for text in texts],
        "has_more": False,
        "next_page": None,
    }
    return build_json_reply(replace_invisible(reply))


@router.delete("/{store_id}/files/{file_id}")
def detach_file(
    store_id: StoreId, file_id: FileId, space: CurrentWorkspace, _: IngestCaller
) -> Response:
    """Detach a file from a vector store; the file itself stays."""
    _find_member(space, store_id, file_id)
    space.objects.remove(file_id, store_id)
    reply = {"id": file_id, "object": "vector_store.file.deleted", "deleted": True}
    return build_json_reply(reply)


@router.post("/{store_id}/file_batches")
def create_file_batch(
    store_id: StoreId, body: BatchBody, space: CurrentWorkspace, _: IngestCaller
) -> Response:
    """Attach several files at once."""
    _find_store(space, store_id)
    named = (MemberBody(file_id=name, attributes=body.attributes) for name in body.file_ids)
    members = _collect_members(space, [*named, *body.files])
    batch_id = make_object_id("vsfb_")
    data = {"files": list(members), "created_at": int(time())}
    _attach_files(space, store_id, members)
    space.objects.put("batch", batch_id, data, store_id)
    return build_json_reply(_describe_batch(space, store_id, batch_id, data))


@router.get("/{store_id}/file_batches/{batch_id}")
def get_file_batch(
    store_id: StoreId, batch_id: FileId, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Get the state of a batch of files."""
    data = _find_batch(space, store_id, batch_id)
    return build_json_reply(_describe_batch(space, store_id, batch_id, data))


@router.post("/{store_id}/file_batches/{batch_id}/cancel")
def cancel_file_batch(
    store_id: StoreId, batch_id: FileId, space: CurrentWorkspace, _: IngestCaller
) -> Response:
    """Cancel a batch: this vector store does not search its files that are not ingested yet."""
    batch = _find_batch(space, store_id, batch_id)
    waiting = [
        file_id
        for (file_id, _data), state in _pair_states(
            space, _choose_members(space, store_id, batch["files"])
        )
        if state.status == "in_progress"
    ]
    for file_id in waiting:
        space.objects.change(
            "member", file_id, lambda stored: {**stored, "is_cancelled": True}, store_id
        )
    return build_json_reply(_describe_batch(space, store_id, batch_id, batch))


@router.get("/{store_id}/file_batches/{batch_id}/files")
def list_file_batch_files(
    store_id: StoreId,
    batch_id: FileId,
    space: CurrentWorkspace,
    _: ReadCaller,
    paging: Annotated[MemberPaging, Query()],
) -> Response:
    """List the files of a batch that are still in the vector store, newest first."""
    files = _find_batch(space, store_id, batch_id)["files"]
    return _build_member_list(space, store_id, _choose_members(space, store_id, files), paging)


def find_members(
    space: Workspace, store_id: str, condition: AttributeFilter | None = None
) -> dict[str, Member]:
    """Return the searchable files of a vector store by the ids of their documents.

    Args:
        space: The workspace.
        store_id: The id of the vector store.
        condition: The condition on the attributes of a file; by default none.

    Raises:
        Problem: If there is no such vector store (404).
    """
    _find_store(space, store_id)
    members = {
        file_id: data
        for file_id, data in space.objects.list_all("member", store_id).items()
        if condition is None or condition.is_met(data["attributes"])
    }
    return {
        document: Member(file_id=file_id, filename=data["filename"], attributes=data["attributes"])
        for (file_id, data), state in _pair_states(space, members)
        for document in state.documents
    }


def build_filter(members: Iterable[str]) -> Filter:
    """Build the condition that a hit is in one of these documents."""
    return Filter("document", "in", tuple(sorted(members)))


def describe_source(member: Member) -> ObjectData:
    """Return the fields of a file in results."""
    return {
        "file_id": member.file_id,
        "filename": member.filename,
        "attributes": dict(member.attributes),
    }


def _find_hits(
    space: Workspace, queries: Sequence[str], members: Mapping[str, Member], count: int
) -> list[Hit]:
    """Return the best hits of several queries, with scores in [0, 1] and without duplicates."""
    engine, best = space.engine, dict[str, Hit]()
    reranker = Reranker.of(engine.assembly)
    for query in queries:
        candidates = engine.search(
            query, k=max(count, reranker.most), filters=[build_filter(members)]
        )
        _, hits = reranker.rerank_hits(Question(query), candidates, keep=count)
        for hit in hits:
            earlier = best.get(hit.chunk.id)
            if earlier is None or earlier.score < hit.score:
                best[hit.chunk.id] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk.id))[:count]


def _find_store(space: Workspace, store_id: str) -> ObjectData:
    return _require_object(space.objects.get("vector_store", store_id), "vector_store", store_id)


def _find_member(space: Workspace, store_id: str, file_id: str) -> ObjectData:
    return _require_object(space.objects.get("member", file_id, store_id), "file", file_id)


def _find_batch(space: Workspace, store_id: str, batch_id: str) -> ObjectData:
    return _require_object(space.objects.get("batch", batch_id, store_id), "batch", batch_id)


def _require_object(data: ObjectData | None, kind: str, object_id: str) -> ObjectData:
    if data is None:
        name = kind.replace("_", " ")
        raise Problem(404, f"{kind}_not_found", f"there is no {name} {object_id[:80]!r}")
    return data


def _collect_members(space: Workspace, files: Sequence[MemberBody]) -> dict[str, ObjectData]:
    """Return the data of files as members, so that all are checked before one is attached.

    Raises:
        Problem: If a file does not exist (404).
    """
    created = {"attached_at": int(time())}
    return {
        file.file_id: {
            **find_file_data(space, file.file_id),
            **created,
            "attributes": file.attributes or {},
        }
        for file in files
    }


def _refuse_expiry(policy: dict[str, Any] | None) -> None:
    if policy is not None:
        raise build_parameter_problem("expires_after", "vector stores stay until they are deleted")


def _choose_members(space: Workspace, store_id: str, files: Iterable[str]) -> dict[str, ObjectData]:
    """Return those of the files that are in the vector store."""
    members = space.objects.list_all("member", store_id)
    return {file_id: members[file_id] for file_id in files if file_id in members}


def _attach_files(space: Workspace, store_id: str, members: Mapping[str, ObjectData]) -> None:
    for file_id, data in members.items():
        space.objects.put("member", file_id, data, store_id)


def _pair_states(
    space: Workspace, members: Mapping[str, ObjectData]
) -> Iterator[tuple[tuple[str, ObjectData], FileState]]:
    """Yield the members with their states; a cancelled member is not searched."""
    states = find_states(space, list(members.values()))
    for item, state in zip(members.items(), states, strict=True):
        yield item, FileState(status="cancelled") if item[1].get("is_cancelled") else state


def _build_member_list(
    space: Workspace, store_id: str, members: Mapping[str, ObjectData], paging: MemberPaging
) -> Response:
    chosen = {
        file_id: data
        for (file_id, data), state in _pair_states(space, members)
        if paging.filter in {None, state.status}
    }
    return paging.build_list(
        chosen,
        lambda ids: _describe_members(space, store_id, {name: chosen[name] for name in ids}),
    )


def _describe_members(
    space: Workspace, store_id: str, members: Mapping[str, ObjectData]
) -> list[ObjectData]:
    return [
        {
            "id": file_id,
            "object": "vector_store.file",
            "vector_store_id": store_id,
            "created_at": data["attached_at"],
            "usage_bytes": data["bytes"],
            "status": state.status,
            "last_error": {"code": "invalid_file", "message": replace_invisible(state.reason)}
            if state.status == "failed"
            else None,
            "attributes": replace_invisible(data["attributes"]),
            "chunking_strategy": {"type": "other"},
        }
        for (file_id, data), state in _pair_states(space, members)
    ]


def _count_states(space: Workspace, members: Mapping[str, ObjectData]) -> dict[str, int]:
    states = [state.status for _, state in _pair_states(space, members)]
    return {**{name: states.count(name) for name in get_args(State)}, "total": len(states)}


def _describe_store(space: Workspace, store_id: str, data: ObjectData) -> ObjectData:
    members = space.objects.list_all("member", store_id)
    counts = _count_states(space, members)
    return {
        "id": store_id,
        "object": "vector_store",
        "created_at": data["created_at"],
        "last_active_at": data["created_at"],
        "name": replace_invisible(data["name"]),
        "metadata": replace_invisible(data["metadata"]),
        "usage_bytes": sum(member["bytes"] for member in members.values()),
        "file_counts": counts,
        "status": "in_progress" if counts["in_progress"] else "completed",
        "expires_after": None,
        "expires_at": None,
    }


def _describe_batch(space: Workspace, store_id: str, batch_id: str, data: ObjectData) -> ObjectData:
    counts = _count_states(space, _choose_members(space, store_id, data["files"]))
    status = "cancelled" if counts["cancelled"] else "completed"
    return {
        "id": batch_id,
        "object": "vector_store.files_batch",
        "vector_store_id": store_id,
        "created_at": data["created_at"],
        "file_counts": counts,
        "status": "in_progress" if counts["in_progress"] else status,
    }
