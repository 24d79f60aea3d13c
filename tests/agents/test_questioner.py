"""What a model asks about a chunk counts where its answer stands there word for word."""

import asyncio
import json

from fathom.agents.questioner import GroundedQuestion, LLMQuestioner
from fathom.llm.call import RoleModel
from fathom.testing.doubles import ScriptedChat, run_context
from fathom.types import Chunk, Span

TEXT = "The ferry to Orrin leaves at 9:15. A ticket costs 12 crowns."
CHUNK = Chunk(id="d#0", document_id="d", text=TEXT, span=Span(0, len(TEXT)), ordinal=0)


def asked(*pairs: tuple[str, str]) -> tuple[GroundedQuestion, ...]:
    reply = {"questions": [{"question": one, "answer": other} for one, other in pairs]}
    model = RoleModel(chat=ScriptedChat(json.dumps(reply)))
    with run_context() as context:
        return asyncio.run(LLMQuestioner(model=model).write_questions(CHUNK, context))


def test_an_answer_is_found_where_it_stands() -> None:
    (found,) = asked(("When does the Orrin ferry depart", "9:15"))
    assert found.question == "When does the Orrin ferry depart?"
    assert found.answer.cut(TEXT) == "9:15"


def test_an_answer_that_the_chunk_lacks_or_the_question_tells_does_not_count() -> None:
    assert not asked(("When does the Orrin ferry depart?", "10:45"))
    assert not asked(("Does the Orrin ferry leave at 9:15 or later?", "9:15"))
    assert not asked(("When?", "9:15"))
    assert not asked(("When does the Orrin ferry depart?", " "))


def test_more_than_was_asked_for_is_left_out() -> None:
    found = asked(*((f"When does the Orrin ferry leave on day {at}?", "9:15") for at in range(3)))
    assert len(found) == 3


def test_a_reply_that_cannot_be_read_gives_none() -> None:
    model = RoleModel(chat=ScriptedChat("no", "no", "no"))
    with run_context() as context:
        assert asyncio.run(LLMQuestioner(model=model).write_questions(CHUNK, context)) == ()
