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
    """An error, as RFC 9457 defines it.

    Attributes:
        type: The kind of the error, which does not change between versions.
        status: The HTTP status.
        detail: The cause in one line.
        next: What the caller can do; empty if nothing helps.
        retry_after: The seconds after which the request may be repeated.
    """

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


def describe_file(shape: type, media_type: str) -> Description:
    """Return the OpenAPI description of the further replies of a route that sends a file."""
    error = {"schema": {"$ref": f"#/components/schemas/{shape.__name__}"}}
    refused = {"text/plain": {"schema": {"type": "string"}}}
    return {
        206: {"description": "The ranges of bytes that `Range` names"},
        304: {"description": "`If-None-Match` or `If-Modified-Since` names the present file"},
        400: {
            "description": "An error, or `Range` cannot be read",
            "content": {media_type: error, **refused},
        },
        416: {"description": "The file does not have the range", "content": refused},
    }


def describe_content(media_type: str, description: str) -> Description:
    """Return the OpenAPI description of a reply that can have a media type other than JSON."""
    schema = {"type": "string"}
    return {200: {"description": description, "content": {media_type: {"schema": schema}}}}


class StateReply(TypedDict):
    """The state of the server."""

    status: str


class QuoteReply(TypedDict):
    """A quote that supports an answer.

    Attributes:
        at: The path of the file with the line or the page.
        quote: The text.
        document: The id of the document.
        start: The offset of the quote in the document's text, in characters.
        end: The offset of the end of the quote; the character there does not belong to it.
    """

    at: str
    quote: str
    document: str
    start: int
    end: int


class ExcerptReply(TypedDict):
    """The parts of a chunk that match a query best.

    Attributes:
        at: The path of the file with the line or the page.
        name: The short name of the file.
        document: The id of the document.
        start: The offset of the first part in the document's text, in characters.
        end: The offset of the end of the last part; the character there does not belong to it.
        text: The text of the parts.
    """

    at: str
    name: str
    document: str
    start: int
    end: int
    text: str


class BriefAnswerReply(TypedDict):
    """An answer with the fields that agents need.

    Attributes:
        tentative: Whether the answer is shown although it is not sure.
        p: The probability that the answer is right, in [0, 1]; `None` if it is not known.
        others: Other answers that a part of the evidence gives.
        trace_id: The id of the trace; `None` if no trace was recorded.
        warnings: Remarks on the cited sources, such as that one is out of date.
    """

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
    """A question without an answer, with the excerpts that are nearest to one.

    Attributes:
        reason: The reason why there is no answer.
        nearest: The excerpts, best first.
        trace_id: The id of the trace; `None` if no trace was recorded.
        warnings: Remarks on the cited sources, such as that one is out of date.
    """

    question: str
    status: AnswerStatus
    reason: str
    nearest: list[ExcerptReply]
    trace_id: str | None
    warnings: NotRequired[list[str]]


AskReply = Answer | BriefAnswerReply | BriefRefusalReply


class ExcerptList(TypedDict):
    """The excerpts that match a query best.

    Attributes:
        hits: The excerpts, best first.
        hits_left: The number of further hits, which did not fit.
        chars_left: The number of characters of these hits.
    """

    query: str
    hits: list[ExcerptReply]
    hits_left: int
    chars_left: int


class FoundChunk(TypedDict):
    """A chunk that a search found, with its place.

    Attributes:
        rank: The rank, from 1.
        score: The score, whose scale depends on the retriever.
        document: The id of the document.
        chunk: The id of the chunk.
        path: The path of the file, or `FILE#ID` for a record of a corpus file.
        title: The title of the document, or else the name of its file.
        section: The headings above the chunk, outermost first, joined by ` > `.
        page: The page, slide or sheet, from 1; `None` if the format has none.
        line: The line, from 1; `None` if it is not known.
        recognised: The certainty of text that was recognised in a picture, in [0, 1]; `None` if the
            file itself holds the text.
        start: The offset of the chunk in the document's text, in characters.
        end: The offset of the end of the chunk; the character there does not belong to it.
        text: The text of the chunk.
    """

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
    """The record of a run.

    Attributes:
        lines: The steps of the run, and the replies of models, of the index and of the web.
    """

    id: str
    lines: list[Json]


class ReplayReply(TypedDict):
    """The outcome of a replay.

    Attributes:
        same: Whether the replay gave the recorded answer.
        difference: The first difference; `None` if there is none.
        missing: What the replay needed and the trace does not hold.
        prompts: The prompts that have changed since the run.
        answer: The answer of the replay; `None` if the trace is not complete.
    """

    trace_id: str
    same: bool
    difference: Difference | None
    missing: list[str]
    prompts: list[str]
    answer: Answer | None


class FeedbackReply(TypedDict):
    """Feedback that was stored.

    Attributes:
        said: Whether it called the answer right or wrong, or gave the right answer (`answer`).
        again: Whether the same question now gets the given answer.
    """

    trace_id: str
    said: FeedbackKind
    again: bool


class StrategyReply(TypedDict):
    """A strategy."""

    name: str
    description: str


class StrategyList(TypedDict):
    """The strategies, and the budget of each effort.

    Attributes:
        default: The strategy of a request that names none.
        effort: The effort of a request that names none.
        papers: The papers whose settings a request can use.
        efforts: The budget of each effort.
    """

    default: str
    effort: Effort
    strategies: list[StrategyReply]
    papers: list[str]
    efforts: dict[Effort, Budget]


class CertificateReply(TypedDict):
    """A bound on the share of wrong answers.

    Attributes:
        max_error: The largest share of wrong answers, between 0 and 1.
        threshold: The confidence from which on the bound holds, in [0, 1].
        coverage: The share of questions whose answers reach that confidence.
    """

    max_error: float
    threshold: float
    coverage: float


class CalibrationEntry(TypedDict):
    """The calibration of a strategy.

    Attributes:
        source: The questions that it was learned from.
        made_of: The numbers of these questions.
        certificates: The bounds on the share of wrong answers.
    """

    source: str
    made_of: dict[str, Json]
    certificates: list[CertificateReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatusReply(IndexStatus):
    """The state of an index.

    Attributes:
        calibrations: The calibration of each strategy that has one.
    """

    calibrations: dict[str, CalibrationEntry]


class WorkspaceStatus(TypedDict):
    """The state of a workspace.

    Attributes:
        workspace: The name of the workspace; empty for the default one.
        scopes: The scopes of the caller.
        llm: The language model, as PROVIDER:MODEL; empty if none is configured.
        offline: Whether the server opens no connections.
        writer: The process that is writing to the index; empty if there is none.
        index: The state of the index; `None` while nothing has been ingested.
    """

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
    """A page of conversations, newest first.

    Attributes:
        next: The `cursor` of the next page; `None` on the last one.
    """

    conversations: list[ConversationHead]
    next: str | None


class ConversationCreated(TypedDict):
    """A new conversation."""

    id: str


class TurnReply(TypedDict):
    """A question of a conversation with its answer.

    Attributes:
        trace_id: The id of the trace; `None` if no trace was recorded.
        asked: The time of the question, as ISO 8601 in UTC.
        answer: The answer; `None` if its trace was deleted.
    """

    question: str
    trace_id: str | None
    asked: str
    answer: Answer | None


class ConversationReply(ConversationHead):
    """A conversation with its turns, oldest first."""

    turns: list[TurnReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocumentReply(DocumentSummary):
    """A document in a list.

    Attributes:
        readers: For each list that limits who may read the document, the names in it. Only callers
            who may read all documents get this.
        reader_lists: These lists with their origins.
    """

    readers: list[list[str]] = field(default_factory=list)
    reader_lists: list[ReaderList] = field(default_factory=list)


class DocumentListReply(TypedDict):
    """A page of documents.

    Attributes:
        total: The number of documents on all pages.
        next: The `cursor` of the next page; `None` on the last one.
    """

    documents: list[ListedDocumentReply]
    total: int
    next: str | None


class DocumentHeading(TypedDict):
    """A heading of a document.

    Attributes:
        level: The level, from 1.
        start: The offset of the heading in the document's text, in characters.
        page: The page, from 1; `None` if the format has none.
    """

    title: str
    level: int
    start: int
    page: int | None


class DocumentReply(TypedDict):
    """A document without its text.

    Attributes:
        path: The path of its file, `FILE#ID` for a record of a corpus file, or its address.
        language: The code of its language, such as `en`.
        length: The number of characters of its text.
        pages: The number of its pages; 0 if the format has none.
        file: Whether its file can be fetched.
        format: The ending of the name of its file, without the dot.
        outline: Its headings, in order.
        readers: For each list that limits who may read the document, the names in it. Only callers
            who may read all documents get this.
        reader_lists: These lists with their origins.
    """

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
    """A chunk of a document.

    Attributes:
        start: The offset of the chunk in the document's text, in characters.
        end: The offset of the end of the chunk; the character there does not belong to it.
        section: The headings above the chunk, outermost first, joined by ` > `.
        page: The page, from 1; `None` if the format has none.
    """

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
    """The outcome of an uploaded file.

    Attributes:
        path: The name that the client gave the file; for a record also `#` and its id.
        outcome: `ok`, or why there is no document, such as `empty`, `encrypted` or `refused`.
        reason: The reason in one line; empty if there is nothing to say.
    """

    path: str
    outcome: str
    reason: str


class JobReply(TypedDict):
    """The job that ingests the files of an upload.

    Attributes:
        stage: The present work; empty before it begins.
        files_done: The number of files that are done.
        bytes_total: The size of all files in bytes.
        bytes_done: The size of the files that are done.
        rate: The bytes per second.
        seconds: The time of work so far.
        seconds_left: The estimated time until the end; `None` if it is not known.
        reason: The error of a failed job; else empty.
        files: The outcome of each file that is done.
    """

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
    """The job that ingests the files of an upload.

    Attributes:
        job: The id of the job, as `id`.
    """

    job: str


class JobList(TypedDict):
    """The latest jobs, newest first."""

    jobs: list[JobReply]


class SourceReply(TypedDict):
    """A source that the index follows.

    Attributes:
        include: The patterns of the objects to read; empty for all.
        exclude: The patterns of the objects to leave out.
        every: The interval of its synchronization, such as `1h`; empty if there is none.
        state: `running`, `waiting` or `idle`.
        paused: Whether it is synchronized on request only.
        documents: The number of its documents.
        synced: The time of the last complete synchronization, as ISO 8601 in UTC; `None` if there
            was none.
        fault: The error of the last synchronization; empty if there was none.
    """

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
    """A section of a report.

    Attributes:
        blocks: The tables, sentences and plots.
    """

    title: str
    blocks: list[dict[str, Json]]


class ReportReply(TypedDict):
    """An evaluation report.

    Attributes:
        created: The time at which it was made, as ISO 8601 in UTC.
        foot: The version and the settings of the runs.
    """

    created: str
    title: str
    sections: list[ReportSectionReply]
    foot: str


class AuditPlace(TypedDict):
    """A document, or a part of it, that a reply showed.

    Attributes:
        document: The id of the document.
        start: The offset of the part in the document's text, in characters; `None` for the whole.
        end: The offset of the end of the part; `None` for the whole.
    """

    document: str
    start: int | None
    end: int | None


class AuditEntry(TypedDict):
    """A request with its outcome, as the audit log has it.

    Attributes:
        requested: The time of the request, as ISO 8601 in UTC.
        key: The id of the caller's key; empty for the user of this machine.
        name: The name of the key's holder; empty for the user of this machine.
        groups: The groups of the key.
        workspace: The workspace of the key; empty for the default one.
        route: The method and the pattern of the path.
        asked: The question, the query, or the ids in the request.
        status: The status of the reply.
        answers: The ids of the traces of the answers in the reply.
        shown: The documents, or parts of them, in the reply.
    """

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
    """Lines of the audit log, oldest first.

    Attributes:
        next: The value of `since` that gets the rest; `None` if there is no more.
    """

    lines: list[AuditEntry]
    next: str | None
