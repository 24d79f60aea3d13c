import asyncio
import json
from typing import Any

import pytest
from tests.factories import QUESTION, hit_of

from fathom.agents.debate.debater import LLMDebater, LocalDebater, Position
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.llm.retry import RetryPolicy
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import (
    OVERLAP,
    ScriptedChat,
    ScriptedCrossReader,
    completion,
    reading,
    run_context,
)
from fathom.types import Evidence, Span
from fathom.usage import Budget, Usage

HIT = hit_of()
PLACE = 2
QUOTE = "A mooring permit costs 40 crowns a year."
PAIRS = ScriptedCrossReader(lambda _, chunk: reading(chunk, "40 crowns"))
LOCAL = LocalDebater(pairs=PAIRS)


def make_peer(answer: str) -> Position:
    evidence = Evidence(hit=HIT, span=Span(0, len(QUOTE)), support=0.5)
    return Position(hit=HIT, answer=answer, evidence=evidence, score=0.5)


def speak(
    outcome: dict[str, Any] | Exception,
    previous: Position | None = None,
    heard: tuple[Position, ...] = (),
    budget: Budget | None = None,
) -> tuple[Position, str, ScriptedChat]:
    """Return the position, its debater, and the prompt."""
    usage = Usage(llm_calls=1)
    reply = (
        outcome if isinstance(outcome, Exception) else completion(json.dumps(outcome), usage=usage)
    )
    chat = ScriptedChat(reply)
    model = RoleModel(chat=chat, retry=RetryPolicy(tries=1))
    pruner = EvidencePruner(pairs=OVERLAP, limit=120)
    agent = LLMDebater(model=model, local=LOCAL, pairs=PAIRS, pruner=pruner)
    with run_context(budget) as context:
        position = asyncio.run(agent.speak(Question(QUESTION), HIT, previous, heard, context))
        assert isinstance(context.scope, Recorder)
        step = next(s for s in context.scope.seal(None).steps if s.id == "speak")
    return position, step.verdict, chat


def test_an_answer_counts_with_the_sentence_of_its_number() -> None:
    position, verdict, chat = speak({"answer": {"sentence": PLACE, "text": "40 crowns"}})
    # As sure as the pair reader is that the chunk answers: any true quote would be verbatim.
    assert (position.answer, position.quote, position.score) == ("40 crowns", QUOTE, 0.9)
    assert verdict == "opens"
    system, user, *_ = (message.text for message in chat.calls[0].messages)
    fence = user.split("\n")[1].removesuffix(" chunk 1")
    assert fence in system
    assert f"[{PLACE}] {QUOTE}" in user
    schema = chat.calls[0].schema
    assert schema is not None
    answer, _ = schema["properties"]["answer"]["anyOf"]
    assert answer["properties"]["sentence"] == {"enum": [1, 2, 3]}


def test_an_answer_in_other_words_than_its_sentence_counts_half() -> None:
    position, _, _ = speak({"answer": {"sentence": PLACE, "text": "forty crowns"}})
    assert (position.answer, position.score) == ("forty crowns", 0.45)


@pytest.mark.parametrize("number", [-1, 0, 4])
def test_without_a_sentence_of_its_chunk_the_local_debater_speaks(number: int) -> None:
    position, verdict, _ = speak({"answer": {"sentence": number, "text": "50 crowns"}})
    assert verdict == "local"
    assert position.answer == "40"
    down = ModelFault("openai:m is down", Usage(llm_calls=1), retriable=False)
    assert speak(down)[1] == "local"


def test_it_hears_the_others_and_names_whom_it_supports_and_contradicts() -> None:
    answer = {"sentence": PLACE, "text": "40 crowns"}
    reply = {"answer": answer, "supports": [2, 9], "contradicts": [1, 3]}
    heard = (make_peer("50 crowns"), make_peer("forty"), make_peer(""))
    position, verdict, chat = speak(reply, make_peer("50 crowns"), heard)
    assert (position.supports, position.contradicts) == (("forty",), ("50 crowns",))
    assert verdict == "adopts"
    user = chat.calls[0].messages[1].text
    assert "answer: forty" in user
    assert "answer 1\n50 crowns\n===" in user


def test_it_may_drop_its_answer() -> None:
    position, verdict, _ = speak({"answer": None}, make_peer("50 crowns"))
    assert (position.answer, position.evidence, verdict) == ("", None, "drops")
