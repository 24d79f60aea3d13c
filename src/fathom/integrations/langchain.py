"""The integration with LangChain and LangGraph: a retriever, and a node that answers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    convert_to_messages,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import ConfigDict, Field

from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.types import Answer, Filter
from fathom.usage import Budget


class FathomRetriever(BaseRetriever):
    """A LangChain retriever of the best chunks of an index for a query.

    Each document has the text of a chunk, the chunk's id, and as metadata `document`, `path`,
    `title`, `section`, `page`, `line`, `start`, `end` (offsets in the document's text), `rank`
    (from 1) and `score` (comparable within one search only).

    Attributes:
        engine: The engine to search, which the caller closes.
        k: The number of documents; by default `retrieval.k` of the engine's settings.
        retriever: The name of the retriever, such as `hybrid`, `keyword` or `vector`; by default
            `retrieval.retriever`.
        filters: The conditions that each document must meet, such as `year>=2020`.
    """

    # Otherwise a misspelt field, such as `filter`, would be ignored silently.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    # LangChain must not serialize or log an engine, which holds open files and models.
    engine: Engine = Field(exclude=True, repr=False)
    k: int | None = None
    retriever: str | None = None
    filters: Sequence[str | Filter] = ()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun | None = None,  # noqa: ARG002 - LangChain's
        k: int | None = None,
        filters: Sequence[str | Filter] | None = None,
    ) -> list[Document]:
        hits = self.engine.search(
            query,
            k=self.k if k is None else k,
            retriever=self.retriever,
            filters=self.filters if filters is None else filters,
        )
        places = self.engine.documents.locate(hits)
        return [
            Document(
                id=hit.chunk.id,
                page_content=hit.chunk.text,
                metadata={
                    "document": hit.chunk.document_id,
                    **asdict(place),
                    "start": hit.chunk.span.start,
                    "end": hit.chunk.span.end,
                    "rank": hit.rank,
                    "score": hit.score,
                },
            )
            for hit, place in zip(hits, places, strict=True)
        ]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun | None = None,  # noqa: ARG002
        k: int | None = None,
        filters: Sequence[str | Filter] | None = None,
    ) -> list[Document]:
        # A search is synchronous work, which must not block the event loop.
        return await asyncio.to_thread(self._get_relevant_documents, query, k=k, filters=filters)


class FathomUpdate(TypedDict, total=False):
    """The update of a graph's state by `fathom_node`; LangGraph drops keys that the state lacks.

    Attributes:
        answer: With the markers of its citations, `[1]`; empty where there is none.
        citations: Each with `document`, `path`, `start`, `end`, `quote` and the other fields of
            `Citation`.
        abstained: Whether there is no answer, because the documents hold none that is sure enough
            or because the run failed; `stop_reason` names the reason.
        tentative: Whether the answer is only shown as not sure.
        stop_reason: The reason for an abstention or a failure, as in `Answer`.
        confidence: Probability of being right, in [0, 1]; `None` where it is unknown.
        trace_id: The id under which the run can be replayed.
        messages: The answer, or that there is none, as a message; only where messages were given.
    """

    answer: str
    citations: list[dict[str, Any]]
    abstained: bool
    tentative: bool
    stop_reason: str
    confidence: float | None
    trace_id: str | None
    messages: list[AnyMessage]


def fathom_node(
    engine: Engine,
    *,
    strategy: str | None = None,
    paper: str | None = None,
    filters: Sequence[str | Filter] = (),
    budget: Budget | None = None,
) -> Runnable[Any, FathomUpdate]:
    """Create a node of a LangGraph graph that answers from the documents.

    The state, a mapping or an object, has a `question`, or `messages` whose last is a question of
    the user. The messages before it are the conversation that a follow-up question belongs to.

    Args:
        engine: The engine that answers, which the caller closes.
        strategy: The name of the strategy; by default `ask.strategy` of the settings.
        paper: The paper whose system answers instead of a strategy; by default `ask.paper`.
        filters: The conditions that each document must meet, such as `year>=2020`.
        budget: The budget of one question; by default `budget` of the settings.

    Returns:
        A node whose update is a `FathomUpdate`. It raises `UsageError` if the state has no
        question, and the errors of `Engine.ask`.
    """

    def read_state(state: object) -> tuple[str, dict[str, Any]]:
        question, history = _read_question(state)
        arguments = {
            "strategy": strategy,
            "paper": paper,
            "filters": filters,
            "budget": budget,
            "history": history,
        }
        return question, arguments

    def answer(state: object) -> FathomUpdate:
        question, arguments = read_state(state)
        return _build_update(state, engine.ask(question, **arguments))

    async def aanswer(state: object) -> FathomUpdate:
        question, arguments = read_state(state)
        return _build_update(state, await engine.aask(question, **arguments))

    # With both functions, `invoke` starts no event loop and `ainvoke` blocks none.
    return RunnableLambda(answer, afunc=aanswer, name="fathom")


def _read_question(state: object) -> tuple[str, list[dict[str, str]]]:
    """Return the question of a state and the turns before it.

    Raises:
        UsageError: If the state has no question.
    """
    if question := _get_field(state, "question"):
        return str(question), []
    messages = [
        message for message in convert_to_messages(_list_messages(state)) if _to_turn(message)
    ]
    if not messages or not isinstance(messages[-1], HumanMessage):
        raise UsageError(
            "the state has no `question`, and its last message is not a user's; give one of them"
        )
    *before, last = messages
    return last.text, [_to_turn(message) for message in before]


def _list_messages(state: object) -> Any:  # noqa: ANN401 - as LangGraph takes them
    """Return the messages of a state as a list; LangGraph also accepts a single message."""
    messages = _get_field(state, "messages") or []
    return [messages] if isinstance(messages, str | BaseMessage | Mapping) else messages


def _to_turn(message: BaseMessage) -> dict[str, str]:
    """Convert a message to a turn of a conversation; empty for a message of a system or a tool."""
    # By class, because the parts of a streamed message have other values of `type`.
    if not isinstance(message, HumanMessage | AIMessage) or not message.text.strip():
        return {}
    role = "user" if isinstance(message, HumanMessage) else "assistant"
    return {"role": role, "content": message.text}


def _build_update(state: object, answer: Answer) -> FathomUpdate:
    citations = [asdict(citation) for citation in answer.citations]
    update = FathomUpdate(
        answer=answer.answer,
        citations=citations,
        abstained=answer.status != "answered",
        tentative=answer.tentative,
        stop_reason=answer.stop_reason,
        confidence=answer.confidence,
        trace_id=answer.trace_id,
    )
    if _get_field(state, "messages"):
        missing = "The question failed" if answer.status == "failed" else "I don't know"
        text = answer.answer or f"{missing} ({answer.stop_reason})."
        text = f"Not sure: {text}" if answer.tentative else text
        update["messages"] = [AIMessage(text, response_metadata={"citations": citations})]
    return update


def _get_field(state: object, name: str) -> Any:  # noqa: ANN401 - whatever the graph's state holds
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)
