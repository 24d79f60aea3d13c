"""The fixed beginning of prompts: a reply is the same to the last bit, whatever came before."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from httpx2 import AsyncClient
from tests.llm.factories import Run, make_deadline
from tests.real_model import RealModel, find_test_weights

from fathom.llm.base import Message
from fathom.llm.local_child import BATCH_TOKENS
from fathom.llm.local_server import LocalOptions, LocalServer
from fathom.llm.prompt_cache import PromptCache

PATIENT = 600.0
INSTRUCTIONS = (
    "You answer a question from numbered sentences and from nothing else. Name the sentences on "
    "which the answer rests. If they do not say it, the answer is null. " * 3
)
OTHERS = "You judge whether a sentence follows from its quotes. Say yes or no. " * 6
FACTS = ("A mooring permit costs 40 crowns.", "The ferry leaves at 9:15.", "Dogs stay at home.")


def make_messages(number: int, instructions: str = INSTRUCTIONS) -> Sequence[Message]:
    text = " ".join(FACTS[number % 3 :] + FACTS[: number % 3])
    return Message("system", instructions), Message("user", f"{text} When does ferry {number} go?")


@pytest.fixture(params=["the smallest", "FATHOM_TEST_GGUF"])
def file(request: pytest.FixtureRequest, real_model: RealModel) -> Path:
    """The file of a real model."""
    return real_model.file if request.param == "the smallest" else find_test_weights()


@pytest.fixture
def server() -> Iterator[LocalServer]:
    server = LocalServer(LocalOptions(context_tokens=1024))
    yield server
    server.stop()


Use = Callable[[AsyncClient, PromptCache], Any]


def use_server(run: Run, server: LocalServer, file: Path, use: Use) -> Any:
    """Return what `use` makes of the child process."""

    async def act() -> Any:
        async with server.serve(file, make_deadline(PATIENT)) as address:
            headers = {"Authorization": f"Bearer {address.key.get_secret_value()}"}
            url = address.base_url.removesuffix("/v1")
            async with AsyncClient(
                base_url=url, headers=headers, timeout=PATIENT, trust_env=False
            ) as client:
                return await use(client, address.cache)

    return run(act())


async def ask(
    client: AsyncClient, messages: Sequence[Message], *, cached: bool
) -> tuple[str, int, int]:
    """Return the probabilities of a reply, the tokens that were read, and those of the prompt."""
    body = {
        "messages": [{"role": message.role, "content": message.text} for message in messages],
        "temperature": 0,
        "max_tokens": 4,
        "logprobs": True,
        "top_logprobs": 3,
        "cache_prompt": cached,
    }
    reply = (await client.post("/v1/chat/completions", json=body)).json()
    read, prompt = reply["timings"]["prompt_n"], reply["usage"]["prompt_tokens"]
    return json.dumps(reply["choices"][0]["logprobs"]), read, prompt


def test_a_reply_is_the_same_to_the_last_bit(run: Run, server: LocalServer, file: Path) -> None:
    async def compare(client: AsyncClient, cache: PromptCache) -> list[tuple[int, int]]:
        plan = [make_messages(0), make_messages(1), make_messages(0, OTHERS)]
        alone = [await ask(client, messages, cached=False) for messages in plan]
        counts = []
        for messages, (expected, _, prompt) in zip(plan, alone, strict=True):
            await cache.prepare(client, messages)
            probabilities, read, _ = await ask(client, messages, cached=True)
            assert probabilities == expected
            counts.append((read, prompt))
        return counts

    for read, prompt in use_server(run, server, file, compare):
        assert (prompt - read) % BATCH_TOKENS == 0
        assert prompt - read >= BATCH_TOKENS


def test_a_beginning_is_read_once(run: Run, server: LocalServer, real_model: RealModel) -> None:
    async def measure(client: AsyncClient, cache: PromptCache) -> tuple[float, float]:
        seconds = []
        for number in (0, 1, 2):
            begin = time.monotonic()
            await cache.prepare(client, make_messages(number))
            seconds.append(time.monotonic() - begin)
            await ask(client, make_messages(number), cached=True)
        return seconds[0], min(seconds[1:])

    first, again = use_server(run, server, real_model.file, measure)
    assert again < first / 2


def test_a_short_beginning_shares_nothing(
    run: Run, server: LocalServer, real_model: RealModel
) -> None:
    async def count(client: AsyncClient, cache: PromptCache) -> list[int]:
        shared = []
        for number in (0, 1):
            messages = make_messages(number, "Be brief.")
            await cache.prepare(client, messages)
            _, read, prompt = await ask(client, messages, cached=True)
            shared.append(prompt - read)
        return shared

    assert use_server(run, server, real_model.file, count) == [0, 0]


def test_one_call_at_a_time_has_the_cache(run: Run) -> None:
    cache = PromptCache(is_exact=True)

    async def wait() -> None:
        async with cache.take_turn(make_deadline(5)):
            with pytest.raises(TimeoutError):
                async with cache.take_turn(make_deadline(0.05)):
                    raise AssertionError
        async with cache.take_turn(make_deadline(5)):
            pass

    run(wait())
