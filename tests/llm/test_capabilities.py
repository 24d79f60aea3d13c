"""Refusals of unknown options, in the words of real servers.

Covers fathom.llm.providers.capabilities.
"""

import json
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.llm.factories import HELLO, Run, make_chat, make_deadline
from tests.llm.wire_formats import DIALECTS
from tests.scripted_acts import Act, ReceivedRequest, Wire
from tests.scripted_server import ScriptedServer, raw, says

from fathom.llm.call import RoleModel, ask_model
from fathom.llm.chat import LangChainChat
from fathom.llm.endpoint import resolve_endpoint
from fathom.llm.prompt import ModelRequest as Asking
from fathom.llm.providers.capabilities import Capabilities, drop_refused_option
from fathom.llm.structured_reply import request_object
from fathom.testing.doubles import run_context


class RefusalError(Exception):
    """An error as SDKs raise it."""

    def __init__(self, status_code: int | None, body: Any) -> None:
        self.status_code = status_code
        self.body = {"error": {"message": body}} if isinstance(body, str) else body


class City(BaseModel):
    name: str = Field(min_length=1, max_length=40)


PARIS = '{"name": "Paris"}'
OBJECT = Capabilities(schema="json_object")
PLAIN = Capabilities(schema="plain_schema")


@pytest.mark.parametrize(
    ("status", "message", "after"),
    [
        (400, "response_format.type must be text", OBJECT),
        # OpenAI, of an older model; DeepSeek; Groq; OpenRouter
        (
            400,
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
            OBJECT,
        ),
        (400, "This response_format type is unavailable now", OBJECT),
        (400, "This model does not support response format `json_schema`.", OBJECT),
        (404, "No endpoints found that support the requested structured outputs", OBJECT),
        # vLLM; llama.cpp; OpenAI with a strict schema
        (400, "The provided JSON schema contains features not supported by xgrammar.", PLAIN),
        (500, "Failed to parse grammar: number of repetitions exceeds sane defaults", PLAIN),
        (400, "Invalid schema for response_format 'reply': 'maxLength' is not permitted.", PLAIN),
        # FastAPI, as in llama-cpp-python and vLLM; Mistral; text-generation-inference
        (
            422,
            {
                "detail": [
                    {
                        "loc": ["body", "response_format", "type"],
                        "msg": "Input should be 'text' or 'json_object'",
                        "input": "json_schema",
                    }
                ]
            },
            OBJECT,
        ),
        (
            422,
            {"message": {"detail": [{"loc": ["body", "seed"], "type": "extra_forbidden"}]}},
            Capabilities(seed=False),
        ),
        (422, {"error": "Grammar error: invalid schema", "error_type": "validation"}, PLAIN),
        (400, "unknown field response_format", OBJECT),
        # an error that comes inside the stream, without a status
        (None, {"code": 400, "message": "response_format is not supported"}, OBJECT),
        (422, "Invalid stream_options", Capabilities(usage=False)),
        (400, "'Temperature' does not support 0", Capabilities(temperature=False)),
        (400, "seed: extra fields not permitted", Capabilities(seed=False)),
        (400, "System role not supported", Capabilities(system=False)),
        (
            400,
            "Conversation roles must alternate user/assistant/user/assistant/...",
            Capabilities(system=False),
        ),
        (400, "context length exceeded", Capabilities()),
        (401, "response_format", Capabilities()),
        (429, "response_format", Capabilities()),
        (500, "out of memory", Capabilities()),
        (None, "", Capabilities()),
        # what was asked is quoted in what is wrong with it
        (
            422,
            {"detail": [{"loc": ["body", "model"], "input": {"response_format": 1}}]},
            Capabilities(),
        ),
    ],
)
def test_only_the_refused_option_is_dropped(
    status: int | None, message: Any, after: Capabilities
) -> None:
    assert drop_refused_option(Capabilities(), RefusalError(status, message)) == after


def test_schemas_are_replaced_step_by_step() -> None:
    refusal = RefusalError(400, "json_object is not supported")
    plain = drop_refused_option(OBJECT, refusal)

    assert plain == Capabilities(schema="prompt")
    assert drop_refused_option(plain, refusal) == plain
    assert drop_refused_option(PLAIN, refusal) == OBJECT
    bounds = RefusalError(400, "maxLength is not supported")
    assert drop_refused_option(PLAIN, bounds).schema == "plain_schema"
    assert (
        drop_refused_option(PLAIN, RefusalError(400, "schema: maxLength")).schema == "json_object"
    )


def test_findings_of_concurrent_requests_are_combined() -> None:
    late = Capabilities(schema="json_object", seed=False)
    capabilities = Capabilities(schema="prompt", usage=False)
    both = Capabilities(schema="prompt", seed=False, usage=False)
    assert late.intersect(capabilities) == capabilities.intersect(late) == both


def make_picky_server(*accepted: str, says_no: str, text: str = PARIS) -> Act:
    """Return a server that accepts only these types of response_format; `none` means to have
    none.
    """

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        form = request.body.get("response_format", {}).get("type", "none")
        act = says(text) if form in accepted else raw(says_no, code=400)
        await act(request, wire)

    return act


@pytest.mark.parametrize(
    ("takes", "refusals"), [("json_schema", 0), ("json_object", 1), ("none", 2)]
)
def test_the_options_of_an_endpoint_are_probed_once_and_remembered(
    run: Run, takes: str, refusals: int
) -> None:
    no = json.dumps({"error": {"message": "This response_format type is unavailable now"}})
    text = f"Sure: {PARIS}" if takes == "none" else PARIS

    async def go() -> None:
        acts = [make_picky_server(takes, says_no=no, text=text)] * 9
        async with ScriptedServer(*acts) as server:
            model = RoleModel(chat=make_chat(server.base_url))
            for more in (refusals + 1, 1, 1):
                before = server.calls
                with run_context(seconds=20) as context:
                    reply = await ask_model(model, City, Asking(HELLO), context)
                assert reply.require_value() == City(name="Paris")
                assert not reply.repaired
                assert server.calls - before == more
            assert (
                "JSON" in server.requests[-1].messages[0]["content"]
            )  # which json_object requires

    run(go())


def test_one_try_is_enough_to_probe(run: Run) -> None:
    from fathom.llm.retry import RetryingModel, RetryPolicy

    no = json.dumps({"error": {"message": "response_format is not known"}})

    async def go() -> None:
        async with ScriptedServer(*[make_picky_server("none", says_no=no)] * 4) as server:
            model = RetryingModel(make_chat(server.base_url), policy=RetryPolicy(tries=1))
            reply = await request_object(
                City, model, Asking(HELLO), max_tokens=50, deadline=make_deadline()
            )
            assert reply.value == City(name="Paris")

    run(go())


def test_bounds_are_left_out_where_they_are_unknown(run: Run) -> None:
    async def act(request: ReceivedRequest, wire: Wire) -> None:
        schema = request.body["response_format"]["json_schema"]["schema"]
        no = {"error": {"message": "The provided JSON schema contains features not supported"}}
        bounded = "maxLength" in json.dumps(schema)
        await (raw(json.dumps(no), code=400) if bounded else says(PARIS))(request, wire)

    async def go() -> None:
        async with ScriptedServer(act, act) as server:
            model = RoleModel(chat=make_chat(server.base_url))
            with run_context(seconds=20) as context:
                reply = await ask_model(model, City, Asking(HELLO), context)
            assert reply.require_value() == City(name="Paris")

    run(go())


def test_without_a_system_role_the_user_message_carries_the_instructions(run: Run) -> None:
    async def act(request: ReceivedRequest, wire: Wire) -> None:
        no = {"error": {"message": "System role not supported"}}
        system = request.messages[0]["role"] == "system"
        await (raw(json.dumps(no), code=400) if system else says(PARIS))(request, wire)

    async def go() -> None:
        async with ScriptedServer(act, act) as server:
            model = RoleModel(chat=make_chat(server.base_url))
            with run_context(seconds=20) as context:
                reply = await ask_model(model, City, Asking(HELLO), context)
            assert reply.require_value() == City(name="Paris")
            (turn,) = server.requests[1].messages
            assert turn["role"] == "user"
            assert turn["content"].startswith(HELLO[0].text)
            assert turn["content"].endswith(HELLO[1].text)

    run(go())


def test_ollama_is_asked_for_any_json_if_it_knows_no_schema(run: Run) -> None:
    (ollama,) = (dialect for dialect in DIALECTS if dialect.provider == "ollama")
    old = "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"
    acts = (ollama.decline(400, old), ollama.stream_reply(PARIS))

    async def go() -> None:
        async with ScriptedServer(*acts) as server:
            url = server.base_url.removesuffix("/v1")
            chat = LangChainChat(resolve_endpoint("ollama:m", base_url=url))
            with run_context(seconds=20) as context:
                reply = await ask_model(RoleModel(chat=chat), City, Asking(HELLO), context)
            assert reply.require_value() == City(name="Paris")
            assert server.requests[0].body["format"]["type"] == "object"
            assert server.requests[1].body["format"] == "json"

    run(go())
