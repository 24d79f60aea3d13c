import asyncio

import pytest
from tests.factories import hit_of

from fathom.agents.decomposer import (
    Decomposer,
    LLMDecomposer,
    LocalDecomposer,
    Manner,
    fill_slots,
    find_bridge,
)
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.types import Draft
from fathom.usage import Budget, Usage

NESTED = "Who founded the company that distributed the film Harbour Lights?"
CHAIN = ("What is the company that distributed the film Harbour Lights?", "Who founded #1?")


def split_question(
    decomposer: Decomposer, question: str, manner: Manner, budget: Budget | None = None
) -> tuple[str, ...]:
    with run_context(budget) as context:
        questions = asyncio.run(decomposer.split(Question(question), manner, context))
    return tuple(question.text for question in questions)


def test_rules_split_in_both_manners_or_report_nothing_to_split() -> None:
    local = LocalDecomposer()
    assert split_question(local, NESTED, "serial") == CHAIN
    assert split_question(local, "Who was born first, Ana Silva or Nora Berg?", "parallel") == (
        "When was Ana Silva born?",
        "When was Nora Berg born?",
    )
    assert split_question(
        local, "Siapa lebih tua, Chairil Anwar atau Amir Hamzah?", "parallel"
    ) == (
        "Kapan Chairil Anwar lahir?",
        "Kapan Amir Hamzah lahir?",
    )
    assert split_question(local, NESTED, "parallel") == (NESTED,)
    assert split_question(local, "Who wrote Dune?", "serial") == ("Who wrote Dune?",)


def test_the_number_of_questions_is_bounded() -> None:
    question = "Who was born first, Ana Silva, Nora Berg, or Bo Holm?"
    assert len(split_question(LocalDecomposer(most=2), question, "parallel")) == 2


def ask_model(*outcomes: Completion | Exception, manner: Manner = "serial") -> tuple[str, ...]:
    model = RoleModel(chat=ScriptedChat(*outcomes))
    return split_question(LLMDecomposer(model=model, local=LocalDecomposer()), NESTED, manner)


def test_the_model_splits() -> None:
    reply = '{"questions": ["Who made Harbour Lights?", "Who founded #1?"]}'
    assert ask_model(completion(reply)) == ("Who made Harbour Lights?", "Who founded #1?")
    many = ", ".join(f'"Question {number}?"' for number in range(9))
    assert len(ask_model(completion(f'{{"questions": [{many}]}}'), manner="parallel")) == 4


@pytest.mark.parametrize(
    "outcomes",
    [
        (completion('{"questions": ["Who made #1?", "Who founded #2?"]}'),),
        (completion('{"questions": [" "]}'),),
        (completion("no"), completion("no")),
        (ModelFault("down", Usage(llm_calls=1), retriable=False),),
    ],
)
def test_without_a_usable_split_the_rules_decide(
    outcomes: tuple[Completion | Exception, ...],
) -> None:
    assert ask_model(*outcomes) == CHAIN


def test_slots_have_no_place_in_a_parallel_split() -> None:
    reply = completion('{"questions": ["Who made it?", "Who founded #1?"]}')
    assert ask_model(reply, manner="parallel") == (NESTED,)


def test_without_budget_no_model_is_asked() -> None:
    model = RoleModel(chat=ScriptedChat())
    decomposer = LLMDecomposer(model=model, local=LocalDecomposer())
    assert split_question(decomposer, NESTED, "serial", Budget(calls=0)) == CHAIN


def test_slots_are_filled_with_answers_or_with_the_question() -> None:
    earlier = [
        (Question("What is the company that made it?"), "Acme\n Corp"),
        (Question("Who is its founder?"), ""),
    ]
    both = fill_slots(Question("Who founded #1 and met #2?"), earlier)
    assert both == Question("Who founded Acme Corp and met its founder?")
    assert fill_slots(Question("Who founded #3?"), earlier) == Question("Who founded ?")
    assert fill_slots(Question("Who?"), []) == Question("Who?")


def test_the_bridge_is_the_answer_or_a_new_title() -> None:
    hits = [hit_of()]
    assert find_bridge(Question("Who made it?"), Draft(short_answer="Acme"), hits) == "Acme"
    assert find_bridge(Question("Who made it?"), Draft(), hits) == "Fees"
    assert find_bridge(Question("What are the fees?"), Draft(), hits) == ""
    assert find_bridge(Question("Who is Acme?"), Draft(short_answer="ACME"), []) == ""
    assert find_bridge(Question("Who is Acme's boss?"), Draft(short_answer="Acme"), []) == ""
    chronicle = Question("Who wrote the chronicle?")
    assert find_bridge(chronicle, Draft(short_answer="Ron"), hits) == "Ron"
