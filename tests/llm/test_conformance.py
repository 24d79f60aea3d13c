"""Properties of every `ChatModel`, whatever it wraps."""

from collections.abc import Callable

import pytest
from tests.llm.factories import HELLO, Run, make_chat, make_deadline
from tests.scripted_server import Extractive, ScriptedServer, never_ends, says, status

from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.call import AbsentModel, RoleModel
from fathom.llm.metered_model import MeteredModel
from fathom.llm.recorded_model import RecordedModel
from fathom.llm.retry import RetryingModel, RetryPolicy
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.replay import RecordedEvents
from fathom.testing.doubles import run_context
from fathom.usage import FREE, Budget

ModelFactory = Callable[[str], ChatModel]


def make_metered(base_url: str) -> ChatModel:
    return MeteredModel(make_chat(base_url), Ledger(Budget()), FREE)


def make_patient(base_url: str) -> ChatModel:
    return RetryingModel(make_metered(base_url), policy=RetryPolicy(first_wait_s=0.001))


class RoleChat:
    """A model as a step of a run has it: reserved, retried and recorded."""

    def __init__(self, base_url: str) -> None:
        self._model = RoleModel(
            chat=make_chat(base_url), price=FREE, retry=RetryPolicy(first_wait_s=0.001)
        )
        self.name = self._model.chat.name

    async def complete(self, call: Call) -> Completion:
        with run_context() as context:
            return await self._model.bind_to_run(context).complete(call)


BUILDS: list[ModelFactory] = [make_chat, make_metered, make_patient, RoleChat]


@pytest.mark.parametrize("build", BUILDS)
def test_it_answers_under_its_name_and_streams_the_words(run: Run, build: ModelFactory) -> None:
    async def go() -> None:
        async with ScriptedServer(says("Par", "is")) as server:
            model, streamed = build(server.base_url), list[str]()
            done = await model.complete(
                Call(HELLO, max_tokens=9, deadline=make_deadline(), on_text=streamed.append)
            )
            assert (done.model, done.text, "".join(streamed)) == (model.name, "Paris", "Paris")
            assert done.usage.llm_calls == server.calls == 1

    run(go())


@pytest.mark.parametrize("build", BUILDS)
def test_it_keeps_within_its_tokens(run: Run, build: ModelFactory) -> None:
    async def go() -> None:
        async with ScriptedServer(never_ends()) as server:
            done = await build(server.base_url).complete(
                Call(HELLO, max_tokens=9, deadline=make_deadline())
            )
            assert (done.finish, done.usage.completion_tokens) == ("length", 9)

    run(go())


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("code", [401, 500])
def test_it_fails_with_a_typed_error_of_one_line(run: Run, build: ModelFactory, code: int) -> None:
    async def go() -> None:
        async with ScriptedServer(*[status(code, "no\nway")] * 4) as server:
            kind = "ModelRefused" if code == 401 else "ModelUnavailable"
            with pytest.raises(Exception) as caught:
                await build(server.base_url).complete(
                    Call(HELLO, max_tokens=9, deadline=make_deadline())
                )
            assert kind in {base.__name__ for base in type(caught.value).__mro__}
            assert "\n" not in str(caught.value)
            assert caught.value.exit_code == 5  # type: ignore[attr-defined]

    run(go())


def test_an_extractive_server_stands_in_for_a_language_model(run: Run) -> None:
    """The second mode of the scripted server, and a replay of it without a socket."""

    def get_last_word(messages: list[dict[str, str]]) -> str:
        return messages[-1]["content"].rstrip("?").split()[-1]

    async def call_three_times(model: ChatModel, context: RunContext) -> list[Completion]:
        recorded = RecordedModel(model, context)
        call = Call(HELLO, max_tokens=9, deadline=make_deadline())
        return [await recorded.complete(call) for _ in range(3)]

    async def run_recorded(context: RunContext) -> list[Completion]:
        async with ScriptedServer(Extractive(get_last_word)) as server:
            live = await call_three_times(make_patient(server.base_url), context)
            assert server.calls == 3
        return live

    with run_context() as context:
        live = run(run_recorded(context))
        assert isinstance(context.scope, Recorder)
        trace = context.scope.seal(None)
    with run_context(events=RecordedEvents(trace)) as again:
        assert run(call_three_times(AbsentModel("openai:m"), again)) == live
    assert [done.text for done in live] == ["France"] * 3
