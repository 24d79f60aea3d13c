import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.agents.rewriter import LLMRewriter, LocalRewriter, Rewriter, simplify_question
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.usage import Usage


@pytest.mark.parametrize(
    ("question", "rewritten"),
    [
        ("Hi there! Could you please tell me who wrote Dune? Thanks", "Who wrote Dune?"),
        ("I would like to know when the harbour opens, please.", "When the harbour opens?"),
        ("Do you know how much a mooring permit costs?", "How much a mooring permit costs?"),
        (
            "What is the capital of France? And Norway?",
            "What is the capital of France? What is the capital of Norway?",
        ),
        ("Halo kak, bisakah Anda menjelaskan apa itu NIB ya?", "Apa itu NIB?"),
        ("Tolong jelaskan siapa penulis Laskar Pelangi", "Siapa penulis Laskar Pelangi"),
        ("Saya ingin tahu kapan SIUP berlaku, terima kasih", "Kapan SIUP berlaku?"),
        (
            "Berapa penduduk Jakarta? Dan Bandung?",
            "Berapa penduduk Jakarta? Berapa penduduk Bandung?",
        ),
        ("Please tell me: who wrote Dune?", "Who wrote Dune?"),
        ("I would like to know, who wrote Dune?", "Who wrote Dune?"),
        ("Mohon info, di mana kantor itu?", "Di mana kantor itu?"),
        ("Who wrote Dune?", "Who wrote Dune?"),
        ("Hey - who wrote Dune?", "Who wrote Dune?"),
        # Hyphens of words, options and numbers.
        ("Hi-fi speakers: where are they?", "Hi-fi speakers: where are they?"),
        ("--quiet does what?", "--quiet does what?"),
        ("Hi, please tell me: -v does what?", "-v does what?"),
        ("-30 degrees: does it still work?", "-30 degrees: does it still work?"),
        ("please", "Please"),
        ("🙂", "🙂"),
    ],
)
def test_politeness_is_removed_and_ellipses_are_completed(question: str, rewritten: str) -> None:
    assert simplify_question(question) == rewritten


@given(st.text(min_size=1, max_size=120).filter(str.strip))
def test_no_question_becomes_empty(question: str) -> None:
    assert simplify_question(question)


def rewrite_question(rewriter: Rewriter, question: str) -> str:
    with run_context() as context:
        return asyncio.run(rewriter.rewrite(Question(question), context)).text


QUESTION = "Please tell me who wrote Dune in 1965?"


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ((completion('{"question": "author of Dune 1965"}'),), "author of Dune 1965"),
        ((completion('{"question": "author of the book"}'),), "Who wrote Dune in 1965?"),
        ((completion("no"), completion("no")), "Who wrote Dune in 1965?"),
        ((ModelFault("down", Usage(llm_calls=1), retriable=False),), "Who wrote Dune in 1965?"),
    ],
)
def test_the_model_rewrites_unless_it_loses_a_name_or_fails(
    outcomes: tuple[Completion | Exception, ...], text: str
) -> None:
    model = RoleModel(chat=ScriptedChat(*outcomes))
    assert rewrite_question(LLMRewriter(model=model), QUESTION) == text
    assert rewrite_question(LocalRewriter(), QUESTION) == "Who wrote Dune in 1965?"
