"""Replies of language models that are kept for later runs."""

import asyncio
import json
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from experiments.lab.kept_replies import KeepingModel, KeptReplies
from tests.experiments.toy import TOML, bench, experiment

from experiments import __main__ as command
from fathom.llm.base import Call, Message
from fathom.llm.recorded_model import RecordedModel
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import ScriptedChat, run_context

CALL = Call([Message("user", "Who rang the bell?")], max_tokens=20, deadline=inf)
OTHER = replace(CALL, messages=[Message("user", "When?")])


def test_equal_calls_are_answered_once_even_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    model = ScriptedChat("Ana", "At noon")
    keeping = KeepingModel(model, KeptReplies(file))
    first = asyncio.run(keeping.complete(CALL))
    assert asyncio.run(keeping.complete(CALL)) == first
    restarted = KeepingModel(model, KeptReplies(file))
    assert asyncio.run(restarted.complete(CALL)) == first
    assert asyncio.run(restarted.complete(OTHER)).text == "At noon"
    assert len(model.calls) == 2


def test_a_reply_of_another_machine_adds_no_time(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    asyncio.run(KeepingModel(ScriptedChat("Ana", "At noon"), KeptReplies(file)).complete(CALL))
    row = json.loads(file.read_text())
    file.write_text(json.dumps({**row, "seconds": None}) + "\n")
    replies = KeptReplies(file)
    assert asyncio.run(KeepingModel(ScriptedChat(), replies).complete(CALL)).text == "Ana"
    assert (replies.untimed, replies.saved_seconds) == (1, 0.0)


def test_another_model_has_other_replies(tmp_path: Path) -> None:
    replies = KeptReplies(tmp_path / "replies.jsonl")
    asyncio.run(KeepingModel(ScriptedChat("Ana"), replies).complete(CALL))
    other = KeepingModel(ScriptedChat("Nora", name="openai:n"), replies)
    assert asyncio.run(other.complete(CALL)).text == "Nora"


def test_a_reply_is_kept_under_the_key_of_its_event_in_a_trace(tmp_path: Path) -> None:
    replies = KeptReplies(tmp_path / "replies.jsonl")
    with run_context() as context:
        model = KeepingModel(ScriptedChat("Ana"), replies)
        reply = asyncio.run(RecordedModel(model, context).complete(CALL))
        assert isinstance(context.scope, Recorder)
        (event,) = context.scope.seal(None).events
    assert replies.find(event.key) == reply


def test_an_experiment_whose_model_is_not_on_this_machine_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setenv("SHARED_DATA", str(tmp_path / "data"))
    bench(tmp_path)
    experiment(
        tmp_path / "experiments",
        TOML.replace('"ask.min_confidence" = 0.0', '"llm.model" = "local:/nowhere.gguf"'),
    )
    assert command.main(["--work", str(tmp_path / "w"), "--out", str(tmp_path / "out")]) == 0
    assert "skipped: local:/nowhere.gguf cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "w" / "records").exists()
