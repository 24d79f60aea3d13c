"""Questions that a model asks about a chunk count where their answers occur word for word."""

import asyncio
import json

from fathom.agents.questioner import GroundedQuestion, LLMQuestioner
from fathom.llm.call import RoleModel
from fathom.testing.doubles import ScriptedChat, run_context
from fathom.types import Chunk, Span

TEXT = "The ferry to Orrin leaves at 9:15. A ticket costs 12 crowns."
CHUNK = Chunk(id="d#0", document_id="d", text=TEXT, span=Span(0, len(TEXT)), ordinal=0)


def ask_model(*pairs: tuple[str, str]) -> tuple[GroundedQuestion, ...]:
    reply = {"questions": [{"question": question, "answer": other} for question, other in pairs]}
    model = RoleModel(chat=ScriptedChat(json.dumps(reply)))
    with run_context() as context:
        return asyncio.run(LLMQuestioner(model=model).write_questions(CHUNK, context))


def test_an_answer_is_located_in_the_chunk() -> None:
    (grounded,) = ask_model(("When does the Orrin ferry depart", "9:15"))
    assert grounded.question == "When does the Orrin ferry depart?"
    assert grounded.answer.cut(TEXT) == "9:15"


def test_an_answer_missing_from_the_chunk_or_told_by_the_question_is_dropped() -> None:
    assert not ask_model(("When does the Orrin ferry depart?", "10:45"))
    assert not ask_model(("Does the Orrin ferry leave at 9:15 or later?", "9:15"))
    assert not ask_model(("When?", "9:15"))
    assert not ask_model(("When does the Orrin ferry depart?", " "))


def test_surplus_questions_are_dropped() -> None:
    grounded = ask_model(
        *((f"When does the Orrin ferry leave on day {at}?", "9:15") for at in range(3))
    )
    assert len(grounded) == 3


def test_an_unreadable_reply_gives_no_questions() -> None:
    model = RoleModel(chat=ScriptedChat("no", "no", "no"))
    with run_context() as context:
        assert asyncio.run(LLMQuestioner(model=model).write_questions(CHUNK, context)) == ()
