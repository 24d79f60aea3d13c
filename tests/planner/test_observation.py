from dataclasses import replace

import numpy as np
import pytest
from tests.factories import hit_of

from fathom.agents.decomposer import LocalDecomposer
from fathom.planner.actions import ACTIONS, END_ACTIONS
from fathom.planner.observation import (
    COLUMNS,
    DraftFeatures,
    Observation,
    build_features,
    restore_observation,
)
from fathom.planner.question_features import QuestionObserver
from fathom.question.question import Question
from fathom.text.content_words import ContentTerms
from fathom.types import Alternative, Draft, Evidence, Span

OBSERVER = QuestionObserver(extract_terms=ContentTerms(), decomposer=LocalDecomposer())
HITS = (hit_of(), hit_of("Nothing.", document="d2", rank=2))


def observe(**changes: object) -> Observation:
    situation = OBSERVER(Question("How much does a mooring permit cost?"), HITS, first=True)
    plain = Observation(situation=situation, drafts=(DraftFeatures(confidence=0.4),))
    return replace(plain, **changes)  # type: ignore[arg-type]


def read_column(observation: Observation, name: str) -> float:
    return float(build_features(observation)[list(COLUMNS).index(name)])


def make_draft(*supports: float, rivals: tuple[int, ...] = (), refuted: bool = False) -> Draft:
    return Draft(
        evidence=tuple(
            Evidence(hit=hit_of(document=f"d{at}"), span=Span(0, 4), support=support)
            for at, support in enumerate(supports)
        ),
        short_answer="40",
        alternatives=tuple(Alternative(text="x", evidence=(at,), refuted=refuted) for at in rivals),
        confidence=0.7,
    )


def test_every_column_is_named_and_described() -> None:
    values = build_features(observe())
    assert values.shape == (len(COLUMNS),)
    assert np.isfinite(values).all()
    assert all(COLUMNS.values())
    assert len(set(COLUMNS.values())) == len(COLUMNS)
    assert {f"tried_{action}" for action in ACTIONS if action not in END_ACTIONS} <= set(COLUMNS)


def test_a_draft_is_described_in_numbers() -> None:
    figures = DraftFeatures.from_draft(make_draft(0.8, 0.6, rivals=(1,)))
    assert (figures.answered, figures.confidence, figures.support) == (1, 0.7, 0.8)
    assert (figures.alternatives, figures.documents, figures.short) == (1, 2, 1)
    assert figures.margin == pytest.approx(0.25)
    assert figures.rival == pytest.approx(0.75)


def test_a_refuted_answer_is_no_rival() -> None:
    assert DraftFeatures.from_draft(make_draft(0.8, 0.6, rivals=(1,), refuted=True)).rival == 0


def test_an_empty_search_has_figures_too() -> None:
    assert DraftFeatures.from_draft(Draft()) == DraftFeatures()


def test_tried_actions_and_their_outcomes_are_columns() -> None:
    drafts = (DraftFeatures(confidence=0.4), DraftFeatures(confidence=0.7))
    after = observe(drafts=drafts, tried=("bridge",), new_hits=0.5, same=False, left=0.25)
    assert read_column(after, "tried_bridge") == 1
    assert read_column(after, "tried_split") == 0
    assert read_column(after, "confidence") == 0.7
    assert read_column(after, "first_confidence") == 0.4
    assert read_column(after, "gain") == pytest.approx(0.3)
    assert read_column(after, "new_hits") == 0.5
    assert read_column(after, "same") == 0
    assert read_column(after, "left") == 0.25


def test_each_executor_gives_a_draft() -> None:
    with pytest.raises(ValueError, match="1 drafts after 1 executors"):
        observe(tried=("bridge",))


def test_observations_are_restored_from_their_features() -> None:
    whole = DraftFeatures.from_draft(make_draft(0.8, 0.6, rivals=(1,)))
    low = DraftFeatures(confidence=0.1)
    cases = [
        observe(),
        observe(drafts=(low, whole), tried=("bridge",), same=False, left=0.5),
        observe(drafts=(low, low, whole), tried=("split", "deeper"), indonesian=True, new_hits=0.3),
    ]
    for observation in cases:
        values = build_features(observation)
        again = restore_observation(dict(zip(COLUMNS, values, strict=True)))
        assert build_features(again) == pytest.approx(values)
