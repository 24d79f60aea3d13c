import json
from collections import defaultdict
from dataclasses import replace
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from tests.llm.factories import HELLO, Run, make_chat, make_deadline
from tests.scripted_server import ScriptedServer, says, status

from fathom.agents.debate.aggregator import AggregatorReply
from fathom.agents.decomposer import DecomposerReply
from fathom.agents.hyde import HydeReply
from fathom.agents.questioner import QuestionerReply
from fathom.agents.reader.reply_forms import NumberedReply, ReaderReply
from fathom.agents.summarizer import SummarizerReply
from fathom.errors import MalformedReply, ModelUnavailable
from fathom.llm.base import Message
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.llm.prompt import ModelRequest
from fathom.llm.retry import RetryingModel, RetryPolicy
from fathom.llm.schema import AtMost, build_schema, measure_longest_reply, number_items
from fathom.llm.structured_reply import parse_reply, request_object
from fathom.runs.ledger import BudgetRefused
from fathom.testing.doubles import ScriptedChat, completion
from fathom.usage import Usage

REPLIES = (
    AggregatorReply,
    DecomposerReply,
    HydeReply,
    NumberedReply,
    QuestionerReply,
    ReaderReply,
    SummarizerReply,
)
"""The replies of roles that may write much."""


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    answer: str
    support: float
    citations: list[int] = []


GOOD = '{"answer": "Paris", "support": 0.9, "citations": [1]}'
PARIS = Verdict(answer="Paris", support=0.9, citations=[1])


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Sure! Here it is:\n```json\n{GOOD}\n```\nAnything else?",
        f"In set notation {{x}} that is {GOOD}",
        f'{{"other": 1}} and then {GOOD}',
        f"[{GOOD}]",
    ],
)
def test_the_first_object_that_fits_is_the_reply(text: str) -> None:
    assert parse_reply(Verdict, text) == PARIS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no JSON object"),
        ("I do not know.", "no JSON object"),
        ("Je ne sais pas { }", "Field required"),
        ('{"answer": "Paris", "support', "no JSON object"),
        ('{"answer": "Paris", "support": NaN}', "no JSON object"),
        ('{"answer": "Paris", "support": 1e999}', "no JSON object"),
        ('{"answer": "Paris", "support": 1, "support": 0}', "no JSON object"),
        ('{"answer": "Paris", "support": "high"}', "valid number"),
        ('{"answer": "Paris", "support": 1, "tool_calls": []}', "Extra inputs"),
        ('{"answer": "\\ud83d", "support": 1}', "no JSON object"),
        ('{"answer": "x", "support": ' + "9" * 5000 + "}", "no JSON object"),
        ('{"a":' * 100_000, "no JSON object"),
        ("{" * 100_000, "no JSON object"),
    ],
)
def test_objects_that_do_not_fit_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_reply(Verdict, text)


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.text(alphabet='ab {}"\n'))
def test_any_valid_object_is_read_from_its_json(answer: str, support: float, prose: str) -> None:
    prose = prose.replace("{", "(")
    text = f"{prose}{json.dumps({'answer': answer, 'support': support})}{prose}"

    assert parse_reply(Verdict, text) == Verdict(answer=answer, support=support)


@given(st.text(alphabet='{}[]":,1eN\\ua"'))
def test_nonsense_is_a_value_error_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_reply(Verdict, text)


def test_one_repair_states_the_mistake(run: Run) -> None:
    async def go() -> None:
        async with ScriptedServer(says('{"answer": 7}'), says(GOOD)) as server:
            reply = await request_object(
                Verdict,
                make_chat(server.base_url),
                ModelRequest(HELLO),
                max_tokens=50,
                deadline=make_deadline(),
            )
            assert (reply.value, reply.repaired, reply.usage.llm_calls) == (PARIS, True, 2)
            first_prompt, request = server.requests[0].messages
            assert '"support"' in first_prompt["content"]
            assert request["content"] == HELLO[1].text
            first, complaint = server.requests[1].messages[-2:]
            assert first == {"role": "assistant", "content": '{"answer": 7}'}
            assert "support: Field required" in complaint["content"]

    run(go())


@pytest.mark.parametrize("text", ["", "I would rather not.", '{"answer": "Pa'])
def test_there_is_no_second_repair(run: Run, text: str) -> None:
    async def go() -> None:
        async with ScriptedServer(says(text), says(text), says(GOOD)) as server:
            with pytest.raises(MalformedReply, match="no usable Verdict") as caught:
                await request_object(
                    Verdict,
                    make_chat(server.base_url),
                    ModelRequest(HELLO),
                    max_tokens=50,
                    deadline=make_deadline(),
                )
            assert server.calls == 2
            assert caught.value.usage.llm_calls == 2  # type: ignore[attr-defined]

    run(go())


def test_a_server_without_json_mode_still_answers(run: Run) -> None:
    acts = (
        status(400, "json_schema is not supported"),
        status(400, "response_format is unknown"),
        says(f"<think>hm</think>Here: {GOOD}"),
    )

    async def go() -> None:
        async with ScriptedServer(*acts) as server:
            model = RetryingModel(make_chat(server.base_url), policy=RetryPolicy(first_wait_s=30))
            reply = await request_object(
                Verdict, model, ModelRequest(HELLO), max_tokens=50, deadline=make_deadline()
            )
            assert (reply.value, reply.repaired) == (PARIS, False)

    run(go())


def test_without_budget_there_is_no_repair(run: Run) -> None:
    usage = Usage(llm_calls=1)
    model = ScriptedChat(completion("?", usage=usage), BudgetRefused("calls", needed=1, left=0))

    with pytest.raises(MalformedReply) as caught:
        run(
            request_object(
                Verdict, model, ModelRequest(HELLO), max_tokens=50, deadline=make_deadline()
            )
        )
    assert caught.value.usage == usage  # type: ignore[attr-defined]


def test_a_repair_that_fails_carries_the_cost_of_both(run: Run) -> None:
    usage = Usage(llm_calls=1)
    model = ScriptedChat(completion("?", usage=usage), ModelFault("gone", usage))

    with pytest.raises(ModelUnavailable) as caught:
        run(
            request_object(
                Verdict, model, ModelRequest(HELLO), max_tokens=50, deadline=make_deadline()
            )
        )
    assert caught.value.usage.llm_calls == 2  # type: ignore[attr-defined]


def test_the_example_of_the_prompt_is_no_reply_and_is_then_left_out(run: Run) -> None:
    leaked = '{"answer": "on the northern rock of Sandholm", "support": 1}'
    example = f"For example: {leaked}"
    request = ModelRequest([Message("system", f"Be brief. {example}"), HELLO[1]], example=example)
    again = ScriptedChat(leaked, GOOD)
    reply = run(request_object(Verdict, again, request, max_tokens=50, deadline=make_deadline()))
    assert (reply.value, reply.repaired) == (PARIS, True)
    first, second = (call.messages for call in again.calls)
    assert example in first[0].text
    assert "Sandholm" not in "".join(message.text for message in second)
    assert second[1:] == first[1:]


def test_if_all_of_a_prompt_may_be_an_example_nothing_of_it_is_a_reply(run: Run) -> None:
    leaked = '{"answer": "on the northern rock of Sandholm", "support": 1}'
    request = ModelRequest([Message("system", leaked), HELLO[1]], example=leaked)
    chat = ScriptedChat(leaked, leaked)
    with pytest.raises(MalformedReply):
        run(request_object(Verdict, chat, request, max_tokens=50, deadline=make_deadline()))
    assert "copied from the example" in chat.calls[1].messages[-1].text


def test_an_endless_reply_is_not_sent_back_whole(run: Run) -> None:
    chat = ScriptedChat('{"answer": "' + "and so on " * 1_000, GOOD)
    run(request_object(Verdict, chat, ModelRequest(HELLO), max_tokens=50, deadline=make_deadline()))
    assert sum(len(message.text) for message in chat.calls[1].messages) < 3_000


class NamesReply(BaseModel):
    names: Annotated[list[Annotated[str, AtMost(50)]], AtMost(9)]


def test_a_truncated_reply_is_requested_again_in_a_shorter_form(run: Run) -> None:
    cut = replace(completion('{"names": ["a", "b'), finish="length")
    chat = ScriptedChat(cut, '{"names": ["a"]}')
    reply = run(
        request_object(
            NamesReply, chat, ModelRequest(HELLO), max_tokens=120, deadline=make_deadline()
        )
    )
    assert (reply.value.names, reply.repaired) == (["a"], True)
    first, second = chat.calls
    assert first.schema is not None
    assert second.schema is not None
    assert (
        120 < measure_longest_reply(first.schema) <= 360
    )  # prose has some three characters a token
    assert measure_longest_reply(second.schema) <= 120
    assert json.dumps(second.schema, separators=(",", ":")) in second.messages[0].text
    assert "did not come to its end" in second.messages[-1].text


@pytest.mark.parametrize("kind", REPLIES)
def test_the_usual_limit_leaves_every_role_its_room(run: Run, kind: type[BaseModel]) -> None:
    schema = build_schema(kind, defaultdict(lambda: number_items(20)))
    usual = RoleModel(chat=ScriptedChat()).max_tokens
    chat = ScriptedChat("", "")
    request = ModelRequest(HELLO, choices=defaultdict(lambda: number_items(20)))
    with pytest.raises(MalformedReply):
        run(request_object(kind, chat, request, max_tokens=usual, deadline=make_deadline()))
    assert chat.calls[0].schema == schema
