"""LangChain's own tests of retrievers, and a node in a LangGraph graph."""

import asyncio
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
)
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import ValidationError
from tests.factories import engine_at

from fathom import Budget, Engine
from fathom.errors import UsageError
from fathom.integrations.langchain import FathomRetriever, fathom_node

QUESTION = "How much does a mooring permit cost?"
FEES = "# Fees\n\nA mooring permit costs 40 crowns a year. It is paid at the harbour office.\n"


@pytest.fixture(scope="class")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Yield an engine over four documents, with models that load nothing."""
    folder = tmp_path_factory.mktemp("langchain")
    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "fees.md").write_text(FEES)
    for number in range(3):
        (corpus / f"berth{number}.txt").write_text(f"Berth {number}\n\nBerth {number} is dry.\n")
    with engine_at(folder) as engine:
        engine.ingest([corpus])
        yield engine


class TestStandard(RetrieversIntegrationTests):
    """The standard tests of LangChain."""

    engine: Engine

    @pytest.fixture(autouse=True)
    def _set_engine(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return FathomRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self.engine}

    @property
    def retriever_query_example(self) -> str:
        return "What does a mooring permit cost?"


class TestRetriever:
    """Properties that LangChain does not test."""

    def test_metadata_names_the_place_of_the_text(self, engine: Engine) -> None:
        (first,) = FathomRetriever(engine=engine, k=1).invoke("mooring permit")
        metadata = first.metadata
        whole = engine.documents.get(metadata["document"])
        assert whole.text[metadata["start"] : metadata["end"]] == first.page_content
        assert Path(metadata["path"]).name == "fees.md"
        assert (metadata["title"], metadata["page"], metadata["rank"]) == ("Fees", None, 1)
        assert metadata["score"] > 0
        assert first.id == f"{metadata['document']}#0"

    def test_filters_and_retriever_are_those_of_the_engine(self, engine: Engine) -> None:
        dry = FathomRetriever(engine=engine, filters=["file=berth1.txt"])
        assert [Path(document.metadata["path"]).name for document in dry.invoke("permit")] == [
            "berth1.txt"
        ]
        none = dry.invoke("permit", filters=["file=none.txt"])
        assert none == []
        words = FathomRetriever(engine=engine, retriever="keyword").invoke("permit")
        assert [Path(word.metadata["path"]).name for word in words] == ["fees.md"]

    def test_an_asynchronous_call_finds_the_same(self, engine: Engine) -> None:
        retriever = FathomRetriever(engine=engine)
        documents = asyncio.run(retriever.ainvoke("permit", k=2))
        assert documents == retriever.invoke("permit", k=2)
        assert len(documents) == 2

    def test_mistakes_are_reported_like_those_of_the_engine(self, engine: Engine) -> None:
        with pytest.raises(UsageError, match="k = 0"):
            FathomRetriever(engine=engine).invoke("permit", k=0)
        with pytest.raises(ValidationError, match="filter"):
            FathomRetriever.model_validate({"engine": engine, "filter": ["file=fees.md"]})


class QuestionState(TypedDict, total=False):
    question: str
    answer: str
    citations: list[dict[str, Any]]
    abstained: bool
    stop_reason: str


@dataclass(frozen=True)
class ConversationState:
    messages: Annotated[list[AnyMessage], operator.add] = field(default_factory=list)
    abstained: bool | None = None


def build_graph(state: Any, node: Any) -> Any:
    figure = StateGraph(state)
    figure.add_node("fathom", node)
    figure.add_edge(START, "fathom")
    figure.add_edge("fathom", END)
    return figure.compile()


class TestNode:
    """The node in a graph."""

    def test_a_question_gets_an_answer_with_quotes(self, engine: Engine) -> None:
        graph = build_graph(QuestionState, fathom_node(engine))
        state = {"question": "How much does a mooring permit cost?"}
        end = graph.invoke(state)
        assert "40 crowns" in end["answer"]
        assert end["abstained"] is False
        (cited, *_) = end["citations"]
        assert (
            engine.documents.get(cited["document"]).text[cited["start"] : cited["end"]]
            == (cited["quote"])
        )
        assert asyncio.run(graph.ainvoke(state)) == end

    def test_a_question_that_the_documents_do_not_answer_is_an_abstention(
        self, engine: Engine
    ) -> None:
        end = build_graph(QuestionState, fathom_node(engine)).invoke(
            {"question": "Who won in 1789?"}
        )
        assert (end["abstained"], end["answer"]) == (True, "")
        assert end["stop_reason"] in {"no_evidence", "low_confidence", "missing_anchor"}

    def test_a_question_whose_run_failed_has_no_answer_either(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failed = replace(
            engine.ask("Who won in 1789?"), status="failed", stop_reason="KeyError at graph.py:3"
        )
        monkeypatch.setattr(engine, "ask", lambda *_, **__: failed)
        end = build_graph(QuestionState, fathom_node(engine)).invoke({"question": "Who won?"})
        assert (end["abstained"], end["answer"]) == (True, "")
        talk = build_graph(MessagesState, fathom_node(engine)).invoke({"messages": "Who won?"})
        assert talk["messages"][-1].text == "The question failed (KeyError at graph.py:3)."

    def test_budget_filters_and_strategy_are_those_of_the_node(self, engine: Engine) -> None:
        state = {"question": "How much does a mooring permit cost?"}
        broke = build_graph(QuestionState, fathom_node(engine, budget=Budget(seconds=0))).invoke(
            state
        )
        assert (broke["abstained"], broke["stop_reason"]) == (True, "budget")
        dry = build_graph(QuestionState, fathom_node(engine, filters=["file=berth1.txt"])).invoke(
            state
        )
        assert dry["abstained"]
        with pytest.raises(UsageError, match="naive"):
            build_graph(QuestionState, fathom_node(engine, strategy="wild")).invoke(state)

    def test_the_last_message_is_asked_within_its_conversation(self, engine: Engine) -> None:
        graph = build_graph(MessagesState, fathom_node(engine))
        end = graph.invoke(
            {
                "messages": [
                    SystemMessage("Be kind."),
                    HumanMessage("What is a mooring permit?"),
                    AIMessage("A permit to moor."),
                    HumanMessage([{"type": "text", "text": "How much does it cost?"}]),
                ]
            }
        )
        last = end["messages"][-1]
        assert isinstance(last, AIMessage)
        assert "40 crowns" in last.text
        assert last.response_metadata["citations"][0]["verified"]
        trace = engine.traces.list(1)[0]
        assert trace.question == "How much does it cost?"

    def test_streamed_messages_belong_to_the_conversation(self, engine: Engine) -> None:
        messages = [
            HumanMessageChunk(content="What is a mooring permit?"),
            AIMessageChunk(content="To moor."),
            HumanMessageChunk(content="How much does it cost?"),
        ]
        update = fathom_node(engine).invoke({"messages": messages})
        trace = engine.trace(str(update["trace_id"]))
        assert trace.origin.arguments["history"] == [
            {"role": "user", "content": "What is a mooring permit?"},
            {"role": "assistant", "content": "To moor."},
        ]

    @pytest.mark.parametrize(
        "message", [QUESTION, HumanMessage(QUESTION), {"role": "user", "content": QUESTION}]
    )
    def test_a_single_message_is_a_conversation_of_one(
        self, engine: Engine, message: object
    ) -> None:
        update = fathom_node(engine).invoke({"messages": message})
        assert "40 crowns" in update["messages"][0].text

    def test_without_an_answer_the_message_says_so(self, engine: Engine) -> None:
        graph = build_graph(ConversationState, fathom_node(engine))
        end = graph.invoke({"messages": [HumanMessage("Who won in 1789?")]})
        assert end["messages"][-1].text.startswith("I don't know")
        assert end["abstained"] is True

    def test_a_state_without_a_question_is_refused(self, engine: Engine) -> None:
        node = fathom_node(engine)
        for state in ({}, {"messages": []}, {"messages": [AIMessage("Ask me.")]}, object()):
            with pytest.raises(UsageError, match="no `question`"):
                node.invoke(state)
