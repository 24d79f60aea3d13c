"""A framework's default question answering: python -m benchmarks.plain_rag.worker SYSTEM ADDRESS.

Reads an object with `documents` (their texts), `questions`, `model` and `k` from standard input,
indexes the documents in memory, and writes one JSON object a line for each question: the
answer, the texts that it was made of, and the seconds. It runs in the framework's own environment.

Everything is the framework's default, except for the number of texts, which is the same for all:
its splitter, its vector store, its prompt. The embedder is Fathom's, so that all search equally.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.rivals.adapters import make_langchain_embeddings, make_llamaindex_embedding
from benchmarks.rivals.embedder import TimedEmbedder

MAX_TOKENS = 200


class PlainAnswer(NamedTuple):
    """An answer and the texts that it was made of."""

    text: str
    sources: list[str]


Ask = Callable[[str], PlainAnswer]


def build_langchain(job: Mapping[str, Any], address: str) -> Ask:
    """Build LangChain's `RetrievalQA` over recursive chunks in FAISS."""
    from langchain_classic.chains import RetrievalQA
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document
    from langchain_openai import ChatOpenAI
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    documents = [Document(page_content=text) for text in job["documents"]]
    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    store = FAISS.from_documents(
        splitter.split_documents(documents), make_langchain_embeddings(TimedEmbedder())
    )
    model = ChatOpenAI(
        model=job["model"], base_url=address, api_key="none", temperature=0, max_tokens=MAX_TOKENS
    )
    chain = RetrievalQA.from_chain_type(
        model,
        retriever=store.as_retriever(search_kwargs={"k": job["k"]}),
        return_source_documents=True,
    )

    def ask(question: str) -> PlainAnswer:
        reply = chain.invoke({"query": question})
        return PlainAnswer(
            reply["result"], [source.page_content for source in reply["source_documents"]]
        )

    return ask


def build_llamaindex(job: Mapping[str, Any], address: str) -> Ask:
    """Build LlamaIndex's query engine over its own nodes in its vector store."""
    from llama_index.core import Document, Settings, VectorStoreIndex
    from llama_index.llms.openai_like import OpenAILike

    Settings.embed_model = make_llamaindex_embedding(TimedEmbedder())
    Settings.llm = OpenAILike(
        model=job["model"],
        api_base=address,
        api_key="none",
        is_chat_model=True,
        temperature=0,
        max_tokens=MAX_TOKENS,
        context_window=8192,
        timeout=600,
    )
    documents = [Document(text=text) for text in job["documents"]]
    engine = VectorStoreIndex.from_documents(documents).as_query_engine(similarity_top_k=job["k"])

    def ask(question: str) -> PlainAnswer:
        reply = engine.query(question)
        return PlainAnswer(str(reply), [source.node.get_content() for source in reply.source_nodes])

    return ask


BUILDERS = {"langchain": build_langchain, "llamaindex": build_llamaindex}


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print is none of our lines
    system, address = sys.argv[1:]
    job = json.load(sys.stdin)
    ask = BUILDERS[system](job, address)
    for question in job["questions"]:
        start = time.monotonic()
        answer = ask(question)
        seconds = round(time.monotonic() - start, 2)
        line = {"answer": answer.text, "sources": answer.sources, "seconds": seconds}
        print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    main()
