from argparse import Namespace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")
transformers = pytest.importorskip(
    "transformers", reason="transformers is needed for training only"
)

from training.cross_reader.model import WIDTH, CrossReader  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402
from training.cross_reader.train import Run, schedule  # noqa: E402

ROWS = [
    Row(
        source="s",
        group="g",
        question="Which river?",
        title="Town",
        text="The town lies on the Rhine today.",
        spans=((21, 26),),
        answerable=True,
        relevant=True,
    ),
    Row(source="s", group="g", question="It lies.", title="", text="It lies.", support=(0,)),
]


def run(folder: Path) -> Run:
    torch.manual_seed(1)
    config = transformers.BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=12,
        intermediate_size=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = CrossReader(transformers.BertModel(config, add_pooling_layer=False))
    settings = Namespace(out=folder, rate=1e-3, device="cpu", bf16=False, blocks=10, minutes=1.0)
    return Run(model, settings)


def test_steps_lower_the_loss(tmp_path: Path) -> None:
    learner = run(tmp_path)
    learner.progress.seconds = 3.0  # the end of the warm-up

    first, *_, last = [learner.learn(ROWS, 64) for _ in range(8)]

    assert last["span"] < first["span"] / 2
    assert last["support"] < first["support"]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    learner = run(tmp_path)
    learner.learn(ROWS, 64)
    learner.progress.block = 3
    learner.save()
    expected = learner.learn(ROWS, 64)

    again = run(tmp_path)
    again.resume()

    assert (again.progress.block, again.progress.step, again.progress.rows) == (3, 1, 2)
    assert again.learn(ROWS, 64) == expected


def test_a_new_run_starts_at_nothing(tmp_path: Path) -> None:
    learner = run(tmp_path)
    learner.resume()

    assert learner.progress.step == 0


def test_the_run_is_over_by_blocks_or_by_minutes(tmp_path: Path) -> None:
    learner = run(tmp_path)
    learner.progress.block, learner.progress.seconds = 2, 6.0
    assert learner.share() == 0.2

    learner.progress.seconds = 30.0
    assert learner.share() == 0.5


def test_the_learning_rate_rises_and_falls_to_nothing() -> None:
    assert 0 < schedule(0.0) < schedule(0.02) < schedule(0.05) == 1.0
    assert schedule(0.525) == pytest.approx(0.5)
    assert schedule(1.0) == 0
    assert schedule(1.2) == 0
