"""Correction of typing errors, from the engine to the trace and back."""

from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.engine import Engine
from fathom.runs.recorder import format_answer
from fathom.settings import Settings
from fathom.testing.doubles import HashingEmbedder

TYPED = "hi, when does the libary at Merrow open on Saturday"
MEANT = "When does the library at Merrow open on Saturday?"


@pytest.mark.parametrize("strategy", ["naive", "mao"])
def test_a_misspelt_question_is_answered_as_meant(samples: Path, strategy: str) -> None:
    settings = Settings.model_validate({"index": {"directory": samples / "index"}})
    with Engine(settings, embedder=HashingEmbedder(64)) as engine:
        answer = engine.ask(TYPED, strategy=strategy)
        plain = engine.ask(MEANT, strategy=strategy)
        trace = engine.trace(str(answer.trace_id))
        replay = engine.replay(trace.id)
    assert (answer.question, answer.standalone_question) == (TYPED, MEANT)
    assert (answer.status, answer.answer) == (plain.status, plain.answer)
    assert plain.standalone_question is None
    assert "standalone_question" not in format_answer(plain)
    step = next(step for step in trace.steps if step.agent == "cleaner")
    assert step.reason == "libary read as library"
    assert replay.same


def test_question_cleaning_can_be_switched_off(samples: Path) -> None:
    with engine_at(samples, ask={"clean_question": False}) as engine:
        answer = engine.ask(TYPED)
        agents = {step.agent for step in engine.traces.steps(answer) or ()}
    assert answer.standalone_question is None
    assert "cleaner" not in agents


def test_a_run_recorded_without_cleaning_is_replayed_unchanged(samples: Path) -> None:
    with engine_at(samples, ask={"clean_question": False}) as before:
        answer = before.ask(TYPED)
    with engine_at(samples) as engine:
        assert engine.replay(str(answer.trace_id)).same
