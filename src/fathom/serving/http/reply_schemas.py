"""The shapes of replies, used for the OpenAPI description only.

Routes build their replies as plain JSON, so no request uses these classes. The tests compare each
reply that they get with its shape. The shape of a reply that is a dataclass is that dataclass.
"""

from dataclasses import dataclass, field
from typing import Any, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from fathom.evaluation.report.storage import ReportSummary
from fathom.index.base import DocumentSummary, IndexStatus
from fathom.index.feedback import FeedbackKind
from fathom.index.rights import ReaderList
from fathom.index.traces import TraceSummary
from fathom.jsonable import Json
from fathom.runs.replay import Difference
from fathom.serving.budgets import Effort
from fathom.serving.http.job_queue import JobState
from fathom.types import Answer, AnswerStatus
from fathom.usage import Budget

Description = dict[int | str, dict[str, Any]]
"""Further replies of a route, in the form of FastAPI."""


class ProblemReply(TypedDict):
    """An error by RFC 9457; `type` is stable, `next` is the next step or empty."""

    type: str
    title: str
    status: int
    detail: str
    next: str
    retry_after: NotRequired[int]


class OpenAIError(TypedDict):
    """The fields of an error in OpenAI's form."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIErrorReply(TypedDict):
    """An error in OpenAI's form."""

    error: OpenAIError


_, _ERRORS = TypeAdapter.json_schemas(
    [(name, "serialization", TypeAdapter(name)) for name in (ProblemReply, OpenAIErrorReply)],
    ref_template="#/components/schemas/{model}",
)
ERROR_SCHEMAS: dict[str, Any] = _ERRORS["$defs"]
"""The schemas of errors by name, for the components of the description."""


def describe_errors(shape: type, media_type: str) -> Description:
    """Return the OpenAPI description of a route's errors."""
    schema = {"$ref": f"#/components/schemas/{shape.__name__}"}
    return {"default": {"description": "An error", "content": {media_type: {"schema": schema}}}}


def describe_content(media_type: str, description: str) -> Description:
    """Return the OpenAPI description of a reply that can have a media type other than JSON."""
    schema = {"type": "string"}
    return {200: {"description": description, "content": {media_type: {"schema": schema}}}}


class StateReply(TypedDict):
    """The state of the server."""

    status: str


class QuoteReply(TypedDict):
    """A quote of a short answer; `at` is its file with its line or page, `start` an offset."""

    at: str
    quote: str
    document: str
    start: int
    end: int


class ExcerptReply(TypedDict):
    """A short excerpt; `start` and `end` are offsets in the text of the document."""

    at: str
    name: str
    document: str
    start: int
    end: int
    text: str


class BriefAnswerReply(TypedDict):
    """A short answer with `p`, the probability that it is right."""

    question: str
    status: AnswerStatus
    tentative: bool
    answer: str
    quotes: list[QuoteReply]
    p: float | None
    others: list[str]
    trace_id: str | None
    warnings: NotRequired[list[str]]


class BriefRefusalReply(TypedDict):
    """A refusal with the excerpts that are nearest to an answer."""

    question: str
    status: AnswerStatus
    reason: str
    nearest: list[ExcerptReply]
    trace_id: str | None
    warnings: NotRequired[list[str]]


AskReply = Answer | BriefAnswerReply | BriefRefusalReply


class ExcerptList(TypedDict):
    """The best excerpts; `hits_left` and `chars_left` count what did not fit."""

    query: str
    hits: list[ExcerptReply]
    hits_left: int
    chars_left: int


class FoundChunk(TypedDict):
    """A hit of a search; `start` and `end` are offsets in the text of the document."""

    rank: int
    score: float
    document: str
    chunk: str
    path: str
    title: str
    section: str
    page: int | None
    line: int | None
    recognised: float | None
    start: int
    end: int
    text: str


class HitList(TypedDict):
    """The hits of a search, best first."""

    query: str
    hits: list[FoundChunk]


SearchReply = HitList | ExcerptList


class TraceList(TypedDict):
    """The newest traces."""

    traces: list[TraceSummary]


class TraceReply(TypedDict):
    """A trace; `lines` are its records as they are stored."""

    id: str
    lines: list[Json]


class ReplayReply(TypedDict):
    """A replay; `answer` is null if the record of the trace is incomplete."""

    trace_id: str
    same: bool
    difference: Difference | None
    missing: list[str]
    prompts: list[str]
    answer: Answer | None


class FeedbackReply(TypedDict):
    """Stored feedback; `again` is true if the same question now gets the given answer."""

    trace_id: str
    said: FeedbackKind
    again: bool


class StrategyReply(TypedDict):
    """A strategy."""

    name: str
    description: str


class StrategyList(TypedDict):
    """The strategies, and the budget of each effort."""

    default: str
    effort: Effort
    strategies: list[StrategyReply]
    papers: list[str]
    efforts: dict[Effort, Budget]


class CertificateReply(TypedDict):
    """A certificate: at most `max_error` of the answers with this confidence or more are wrong."""

    max_error: float
    threshold: float
    coverage: float


class CalibrationEntry(TypedDict):
    """The calibration of a strategy."""

    source: str
    made_of: dict[str, Json]
    certificates: list[CertificateReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatusReply(IndexStatus):
    """The state of an index, with its calibrations by strategy."""

    calibrations: dict[str, CalibrationEntry]


class WorkspaceStatus(TypedDict):
    """The state of a workspace; `index` is null while nothing has been ingested."""

    workspace: str
    scopes: list[str]
    llm: str
    offline: bool
    writer: str
    index: IndexStatusReply | None


class ConversationHead(TypedDict):
    """A conversation without its turns; times are ISO 8601 in UTC."""

    id: str
    title: str
    created: str
    updated: str


class ConversationList(TypedDict):
    """The latest conversations; `next` is the cursor of the next page."""

    conversations: list[ConversationHead]
    next: str | None


class ConversationCreated(TypedDict):
    """A new conversation."""

    id: str


class TurnReply(TypedDict):
    """A question with its answer; null if the answer is gone."""

    question: str
    trace_id: str | None
    asked: str
    answer: Answer | None


class ConversationReply(ConversationHead):
    """A conversation with its turns, oldest first."""

    turns: list[TurnReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocumentReply(DocumentSummary):
    """A document in a list; callers who may not read all documents do not get its readers."""

    readers: list[list[str]] = field(default_factory=list)
    reader_lists: list[ReaderList] = field(default_factory=list)


class DocumentListReply(TypedDict):
    """A page of documents; `next` is the cursor of the next one."""

    documents: list[ListedDocumentReply]
    total: int
    next: str | None


class DocumentHeading(TypedDict):
    """A heading; `start` is its offset in the text."""

    title: str
    level: int
    start: int
    page: int | None


class DocumentReply(TypedDict):
    """A document without its text."""

    id: str
    path: str
    title: str
    language: str
    metadata: dict[str, Json]
    length: int
    pages: int
    file: bool
    format: str
    outline: list[DocumentHeading]
    readers: NotRequired[list[list[str]]]
    reader_lists: NotRequired[list[ReaderList]]


class DocumentChunk(TypedDict):
    """A chunk; `start` and `end` are offsets in the text of the document."""

    id: str
    start: int
    end: int
    section: str
    page: int | None
    text: str


class ChunkList(TypedDict):
    """The chunks of a document, in order."""

    document: str
    chunks: list[DocumentChunk]


class Removal(TypedDict):
    """The number of documents that were removed."""

    removed: int


class FileOutcome(TypedDict):
    """The outcome of an uploaded file."""

    path: str
    outcome: str
    reason: str


class JobReply(TypedDict):
    """An ingestion job; `rate` is in bytes per second, `seconds_left` is an estimate."""

    id: str
    state: JobState
    stage: str
    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    rate: float
    seconds: float
    seconds_left: float | None
    reason: str
    files: list[FileOutcome]


class AcceptedJob(JobReply):
    """A job that was accepted; `job` is its id."""

    job: str


class JobList(TypedDict):
    """The latest jobs, newest first."""

    jobs: list[JobReply]


class SourceReply(TypedDict):
    """A source; `synced` is the time of its last synchronization, or null."""

    name: str
    url: str
    include: list[str]
    exclude: list[str]
    every: str
    state: str
    paused: bool
    documents: int
    synced: str | None
    fault: str


class SourceList(TypedDict):
    """The sources of the workspace."""

    sources: list[SourceReply]


class ReportList(TypedDict):
    """The evaluation reports, newest first."""

    reports: list[ReportSummary]


class ReportSectionReply(TypedDict):
    """A section of a report: tables, sentences and plots."""

    title: str
    blocks: list[dict[str, Json]]


class ReportReply(TypedDict):
    """An evaluation report."""

    created: str
    title: str
    sections: list[ReportSectionReply]
    foot: str


class AuditPlace(TypedDict):
    """A document that was shown, or its part from `start` to `end` in characters."""

    document: str
    start: int | None
    end: int | None


class AuditEntry(TypedDict):
    """A line of the audit log."""

    requested: str
    key: str
    name: str
    groups: list[str]
    workspace: str
    route: str
    asked: Json
    status: int
    answers: list[str]
    shown: list[AuditPlace]


class AuditList(TypedDict):
    """Lines of the audit log; `next` is the value of `since` that gets the rest."""

    lines: list[AuditEntry]
    next: str | None
