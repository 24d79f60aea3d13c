"""The choices of `mao` as an environment: invented outcomes whose best workflows are known."""

from dataclasses import replace

import numpy as np
import pytest
from tests.planner.worlds import make_question

from fathom.errors import SettingsError, UsageError
from fathom.evaluation.planning import FixedSequences, SystemRun, cross_fit
from fathom.planner.environment import (
    END,
    Environment,
    RecordedOutcome,
    RecordedQuestion,
    Reward,
    compute_depth,
)
from fathom.planner.ppo import Training
from fathom.planner.process import WorkflowChoices, find_process
from fathom.planner.question_features import QuestionFeatures
from fathom.planner.train import train_policy
from fathom.planner.workflows import (
    FixedWorkflow,
    LearnedWorkflows,
    WorkflowRules,
    list_legal_workflows,
    make_workflow_policy,
)

CHOICES = WorkflowChoices()
FREE = Reward(alpha=0.0)
QUICK = Training(updates=40, episodes=256, noise=0.0, prior=0.0)


def describe(**values: float) -> dict[str, float]:
    """Return features, all 0 but these."""
    return {**dict.fromkeys(QuestionFeatures.list_names(), 0.0), **values}


def make_plan_question(number: int, *, subs: int | None = None) -> RecordedQuestion:
    """Return a question of one of three kinds, which shows in its features: R,AG answers the first,
    R,DS,AG the second, QDS with R for each of `subs` sub-questions the third.
    """
    kind = number % 3
    subs = 2 if subs is None else subs
    wanted = ("R,AG", "R,DS,AG", "QDS")[kind]
    features = describe(first=1.0, gap=float(kind == 0), serial=1.0 + (kind == 2), top=number / 99)
    outcomes = [RecordedOutcome(tried=(), features=features, f1=0.0, wrong=False, retrievals=1)]
    waiting: list[tuple[str, ...]] = [(name,) for name in CHOICES.list_legal((), most=subs)]
    while waiting:
        tried = waiting.pop(0)
        is_open = tried[0] == "QDS" and kind == 2 and len(tried) <= subs
        is_right = tried[0] == wanted and all("R" in name.split(",") for name in tried[1:])
        outcomes.append(
            RecordedOutcome(
                tried=tried,
                features=describe(top=len(tried) / 9) if is_open else {},
                f1=float(is_right and not is_open),
                wrong=not is_right and not is_open,
                answered=not is_open,
                retrievals=1 + (len(tried) if is_open else len(tried) - 1),
                waits=len(tried) if is_open else len(tried) - 1,
            )
        )
        if is_open:
            waiting += [(*tried, name) for name in CHOICES.list_legal(tried, most=subs)]
    return RecordedQuestion(
        dataset="even" if number % 2 == 0 else "odd",
        question=f"q{number}",
        answerable=True,
        outcomes=tuple(outcomes),
        strategy="mao",
    )


def make_plan_questions(count: int) -> list[RecordedQuestion]:
    return [make_plan_question(number) for number in range(count)]


def test_eighteen_workflows_can_be_chosen_and_five_of_them_for_a_sub_question() -> None:
    first, sub = CHOICES.list_legal((), most=4), CHOICES.list_legal(("QDS",), most=4)
    assert set(first) == set(CHOICES.actions)
    assert (len(first), len(sub)) == (18, 5)
    assert set(sub) <= set(first)
    world = Environment.from_questions(make_plan_questions(3), FREE)
    for state, (_, tried) in enumerate(world.states):
        assert world.legal[state].sum() == (5 if tried else 18)


def test_only_the_last_turn_earns_the_answer_and_each_sub_question_its_own_cost() -> None:
    world = Environment.from_questions([make_plan_question(2)], Reward(alpha=0.1))
    state, earned, turns = 0, [], []
    for name in ("QDS", "R,AG", "R,AG"):
        place = world.actions.index(name)
        earned.append(world.rewards[state, place])
        turns.append(world.turns[state, place])
        state = int(world.after[state, place])
    assert state == END
    # A search for R of each of the two sub-questions, and a wait for each before it is asked.
    assert earned == pytest.approx([-0.025, -0.05, 0.975])
    assert turns[:2] == [1, 1]


@pytest.mark.parametrize(
    ("tried", "retrievals", "is_open", "searches"),
    [
        ((), 1, True, 0),
        (("AG",), 1, False, 0),
        (("QR,DS,AG",), 1, False, 0),
        (("R,AG",), 1, False, 1),  # the search of the look
        (("QR,R,AG",), 1, False, 1),
        (("QR,R,AG",), 2, False, 1),  # one of its own beside the look
        (("R,AG",), 18, False, 17),  # bridges
        (("QDS",), 1, False, 1),  # not split, so answered by R, AG
        (("QDS",), 2, True, 0),
        (("QDP", "R,AG"), 3, True, 1),
        (("QDP", "R,DS,AG", "AG"), 3, False, 1),
    ],
)
def test_each_search_of_r_is_paid_for_and_a_look_is_not(
    tried: tuple[str, ...], retrievals: int, is_open: bool, searches: int
) -> None:
    assert CHOICES.count_searches(tried, retrievals, is_open=is_open) == searches


def test_r_of_the_first_turn_costs_a_search() -> None:
    world = Environment.from_questions([make_plan_question(0)], Reward(alpha=0.1))
    place = world.actions.index("R,AG")
    assert world.rewards[0, place] == pytest.approx(1 - 0.1 * 0.25)
    assert world.rewards[0, world.actions.index("AG")] == 0


def test_an_illegal_workflow_is_the_default_and_costs_one() -> None:
    world = Environment.from_questions([make_plan_question(2)], FREE)
    after_split = int(world.after[0, world.actions.index("QDS")])
    illegal, plain = (world.actions.index(name) for name in ("QR,R,AG", "R,AG"))
    assert not world.legal[after_split, illegal]
    assert world.after[after_split, illegal] == world.after[after_split, plain]
    assert world.rewards[after_split, illegal] == world.rewards[after_split, plain] - 1


def test_questions_may_have_trees_of_different_depths() -> None:
    questions = [make_plan_question(2, subs=1), make_plan_question(2, subs=3)]
    assert compute_depth(questions) == 3
    world = Environment.from_questions(questions, FREE)
    assert [world.states[start] for start in world.starts] == [(0, ()), (1, ())]
    walks = world.follow(world.choose_in_hindsight())
    assert walks.sequences == (("QDS", "R,AG"), ("QDS", "R,AG", "R,AG", "R,AG"))
    assert walks.earned.tolist() == [1, 1]


def test_incomplete_or_mixed_outcomes_are_refused() -> None:
    whole = make_plan_question(2)
    torn = replace(whole, outcomes=whole.outcomes[:-1])
    with pytest.raises(UsageError, match="no outcome of QDS,"):
        compute_depth([torn])
    with pytest.raises(UsageError, match="outcomes of adaptive and mao in one file"):
        compute_depth([whole, make_question(0)])
    with pytest.raises(UsageError, match="naive: no planner to train; name adaptive or mao"):
        find_process("naive")


def test_hindsight_takes_a_plain_workflow_of_equally_good_ones() -> None:
    question = make_plan_question(0)
    equal = [
        replace(outcome, f1=1.0) if not outcome.features else outcome
        for outcome in question.outcomes
    ]
    world = Environment.from_questions([replace(question, outcomes=tuple(equal))], FREE)
    ((workflow,),) = world.follow(world.choose_in_hindsight()).sequences
    assert not workflow.startswith("QD")


def test_fixed_workflows_are_those_for_the_question_and_of_splits_for_sub_questions() -> None:
    fixed = CHOICES.list_fixed(2)
    assert len(fixed) == 16 + 2 * 5
    assert ("R,DS,AG",) in fixed
    assert ("QDS", "R,DS,AG", "R,DS,AG") in fixed
    chains = [make_plan_question(number) for number in (2, 5, 8)]
    assert FixedSequences.of(chains, FREE).overall == ("QDS", "R,AG", "R,AG")


def test_the_rules_choose_in_every_state() -> None:
    world = Environment.from_questions(make_plan_questions(3), FREE)
    walks = world.follow(world.choose_by(world.process.choose_by_rules))
    assert walks.sequences == (("R,AG",), ("R,DS,AG",), ("QDS", "R,DS,AG", "R,DS,AG"))


def test_ppo_learns_the_workflow_of_each_kind_and_its_file_chooses_alike() -> None:
    questions = make_plan_questions(60)
    done = train_policy(questions, Reward(alpha=0.05), replace(QUICK, prior=0.1))
    world = Environment.from_questions(questions, Reward(alpha=0.05))
    walks = world.follow(done.learner.choose_actions(world))
    assert [sequence[0] for sequence in walks.sequences[:3]] == ["R,AG", "R,DS,AG", "QDS"]
    # R costs a search; the split two searches and two waits.
    assert walks.earned[:3] == pytest.approx([0.9875, 0.9875, 0.95])
    policy = LearnedWorkflows(network=done.policy)
    for state in world.starts[:3]:
        values = dict(zip(world.process.columns, map(float, world.inputs[state]), strict=True))
        plan = policy.choose(QuestionFeatures(**values), list_legal_workflows(first=True))
        assert plan.workflow == tuple(walks.sequences[world.states[state][0]][0].split(","))


def test_systems_are_compared_on_workflows_and_entropy_is_that_of_the_first_turn() -> None:
    table = cross_fit(make_plan_questions(30), Reward(alpha=0.05), QUICK, alphas=(0.05,))
    names = [system.name for system in table.systems]
    assert names == [
        "R,AG",
        "best fixed sequence",
        "router by data set",
        "rules",
        "PPO, alpha 0.05",
        "hindsight",
    ]
    assert table.find_system("hindsight").entropy == pytest.approx(np.log2(3))
    assert table.find_system("R,AG").entropy == 0


def test_questions_that_share_documents_are_held_out_together() -> None:
    questions = [
        replace(question, dataset="one", group=f"g{number // 5}")
        for number, question in enumerate(make_plan_questions(50))
    ]
    table = cross_fit(questions, FREE, replace(QUICK, updates=1), alphas=(0.0,))
    order = [question.group for question in table.systems[0].questions]
    folds = [order[at : at + 10] for at in range(0, 50, 10)]
    assert all(len(set(fold)) == 2 for fold in folds)


def test_a_run_counts_the_workflow_of_the_question_alone() -> None:
    world = Environment.from_questions([make_plan_question(2)], FREE)
    walks = world.follow(world.choose_sequence(("QDS", "R,AG", "R,AG")))
    assert SystemRun.of("fixed", walks).sequences == (("QDS",),)


def test_settings_name_rules_a_workflow_or_a_network() -> None:
    assert make_workflow_policy("rules", score_gap=0.4) == WorkflowRules(score_gap=0.4)
    assert make_workflow_policy("R,DS,AG", score_gap=0.3) == FixedWorkflow(first=("R", "DS", "AG"))
    with pytest.raises(SettingsError, match=r"mao\.policy = 'R;AG': no such file; give rules"):
        make_workflow_policy("R;AG", score_gap=0.3)
