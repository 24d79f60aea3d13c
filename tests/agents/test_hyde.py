import asyncio
import json
from typing import Any

from tests.making import QUESTION, hit_of

from fathom.agents.hyde import PROMPT, Hypothesis, LLMHypothesis, LocalHypothesis
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.llm.retry import RetryPolicy
from fathom.retrieval.expansion import RelevanceFeedback
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.text.content_words import ContentTerms
from fathom.usage import Budget, Usage

LOCAL = LocalHypothesis(feedback=RelevanceFeedback(extract_words=ContentTerms().words, count=2))
DOWN = ModelFault("openai:m is down", Usage(llm_calls=1), retriable=False)


def text_of(agent: Hypothesis, budget: Budget | None = None) -> str:
    with run_context(budget) as context:
        return asyncio.run(agent.write_search_text(QUESTION, [hit_of()], context))


def asking(*outcomes: Any) -> tuple[LLMHypothesis, ScriptedChat]:
    scripted = ScriptedChat(*outcomes)
    model = RoleModel(chat=scripted, retry=RetryPolicy(tries=1))
    return LLMHypothesis(model=model, local=LOCAL), scripted


def paragraph(text: str) -> Any:
    return completion(json.dumps({"paragraph": text}), usage=Usage(llm_calls=1))


def test_the_stand_in_adds_words_of_the_hits() -> None:
    text = text_of(LOCAL)
    assert text.startswith(QUESTION)
    assert len(text.split()) == len(QUESTION.split()) + 2


def test_a_model_writes_what_might_be_the_answer() -> None:
    agent, scripted = asking(paragraph("A mooring permit\ncosts 40 crowns."))
    assert text_of(agent) == f"{QUESTION} A mooring permit costs 40 crowns."
    messages = scripted.calls[0].messages
    assert messages[0].text.startswith(PROMPT.text)
    assert messages[1].text == f"Question: {QUESTION}"


def test_where_it_says_nothing_the_stand_in_serves() -> None:
    for outcome in (DOWN, paragraph(" "), completion("no JSON", usage=Usage(llm_calls=1))):
        assert text_of(asking(outcome, outcome)[0]) == text_of(LOCAL)
    assert text_of(asking(paragraph("text"))[0], Budget(calls=0)) == text_of(LOCAL)
