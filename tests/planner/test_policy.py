import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.planner.test_observation import OBSERVER, seen

from fathom.errors import SettingsError, UsageError
from fathom.planner.actions import ACTIONS, Action, list_legal_actions
from fathom.planner.observation import COLUMNS, DraftFeatures, Observation
from fathom.planner.policy import (
    MAX_POLICY_BYTES,
    SHIPPED_POLICY,
    FixedSequence,
    Layer,
    LearnedPolicy,
    ModelFallbackPolicy,
    Policy,
    RulePolicy,
    load_policy,
)

LOCAL: tuple[Action, ...] = tuple(action for action in ACTIONS if action != "model")


def learned(seed: int = 0, **changes: object) -> LearnedPolicy:
    rng = np.random.default_rng(seed)
    sizes = [(len(COLUMNS), 8), (8, len(LOCAL))]
    policy = LearnedPolicy(
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
    return replace(policy, **changes)  # type: ignore[arg-type]


def always(action: Action) -> LearnedPolicy:
    offset = np.array([9.0 if each == action else 0.0 for each in LOCAL])
    weights = np.zeros((len(COLUMNS), len(LOCAL)))
    return learned(layers=(Layer(weights=weights, offset=offset),))


def rules(observation: Observation, *, has_model: bool = False) -> Action:
    open_ = list_legal_actions(observation.tried, has_model=has_model)
    return RulePolicy().choose(observation, open_).action


def drafts(*confidences: float) -> tuple[DraftFeatures, ...]:
    return tuple(DraftFeatures(answered=1, confidence=confidence) for confidence in confidences)


def test_rules_show_what_is_sure_and_take_no_second_look_at_what_is_not() -> None:
    assert rules(seen(drafts=drafts(0.5))) == "stop"
    assert rules(seen(drafts=drafts(0.49))) == "abstain"
    assert rules(seen(drafts=drafts(0.49)), has_model=True) == "model"
    assert rules(seen(drafts=drafts(0.2, 0.2), tried=("model",)), has_model=True) == "abstain"
    decision = RulePolicy(min_confidence=0.6).choose(
        seen(drafts=drafts(0.5)), list_legal_actions((), has_model=True)
    )
    assert (decision.action, decision.reason) == ("model", "only 50% sure")


def test_rules_debate_a_conflict_once_even_where_the_draft_is_sure() -> None:
    conflict = DraftFeatures(answered=1, confidence=0.9, rival=0.4, alternatives=1)
    assert rules(seen(drafts=(conflict,))) == "debate"
    assert rules(seen(drafts=(conflict, conflict), tried=("debate",))) == "stop"


def test_rules_look_up_each_side_of_a_comparison_however_sure_the_first_look_is() -> None:
    two = OBSERVER("Who is older, Ana Silva or Nora Berg?", (), first=True)
    assert rules(seen(situation=two, drafts=drafts(0.9))) == "split"
    chain = replace(two, parallel=1.0, serial=2.0)
    assert rules(seen(situation=chain, drafts=drafts(0.9))) == "stop"
    assert rules(seen(situation=chain, drafts=drafts(0.1))) == "split"


def test_rules_follow_bridges_only_over_several_hops_that_the_look_does_not_cover() -> None:
    two = OBSERVER("Who is older, Ana Silva or Nora Berg?", (), first=True)
    chain = replace(two, parallel=1.0, serial=2.0, coverage=0.2, names=2.0)
    after = {"drafts": drafts(0.1, 0.1), "tried": ("split",)}
    assert rules(seen(situation=chain, **after)) == "bridge"
    assert rules(seen(situation=replace(chain, coverage=0.6), **after)) == "abstain"
    named = replace(chain, serial=1.0)
    assert rules(seen(situation=named, drafts=drafts(0.1))) == "abstain"
    assert rules(seen(situation=named, drafts=drafts(0.1)), has_model=True) == "bridge"
    alone = replace(named, names=1.0)
    assert rules(seen(situation=alone, drafts=drafts(0.1)), has_model=True) == "model"


def test_a_fixed_sequence_does_the_same_whatever_it_sees() -> None:
    policy = FixedSequence(actions=("split", "bridge"))
    assert policy.name == "split,bridge,stop"
    observation = seen(drafts=drafts(0.9))
    assert policy.choose(observation, list_legal_actions((), has_model=False)).action == "split"
    after = seen(drafts=drafts(0.9, 0.9), tried=("split",))
    assert policy.choose(after, list_legal_actions(("split",), has_model=False)).action == "bridge"
    done = seen(drafts=drafts(0.9, 0.9, 0.9), tried=("split", "bridge"))
    assert (
        policy.choose(done, list_legal_actions(("split", "bridge"), has_model=False)).action
        == "stop"
    )


def test_a_learned_policy_chooses_what_is_legal_alone() -> None:
    policy: Policy = always("bridge")
    assert policy.choose(seen(), list_legal_actions((), has_model=False)).action == "bridge"
    after = seen(drafts=drafts(0.3, 0.3), tried=("bridge",))
    decision = policy.choose(after, list_legal_actions(("bridge",), has_model=False))
    assert decision.action == "stop"
    assert "bridge" not in decision.probabilities
    assert sum(decision.probabilities.values()) == pytest.approx(1, abs=1e-5)


def test_it_puts_no_more_executors_in_a_row_than_it_learned_to() -> None:
    after = seen(drafts=drafts(0.3, 0.3, 0.3), tried=("deeper", "split"))
    open_ = list_legal_actions(("deeper", "split"), has_model=False)
    assert "bridge" in open_
    assert set(always("bridge").choose(after, open_).probabilities) == {"stop", "abstain"}


def test_where_it_would_abstain_a_model_is_asked_if_there_is_one() -> None:
    assert (
        always("abstain").choose(seen(), list_legal_actions((), has_model=False)).action
        == "abstain"
    )
    assert (
        always("abstain").choose(seen(), list_legal_actions((), has_model=True)).action == "model"
    )
    assert always("stop").choose(seen(), list_legal_actions((), has_model=True)).action == "stop"


def test_a_file_holds_the_policy_with_where_it_came_from() -> None:
    policy = learned()
    again = LearnedPolicy.from_json(policy.to_json())
    open_ = list_legal_actions((), has_model=False)
    assert again.choose(seen(), open_).action == policy.choose(seen(), open_).action
    assert again.origin == {"commit": "abc"}
    assert again.to_json() == policy.to_json()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 0}, "format 0"),
        ({"columns": ["height"]}, "unknown height"),
        ({"actions": ["dance"]}, "unknown dance"),
        ({"mean": [0.0]}, "not a policy"),
        ({"layers": []}, "not a policy"),
    ],
)
def test_a_file_of_another_version_is_refused_with_what_to_do(
    change: dict[str, object], told: str
) -> None:
    text = json.dumps({**json.loads(learned().to_json()), **change})
    with pytest.raises(UsageError, match=told) as refused:
        LearnedPolicy.from_json(text, name="policy.json")
    assert "train" in str(refused.value)


def test_a_policy_is_never_larger_than_it_may_be(tmp_path: Path) -> None:
    huge = Layer(weights=np.full((len(COLUMNS), 900), 0.123456), offset=np.zeros(900))
    last = Layer(weights=np.zeros((900, len(LOCAL))), offset=np.zeros(len(LOCAL)))
    with pytest.raises(ValueError, match="200000 at most"):
        learned(layers=(huge, last)).to_json()


def test_settings_name_a_policy(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(learned().to_json(), encoding="utf-8")
    assert load_policy("rules", min_confidence=0.4) == RulePolicy(min_confidence=0.4)
    assert load_policy(str(file)).name == str(file)
    assert load_policy("rules", ["bridge"]) == FixedSequence(actions=("bridge",))
    with pytest.raises(SettingsError, match=r"adaptive\.policy = 'nobody': no such file"):
        load_policy("nobody")


def test_a_model_is_asked_before_an_end_that_is_not_certain() -> None:
    policy = ModelFallbackPolicy(policy=always("stop"), min_certainty=0.9)
    open_ = list_legal_actions((), has_model=True)
    sure, unsure = (
        replace(seen(), drafts=(DraftFeatures(answered=1.0, confidence=share),))
        for share in (0.9, 0.89)
    )
    assert policy.choose(sure, open_).action == "stop"
    assert policy.choose(unsure, open_).action == "model"
    assert policy.choose(unsure, list_legal_actions((), has_model=False)).action == "stop"
    assert replace(policy, policy=always("bridge")).choose(unsure, open_).action == "bridge"


def test_the_shipped_policy_says_where_it_came_from_and_decides() -> None:
    text = SHIPPED_POLICY.read_text(encoding="utf-8")
    assert len(text.encode()) <= MAX_POLICY_BYTES
    policy = load_policy("learned")
    assert isinstance(policy, LearnedPolicy)
    assert set(policy.origin) >= {"data", "fingerprint", "commit", "reward", "training"}
    assert sum(policy.origin["data"].values()) >= 50
    decision = policy.choose(seen(drafts=drafts(0.9)), list_legal_actions((), has_model=False))
    assert decision.action in list_legal_actions((), has_model=False)
