"""What every `ChatModel` does, whatever it wraps."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.llm.making import HELLO, Run, chat_at, soon
from tests.scripted_server import Extractive, ScriptedServer, never_ends, says, status

from fathom.ledger import Ledger
from fathom.llm.base import Call, ChatModel
from fathom.llm.metered import Metered
from fathom.llm.recorded import Recorded, Replayed
from fathom.llm.retry import Retrying, RetryPolicy
from fathom.usage import FREE, Budget

Build = Callable[[str], ChatModel]


def metered(base_url: str) -> ChatModel:
    return Metered(chat_at(base_url), Ledger(Budget()), FREE)


def patient(base_url: str) -> ChatModel:
    return Retrying(metered(base_url), policy=RetryPolicy(first_wait_s=0.001))


def recorded(base_url: str) -> ChatModel:
    return Recorded(patient(base_url), lambda _, event: json.loads(json.dumps(event)))


BUILDS: list[Build] = [chat_at, metered, patient, recorded]


@pytest.mark.parametrize("build", BUILDS)
def test_answers_under_its_name_and_shows_the_words(run: Run, build: Build) -> None:
    async def go() -> None:
        async with ScriptedServer(says("Par", "is")) as server:
            model, shown = build(server.base_url), list[str]()
            done = await model.complete(
                Call(HELLO, max_tokens=9, deadline=soon(), on_text=shown.append)
            )
            assert (done.model, done.text, "".join(shown)) == (model.name, "Paris", "Paris")
            assert done.usage.llm_calls == server.calls == 1

    run(go())


@pytest.mark.parametrize("build", BUILDS)
def test_holds_its_tokens(run: Run, build: Build) -> None:
    async def go() -> None:
        async with ScriptedServer(never_ends()) as server:
            done = await build(server.base_url).complete(Call(HELLO, max_tokens=9, deadline=soon()))
            assert (done.finish, done.usage.completion_tokens) == ("length", 9)

    run(go())


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("code", [401, 500])
def test_fails_by_a_typed_error_of_one_line(run: Run, build: Build, code: int) -> None:
    async def go() -> None:
        async with ScriptedServer(*[status(code, "no\nway")] * 4) as server:
            kind = "ModelRefused" if code == 401 else "ModelUnavailable"
            with pytest.raises(Exception) as caught:
                await build(server.base_url).complete(Call(HELLO, max_tokens=9, deadline=soon()))
            assert kind in {base.__name__ for base in type(caught.value).__mro__}
            assert "\n" not in str(caught.value)
            assert caught.value.exit_code == 5  # type: ignore[attr-defined]

    run(go())


def test_an_extractive_server_plays_a_language_model_all_the_way(run: Run) -> None:
    """The second mode of the scripted server, and a replay of it without a socket."""

    def last_word(messages: list[dict[str, str]]) -> str:
        return messages[-1]["content"].rstrip("?").split()[-1]

    async def go() -> None:
        events: dict[str, Any] = {}
        async with ScriptedServer(Extractive(last_word)) as server:
            model = Recorded(patient(server.base_url), events.__setitem__)
            live = [
                await model.complete(Call(HELLO, max_tokens=9, deadline=soon())) for _ in range(3)
            ]
            assert server.calls == 3
        replayed = Replayed(model.name, events.get, lambda _: None)
        again = [await replayed.complete(Call(HELLO, max_tokens=9, deadline=0.0)) for _ in range(3)]
        assert [done.text for done in live] == ["France"] * 3
        # As plain data, since `asdict` is what is stored.
        assert again == live

    run(go())
