import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.planner.test_observation import OBSERVER, observe

from fathom.errors import SettingsError, UsageError
from fathom.planner.actions import ACTIONS, Action, list_legal_actions
from fathom.planner.network import MAX_POLICY_BYTES, Layer, PolicyNetwork
from fathom.planner.observation import COLUMNS, DraftFeatures, Observation
from fathom.planner.policy import (
    SHIPPED_POLICY,
    FixedSequence,
    LearnedPolicy,
    ModelFallbackPolicy,
    Policy,
    RulePolicy,
    load_policy,
)
from fathom.question.question import Question

LOCAL: tuple[Action, ...] = tuple(action for action in ACTIONS if action != "model")


def make_learned(seed: int = 0, **changes: object) -> LearnedPolicy:
    rng = np.random.default_rng(seed)
    sizes = [(len(COLUMNS), 8), (8, len(LOCAL))]
    network = PolicyNetwork(
        columns=tuple(COLUMNS),
        mean=np.zeros(len(COLUMNS)),
        spread=np.ones(len(COLUMNS)),
        layers=tuple(
            Layer(weights=rng.normal(size=size), offset=np.zeros(size[1])) for size in sizes
        ),
        actions=LOCAL,
        most=2,
        origin={"commit": "abc"},
    )
    return LearnedPolicy(network=replace(network, **changes))  # type: ignore[arg-type]


def make_fixed(action: Action) -> LearnedPolicy:
    offset = np.array([9.0 if name == action else 0.0 for name in LOCAL])
    weights = np.zeros((len(COLUMNS), len(LOCAL)))
    return make_learned(layers=(Layer(weights=weights, offset=offset),))


def choose_by_rules(observation: Observation, *, has_model: bool = False) -> Action:
    open_ = list_legal_actions(observation.tried, has_model=has_model)
    return RulePolicy().choose(observation, open_).action


def make_drafts(*confidences: float) -> tuple[DraftFeatures, ...]:
    return tuple(DraftFeatures(answered=1, confidence=confidence) for confidence in confidences)


def test_the_shipped_policy_chooses_each_executor_for_some_question() -> None:
    policy = load_policy("learned")
    assert isinstance(policy, LearnedPolicy)
    network, rng = policy.network, np.random.default_rng(0)
    around = rng.uniform(-1.5, 1.5, (20_000, len(network.columns)))
    chosen = network.compute_logits(network.mean + network.spread * around).argmax(axis=1)
    assert {network.actions[place] for place in chosen.tolist()} == set(LOCAL)


def test_rules_show_a_sure_answer_and_stop_at_an_unsure_one() -> None:
    assert choose_by_rules(observe(drafts=make_drafts(0.5))) == "stop"
    assert choose_by_rules(observe(drafts=make_drafts(0.49))) == "abstain"
    assert choose_by_rules(observe(drafts=make_drafts(0.49)), has_model=True) == "model"
    assert (
        choose_by_rules(observe(drafts=make_drafts(0.2, 0.2), tried=("model",)), has_model=True)
        == "abstain"
    )
    decision = RulePolicy(min_confidence=0.6).choose(
        observe(drafts=make_drafts(0.5)), list_legal_actions((), has_model=True)
    )
    assert (decision.action, decision.reason) == ("model", "only 50% sure")


def test_rules_debate_a_conflict_once_even_where_the_draft_is_sure() -> None:
    conflict = DraftFeatures(answered=1, confidence=0.9, rival=0.4, alternatives=1)
    assert choose_by_rules(observe(drafts=(conflict,))) == "debate"
    assert choose_by_rules(observe(drafts=(conflict, conflict), tried=("debate",))) == "stop"


def test_rules_look_up_each_side_of_a_comparison_even_after_a_sure_look() -> None:
    two = OBSERVER(Question("Who is older, Ana Silva or Nora Berg?"), (), first=True)
    assert choose_by_rules(observe(situation=two, drafts=make_drafts(0.9))) == "split"


def test_rules_follow_a_chain_even_after_a_sure_look_unless_a_model_will_read() -> None:
    two = OBSERVER(Question("Who is older, Ana Silva or Nora Berg?"), (), first=True)
    chain = replace(two, parallel=1.0, serial=2.0)
    sure = observe(situation=chain, drafts=make_drafts(0.9))
    assert choose_by_rules(sure) == "split"
    assert choose_by_rules(sure, has_model=True) == "stop"
    assert choose_by_rules(observe(situation=chain, drafts=make_drafts(0.1))) == "split"


def test_rules_follow_bridges_over_uncovered_hops_and_before_a_model() -> None:
    two = OBSERVER(Question("Who is older, Ana Silva or Nora Berg?"), (), first=True)
    chain = replace(two, parallel=1.0, serial=2.0, coverage=0.2, names=2.0)
    after = {"drafts": make_drafts(0.1, 0.1), "tried": ("split",)}
    assert choose_by_rules(observe(situation=chain, **after)) == "bridge"
    assert choose_by_rules(observe(situation=replace(chain, coverage=0.6), **after)) == "abstain"
    named = replace(chain, serial=1.0)
    assert choose_by_rules(observe(situation=named, drafts=make_drafts(0.1))) == "abstain"
    covered = replace(named, coverage=0.9)
    assert (
        choose_by_rules(observe(situation=covered, drafts=make_drafts(0.1)), has_model=True)
        == "bridge"
    )
    alone = replace(covered, names=1.0)
    assert (
        choose_by_rules(observe(situation=alone, drafts=make_drafts(0.1)), has_model=True)
        == "model"
    )
    chained = replace(alone, serial=2.0)
    assert choose_by_rules(observe(situation=chained, **after), has_model=True) == "bridge"
    few_searches = tuple(
        action for action in list_legal_actions((), has_model=True) if action != "bridge"
    )
    decision = RulePolicy().choose(observe(drafts=make_drafts(0.1)), few_searches)
    assert decision.action == "model"


def test_a_fixed_sequence_ignores_its_observations() -> None:
    policy = FixedSequence(actions=("split", "bridge"))
    assert policy.name == "split,bridge,stop"
    observation = observe(drafts=make_drafts(0.9))
    assert policy.choose(observation, list_legal_actions((), has_model=False)).action == "split"
    after = observe(drafts=make_drafts(0.9, 0.9), tried=("split",))
    assert policy.choose(after, list_legal_actions(("split",), has_model=False)).action == "bridge"
    done = observe(drafts=make_drafts(0.9, 0.9, 0.9), tried=("split", "bridge"))
    assert (
        policy.choose(done, list_legal_actions(("split", "bridge"), has_model=False)).action
        == "stop"
    )


def test_a_learned_policy_chooses_legal_actions_only() -> None:
    policy: Policy = make_fixed("bridge")
    assert policy.choose(observe(), list_legal_actions((), has_model=False)).action == "bridge"
    after = observe(drafts=make_drafts(0.3, 0.3), tried=("bridge",))
    decision = policy.choose(after, list_legal_actions(("bridge",), has_model=False))
    assert decision.action == "stop"
    assert "bridge" not in decision.probabilities
    assert sum(decision.probabilities.values()) == pytest.approx(1, abs=1e-5)


def test_it_chains_at_most_as_many_executors_as_in_training() -> None:
    after = observe(drafts=make_drafts(0.3, 0.3, 0.3), tried=("deeper", "split"))
    open_ = list_legal_actions(("deeper", "split"), has_model=False)
    assert "bridge" in open_
    assert set(make_fixed("bridge").choose(after, open_).probabilities) == {"stop", "abstain"}


def test_instead_of_abstaining_a_model_is_asked_if_there_is_one() -> None:
    assert (
        make_fixed("abstain").choose(observe(), list_legal_actions((), has_model=False)).action
        == "abstain"
    )
    assert (
        make_fixed("abstain").choose(observe(), list_legal_actions((), has_model=True)).action
        == "model"
    )
    assert (
        make_fixed("stop").choose(observe(), list_legal_actions((), has_model=True)).action
        == "stop"
    )


def test_a_file_holds_the_policy_with_its_origin() -> None:
    policy = make_learned()
    text = policy.network.to_json()
    again = LearnedPolicy(network=PolicyNetwork.from_json(text))
    open_ = list_legal_actions((), has_model=False)
    assert again.choose(observe(), open_).action == policy.choose(observe(), open_).action
    assert again.network.origin == {"commit": "abc"}
    assert again.network.to_json() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 0}, "format 0"),
        ({"columns": ["height", *list(COLUMNS)[1:]]}, "unknown height"),
        ({"actions": ["dance", *LOCAL[1:]]}, "unknown dance"),
        ({"strategy": "mao"}, "a policy of mao"),
        ({"mean": [0.0]}, "not a policy"),
        ({"layers": []}, "not a policy"),
    ],
)
def test_a_file_of_another_version_is_refused_with_the_next_step(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({**json.loads(make_learned().network.to_json()), **change}))
    with pytest.raises(UsageError, match=message) as refused:
        load_policy(str(file))
    assert "train" in str(refused.value)


def test_a_policy_is_never_larger_than_allowed(tmp_path: Path) -> None:
    huge = Layer(weights=np.full((len(COLUMNS), 900), 0.123456), offset=np.zeros(900))
    last = Layer(weights=np.zeros((900, len(LOCAL))), offset=np.zeros(len(LOCAL)))
    with pytest.raises(ValueError, match="200000 at most"):
        make_learned(layers=(huge, last)).network.to_json()


def test_settings_name_a_policy(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(make_learned().network.to_json(), encoding="utf-8")
    assert load_policy("rules", min_confidence=0.4) == RulePolicy(min_confidence=0.4)
    assert load_policy(str(file)).name == str(file)
    assert load_policy("rules", ["bridge"]) == FixedSequence(actions=("bridge",))
    with pytest.raises(SettingsError, match=r"adaptive\.policy = 'nobody': no such file"):
        load_policy("nobody")


def test_a_model_is_asked_before_an_uncertain_end() -> None:
    policy = ModelFallbackPolicy(policy=make_fixed("stop"), min_certainty=0.9)
    open_ = list_legal_actions((), has_model=True)
    sure, unsure = (
        replace(observe(), drafts=(DraftFeatures(answered=1.0, confidence=share),))
        for share in (0.9, 0.89)
    )
    assert policy.choose(sure, open_).action == "stop"
    assert policy.choose(unsure, open_).action == "model"
    assert policy.choose(unsure, list_legal_actions((), has_model=False)).action == "stop"
    assert replace(policy, policy=make_fixed("bridge")).choose(unsure, open_).action == "bridge"


def test_the_shipped_policy_names_its_origin_and_decides() -> None:
    text = SHIPPED_POLICY.read_text(encoding="utf-8")
    assert len(text.encode()) <= MAX_POLICY_BYTES
    policy = load_policy("learned")
    assert isinstance(policy, LearnedPolicy)
    assert set(policy.network.origin) >= {"data", "fingerprint", "commit", "reward", "training"}
    assert sum(policy.network.origin["data"].values()) >= 50
    decision = policy.choose(
        observe(drafts=make_drafts(0.9)), list_legal_actions((), has_model=False)
    )
    assert decision.action in list_legal_actions((), has_model=False)
