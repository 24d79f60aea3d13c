"""Real clients get answers, sources and errors from the real application."""

import base64
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai import OpenAI
from pydantic import SecretStr
from tests.serving.http.openai.conftest import ANSWER, QUESTION
from tests.test_docs import read_examples

MODEL = "fathom-naive"
PAGE = Path(__file__).parents[4] / "docs" / "clients.md"
TURNS = [
    ("user", "What is the monthly pay of an apprentice in the first year?"),
    ("assistant", "940. [1]"),
    ("user", "And in the third year?"),
]


@pytest.fixture
def client(address: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{address}v1", api_key="none") as client:
        yield client


def make_langchain(address: str, *, responses: bool = False) -> ChatOpenAI:
    return ChatOpenAI(
        model=MODEL,
        base_url=f"{address}v1",
        api_key=SecretStr("none"),
        use_responses_api=responses,
        stream_usage=True,
    )


def test_openai_gets_an_answer_with_sources(client: OpenAI, address: str) -> None:
    done = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": QUESTION}]
    )
    (choice,) = done.choices
    text = choice.message.content or ""
    assert ANSWER in text
    assert choice.finish_reason == "stop"
    assert choice.message.annotations
    cited = choice.message.annotations[0].url_citation
    assert cited.url.startswith(f"{address}#/documents/")
    assert text[cited.start_index : cited.end_index] == "[1]"
    extension = done.model_extra or {}
    assert extension["fathom"]["status"] == "answered"
    assert done.usage
    assert done.usage.total_tokens == 0


def test_openai_streams_the_same_answer(client: OpenAI) -> None:
    whole = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": QUESTION}]
    )
    chunks = list(
        client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens == 0
    events = [(chunk.model_extra or {}).get("event", {}).get("type") for chunk in chunks]
    assert "status" in events
    assert events.count("source") == len(whole.choices[0].message.annotations or [])


def test_chunks_without_a_choice_are_sent_on_request_only(client: OpenAI) -> None:
    chunks = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": QUESTION}], stream=True
    )
    assert all(chunk.choices for chunk in chunks)


def test_openai_asks_a_follow_up(client: OpenAI) -> None:
    done = client.chat.completions.create(
        model=MODEL,
        messages=[{"role": role, "content": content} for role, content in TURNS],  # type: ignore[misc]
    )
    text = done.choices[0].message.content or ""
    assert "1,130" in text
    extension = (done.model_extra or {})["fathom"]
    assert extension["standalone_question"] == (
        "What is the monthly pay of an apprentice in the third year?"
    )


def test_openai_gets_a_response_and_retrieves_it_again(client: OpenAI, address: str) -> None:
    done = client.responses.create(model=MODEL, input=QUESTION)
    assert ANSWER in done.output_text
    assert done.status == "completed"
    part = done.output[0].content[0]  # type: ignore[union-attr, index]
    assert part.annotations[0].url.startswith(f"{address}#/documents/")  # type: ignore[union-attr]
    again = client.responses.retrieve(done.id)
    assert again.to_dict() == done.to_dict()


def test_openai_retrieves_a_response_as_a_stream(client: OpenAI) -> None:
    done = client.responses.create(model=MODEL, input=QUESTION)
    events = list(client.responses.retrieve(done.id, stream=True))
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    assert events[-1].response.to_dict() == done.to_dict()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    for number in (0, 3, len(events) - 1):
        rest = client.responses.retrieve(done.id, stream=True, starting_after=number)
        assert [event.to_dict() for event in rest] == [
            event.to_dict() for event in events[number + 1 :]
        ]


def test_openai_continues_a_response_by_its_id(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=TURNS[0][1])
    second = client.responses.create(model=MODEL, input=TURNS[2][1], previous_response_id=first.id)
    assert "1,130" in second.output_text
    third = client.responses.create(
        model=MODEL, input="And in the second year?", previous_response_id=second.id
    )
    assert "1,020" in third.output_text


def test_openai_streams_a_response(client: OpenAI) -> None:
    whole = client.responses.create(model=MODEL, input=QUESTION)
    with client.responses.stream(model=MODEL, input=QUESTION) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert "response.output_text.annotation.added" in kinds
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == whole.output_text == final.output_text


def test_openai_gets_embeddings_packed_and_plain(client: OpenAI) -> None:
    packed = client.embeddings.create(model="fathom-embedding", input=["cold asphalt", "a book"])
    plain = client.embeddings.create(
        model="fathom-embedding", input=["cold asphalt", "a book"], encoding_format="float"
    )
    raw = client.embeddings.with_raw_response.create(
        model="fathom-embedding", input="cold asphalt", encoding_format="base64"
    )
    assert packed.data[0].embedding == pytest.approx(plain.data[0].embedding)
    assert np.linalg.norm(plain.data[1].embedding) == pytest.approx(1.0, abs=1e-5)
    text = raw.http_response.json()["data"][0]["embedding"]
    assert np.frombuffer(base64.b64decode(text), "<f4").tolist() == packed.data[0].embedding
    assert packed.usage.prompt_tokens > 0


def test_openai_lists_the_models(client: OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert {"fathom", "fathom-anchor", "fathom-anchor-high", "fathom-embedding"} <= set(names)
    assert client.models.retrieve("fathom-anchor-high").id == "fathom-anchor-high"


def test_openai_raises_its_own_errors(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt-4'") as missing:
        client.chat.completions.create(
            model="gpt-4", messages=[{"role": "user", "content": QUESTION}], stream=True
        )
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as invalid:
        client.chat.completions.create(model=MODEL, messages=[])
    assert invalid.value.param == "messages"
    with pytest.raises(openai.BadRequestError, match="nonsense"):
        client.responses.create(
            model=MODEL, input=QUESTION, stream=True, extra_body={"filters": ["nonsense"]}
        )


def test_langchain_asks_chat_completions(address: str) -> None:
    reply = make_langchain(address).invoke(QUESTION)
    assert ANSWER in str(reply.content)
    assert "[1] [" in str(reply.content)
    assert isinstance(reply, AIMessage)
    assert reply.usage_metadata
    assert reply.usage_metadata["total_tokens"] == 0


def test_langchain_streams_chat_completions(address: str) -> None:
    chunks = list(make_langchain(address).stream(QUESTION))
    assert "".join(str(chunk.content) for chunk in chunks) == str(
        make_langchain(address).invoke(QUESTION).content
    )


def test_langchain_asks_a_follow_up(address: str) -> None:
    history = [
        HumanMessage(content) if role == "user" else AIMessage(content) for role, content in TURNS
    ]
    assert "1,130" in str(make_langchain(address).invoke(history).content)


def test_langchain_keeps_the_sources_of_responses(address: str) -> None:
    reply = make_langchain(address, responses=True).invoke(QUESTION)
    (block,) = reply.content_blocks
    assert block["type"] == "text"
    assert ANSWER in block["text"]
    cited = block["annotations"][0]
    assert cited["type"] == "citation"
    assert cited["url"].startswith(f"{address}#/documents/")


def test_langchain_streams_responses_with_their_sources(address: str) -> None:
    model = make_langchain(address, responses=True)
    chunks = list(model.stream(QUESTION))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.text == model.invoke(QUESTION).text
    (block,) = [content for content in whole.content_blocks if content["type"] == "text"]
    assert block["annotations"]


def test_langchain_embeds_texts(address: str) -> None:
    embeddings = OpenAIEmbeddings(
        model="fathom-embedding",
        base_url=f"{address}v1",
        api_key=SecretStr("none"),
        check_embedding_ctx_length=False,
    )
    vectors = embeddings.embed_documents(["cold asphalt", "a book"])
    assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-5)
    assert embeddings.embed_query("cold asphalt") == pytest.approx(vectors[0])


def test_the_examples_of_the_page_run(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {"__name__": "example"}
    for line, code in read_examples(PAGE):
        code_here = code.replace("http://127.0.0.1:8000/", address)
        exec(compile("\n" * (line - 1) + code_here, PAGE.name, "exec"), namespace)
    output = capsys.readouterr().out
    assert f"{address}#/documents/" in output
    assert "Depot North, bay 3" in output
    assert "I don't know" not in output
