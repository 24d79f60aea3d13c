import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.factories import hit_of

from fathom.agents.decomposer import LocalDecomposer
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.planner.question_features import QuestionObserver
from fathom.planner.workflows import (
    FIRST_TURN,
    SUB_TURN,
    LLMPlanner,
    LocalPlanner,
    Planner,
    TriedWorkflow,
    WorkflowPrices,
    WorkflowRules,
    estimate_tokens,
    is_legal_workflow,
    list_legal_workflows,
    make_workflow_policy,
)
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.text.content_words import ContentTerms
from fathom.usage import Usage

OBSERVER = QuestionObserver(extract_terms=ContentTerms(), decomposer=LocalDecomposer())
NESTED = "Who founded the company that distributed the film Harbour Lights?"


@pytest.mark.parametrize(
    ("question", "workflow"),
    [
        ("Who is older, Ana Silva or Nora Berg?", ("QDP",)),
        ("Siapa lebih tua, Chairil Anwar atau Amir Hamzah?", ("QDP",)),
        (NESTED, ("QDS",)),
        ("Di mana sutradara film Laskar Pelangi lahir?", ("QDS",)),
        ("Please tell me who wrote Dune?", ("QR", "R", "DS", "AG")),
        ("Who wrote Dune?", ("R", "AG")),
    ],
)
def test_rules_choose_by_the_question(question: str, workflow: tuple[str, ...]) -> None:
    observer = OBSERVER(Question(question), [hit_of()], first=True)
    chosen = WorkflowRules(score_gap=0.0).choose(observer, FIRST_TURN).workflow
    assert chosen == workflow
    assert is_legal_workflow(chosen, first=True)
    sub = WorkflowRules().choose(replace(observer, first=0.0), SUB_TURN).workflow
    assert is_legal_workflow(sub, first=False)


def test_documents_are_selected_where_the_look_is_unclear() -> None:
    observer = OBSERVER(
        Question("Who wrote Dune?"), [hit_of(), hit_of(document="d2", rank=2)], first=True
    )
    assert WorkflowRules(score_gap=0.6).choose(observer, FIRST_TURN).workflow == ("R", "DS", "AG")
    assert WorkflowRules(score_gap=0.5).choose(observer, FIRST_TURN).workflow == ("R", "AG")


def test_a_configured_workflow_is_always_chosen() -> None:
    policy = make_workflow_policy("QR,R,AG", score_gap=0.3)
    observer = OBSERVER(Question(NESTED), (), first=True)
    assert policy.choose(observer, FIRST_TURN).workflow == ("QR", "R", "AG")
    assert policy.choose(replace(observer, first=0.0), SUB_TURN).workflow == ("R", "AG")
    assert policy.name == "QR,R,AG"
    assert make_workflow_policy("rules", score_gap=0.3).name == "rules"


def plan(planner: Planner, *, first: bool = True) -> tuple[str, ...]:
    legal = FIRST_TURN if first else SUB_TURN
    with run_context() as context:
        observer = OBSERVER(Question(NESTED), (), first=first)
        return asyncio.run(planner.plan(Question(NESTED), observer, legal, context)).workflow


@pytest.mark.parametrize(
    ("outcomes", "workflow"),
    [
        ((completion('{"workflow": "qr, R ,AG"}'),), ("QR", "R", "AG")),
        ((completion('{"workflow": "AG,R"}'),), ("AG", "R")),
        ((completion("no"), completion("no")), ("QDS",)),
        ((ModelFault("down", Usage(llm_calls=1), retriable=False),), ("QDS",)),
    ],
)
def test_the_model_may_plan_illegally_and_the_rules_replace_it(
    outcomes: tuple[Completion | Exception, ...], workflow: tuple[str, ...]
) -> None:
    model = RoleModel(chat=ScriptedChat(*outcomes))
    assert plan(LLMPlanner(model=model, local=WorkflowRules())) == workflow


def test_the_model_hears_the_grammar_of_the_turn() -> None:
    for first in (True, False):
        chat = ScriptedChat(completion('{"workflow": "AG"}'))
        planner = LLMPlanner(model=RoleModel(chat=chat), local=WorkflowRules())
        assert plan(planner, first=first) == ("AG",)
        (call,) = chat.calls
        names = [",".join(workflow) for workflow in list_legal_workflows(first=first)]
        assert call.schema is not None
        assert call.schema["properties"]["workflow"] == {"enum": names}
        assert "; ".join(names) in call.messages[0].text


def show_prompt(prices: WorkflowPrices, tried: Sequence[TriedWorkflow] = ()) -> tuple[str, str]:
    """Return the prompt of a turn with two hits, and its instructions."""
    chat = ScriptedChat(completion('{"workflow": "R,AG"}'))
    planner = LLMPlanner(model=RoleModel(chat=chat), local=WorkflowRules(), prices=prices)
    hits = [hit_of(), hit_of(document="d2", rank=2)]
    with run_context() as context:
        features = replace(OBSERVER(Question("Who?"), hits, first=True), coverage=0.67)
        asyncio.run(planner.plan(Question("Who?"), features, FIRST_TURN, context, tried))
    (call,) = chat.calls
    return call.messages[1].text, call.messages[0].text


def test_the_prompt_has_the_look_the_prices_and_alpha() -> None:
    text, _ = show_prompt(WorkflowPrices(alpha=0.2, tokens={"AG": 2000, "QDP": 500}))
    assert "2 hits from 2 documents; the best has score 1.00, the second is 50% behind it" in text
    assert "the best holds 67% of the question's words" in text
    assert "Tried: nothing yet" in text
    # The paper charges each R, also where the hits are those of the look.
    assert "Cost, with alpha 0.20: " in text
    costs = dict(
        entry.rsplit(" ", 1) for entry in text.split("alpha 0.20: ")[1].split("\n")[0].split("; ")
    )
    assert costs["AG"] == "2.00"
    assert costs["R,AG"] == "2.25"
    assert costs["QR,R,AG"] == "2.25"
    assert costs["QDP"] == "5.25"  # 0.5 to split, twice 0.25 + 2 for a search and an answer, 0.25
    assert costs["QDS"] == "5.00"  # no tokens to split, but it waits twice
    assert text.endswith("Question: Who?")


def test_the_prompt_has_the_tried_workflows_as_data() -> None:
    tried = [
        TriedWorkflow(
            question=Question("Who directed Jaws?"),
            workflow=("R", "AG"),
            answer="x" * 99,
            confidence=0.9,
        ),
        TriedWorkflow(question=Question("Where?"), workflow=("QDS",)),
    ]
    text, instructions = show_prompt(WorkflowPrices(), tried)
    assert f'"Who directed Jaws?" by R,AG: "{"x" * 80}", 90% sure' in text
    assert '"Where?" by QDS: no answer' in text
    fence = next(line for line in text.splitlines() if line.startswith("===")).split(" turn")[0]
    assert fence in instructions


def test_the_price_of_a_workflow_is_estimated() -> None:
    features = replace(OBSERVER(Question("Who?"), [hit_of()], first=True), coverage=0.67)
    prices = WorkflowPrices(coverage_threshold=0.8, tokens=estimate_tokens({"reader"}, hits=5))
    assert prices.estimate_cost(("AG",), features) == 2.0
    assert prices.estimate_cost(("R", "AG"), features) == 2.0 + 8 * 0.25  # R follows bridges
    assert prices.estimate_cost(("R", "AG"), replace(features, first=0.0)) == 2.25
    assert estimate_tokens((), hits=5) == {}


def test_a_policy_plans_as_a_step() -> None:
    assert plan(LocalPlanner(policy=WorkflowRules())) == ("QDS",)
