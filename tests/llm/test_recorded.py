import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.llm.making import HELLO, Run, Scripted, said, soon

from fathom.errors import ModelUnavailable
from fathom.ledger import BudgetRefused
from fathom.llm.base import Call, ChatModel, Completion, Message
from fathom.llm.faults import CallFailed, ModelDeclined, ModelFault, ReplyGarbled
from fathom.llm.recorded import Recorded, Replayed
from fathom.reservation import Reported
from fathom.usage import Usage

ONE = Usage(llm_calls=1, prompt_tokens=10, completion_tokens=2, seconds=0.25, cost_usd=None)
WHOLE = said(
    "Paris", finish="length", usage=ONE, reported=Reported(prompt=10**12), reasoning_tokens=1
)


class Events:
    """A trace in JSON, as it would be stored."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}

    def record(self, key: str, event: Mapping[str, Any]) -> None:
        assert key not in self.lines
        self.lines[key] = json.dumps(event)

    def lookup(self, key: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = json.loads(self.lines.get(key, "null"))
        return found


def outcome(run: Run, model: ChatModel, *messages: Message) -> object:
    async def go() -> object:
        try:
            return await model.complete(Call(messages or HELLO, max_tokens=5, deadline=soon()))
        except (CallFailed, BudgetRefused, ModelUnavailable) as failed:
            return type(failed), str(failed), getattr(failed, "usage", None)

    return run(go())


@pytest.mark.parametrize(
    "live",
    [
        WHOLE,
        ModelFault("openai:m answered 503: scripted", ONE, retriable=False),
        ModelDeclined("openai:m declined with 400: no", ONE),
        ReplyGarbled("openai:m sent what is not a chat reply", ONE),
        BudgetRefused("tokens", needed=100, left=3),
    ],
)
def test_a_replay_gives_what_was_recorded(run: Run, live: Completion | Exception) -> None:
    events, booked = Events(), list[Usage]()
    then = outcome(run, Recorded(Scripted(live), events.record))
    again = outcome(run, Replayed("openai:m", events.lookup, booked.append))

    assert again == then
    assert booked == ([] if isinstance(live, BudgetRefused) else [ONE])


def test_the_same_request_again_is_another_event(run: Run) -> None:
    events = Events()
    recorded = Recorded(Scripted(said("one"), said("two"), said("three")), events.record)
    other = Message("user", "Something else?")
    live = [outcome(run, recorded), outcome(run, recorded), outcome(run, recorded, other)]

    replayed = Replayed("openai:m", events.lookup, lambda _: None)
    assert outcome(run, replayed, other) == live[2]
    assert [outcome(run, replayed), outcome(run, replayed)] == live[:2]


@pytest.mark.parametrize("changed", ["name", "messages", "schema", "max_tokens"])
def test_another_request_finds_nothing(run: Run, changed: str) -> None:
    events = Events()
    outcome(run, Recorded(Scripted(said("Paris")), events.record))
    replayed = Replayed("groq:m" if changed == "name" else "openai:m", events.lookup, print)

    with pytest.raises(ModelUnavailable, match="the trace holds no reply"):
        run(
            replayed.complete(
                Call(
                    HELLO[:1] if changed == "messages" else HELLO,
                    schema={} if changed == "schema" else None,
                    max_tokens=6 if changed == "max_tokens" else 5,
                    deadline=soon(),
                )
            )
        )


def test_a_replay_shows_the_words(run: Run) -> None:
    events, shown = Events(), list[str]()
    outcome(run, Recorded(Scripted(said("Paris")), events.record))
    replayed = Replayed("openai:m", events.lookup, lambda _: None)
    run(replayed.complete(Call(HELLO, max_tokens=5, deadline=soon(), on_text=shown.append)))

    assert shown == ["Paris"]
