import asyncio
import json
from typing import Any

from tests.factories import QUESTION, hit_of

from fathom.agents.hyde import PROMPT, Hypothesis, LLMHypothesis, LocalHypothesis
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.llm.retry import RetryPolicy
from fathom.question.question import Question
from fathom.retrieval.expansion import RelevanceFeedback
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.text.content_words import ContentTerms
from fathom.usage import Budget, Usage

LOCAL = LocalHypothesis(feedback=RelevanceFeedback(extract_words=ContentTerms().words, count=2))
DOWN = ModelFault("openai:m is down", Usage(llm_calls=1), retriable=False)


def write_text(agent: Hypothesis, budget: Budget | None = None) -> str:
    with run_context(budget) as context:
        return asyncio.run(agent.write_search_text(Question(QUESTION), [hit_of()], context))


def make_agent(*outcomes: Any) -> tuple[LLMHypothesis, ScriptedChat]:
    scripted = ScriptedChat(*outcomes)
    model = RoleModel(chat=scripted, retry=RetryPolicy(tries=1))
    return LLMHypothesis(model=model, local=LOCAL), scripted


def make_paragraph(text: str) -> Any:
    return completion(json.dumps({"paragraph": text}), usage=Usage(llm_calls=1))


def test_the_local_agent_adds_words_of_the_hits() -> None:
    text = write_text(LOCAL)
    assert text.startswith(QUESTION)
    assert len(text.split()) == len(QUESTION.split()) + 2


def test_a_model_writes_a_possible_answer() -> None:
    agent, scripted = make_agent(make_paragraph("A mooring permit\ncosts 40 crowns."))
    assert write_text(agent) == f"{QUESTION} A mooring permit costs 40 crowns."
    messages = scripted.calls[0].messages
    assert messages[0].text.startswith(PROMPT.text)
    assert messages[1].text == f"Question: {QUESTION}"


def test_without_a_reply_the_local_agent_serves() -> None:
    for outcome in (DOWN, make_paragraph(" "), completion("no JSON", usage=Usage(llm_calls=1))):
        assert write_text(make_agent(outcome, outcome)[0]) == write_text(LOCAL)
    assert write_text(make_agent(make_paragraph("text"))[0], Budget(calls=0)) == write_text(LOCAL)
