import json
from argparse import Namespace
from itertools import islice
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")
pytest.importorskip("bm25s", reason="bm25s is needed for training only")

from tests.training import tiny  # noqa: E402
from training.cross_reader import pack, train  # noqa: E402
from training.cross_reader.batches import Blocks, Limits  # noqa: E402
from training.cross_reader.data import Split  # noqa: E402
from training.cross_reader.encode import Encoder  # noqa: E402
from training.cross_reader.model import CrossReader  # noqa: E402
from training.cross_reader.model import Encoder as Network  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402
from training.cross_reader.train import Run, Stream, average_checkpoints, freeze, prefetch, schedule  # noqa: E402
from training.encoder import save  # noqa: E402

from research import contamination  # noqa: E402

ROWS = [
    Row(
        source="s",
        group="squad",
        question="which river?",
        title="town",
        text="the town lies on the Rhine ten.",
        spans=((21, 26),),
        answerable=True,
        relevant=True,
    ),
    Row(source="s", group="nli", question="it lies.", title="", text="it lies.", support=(0,)),
]
HELD_OUT = Row(
    source="s", group="squad", question="which one?", title="", text="one.", answerable=False
)


def make_settings(folder: Path, **other: object) -> Namespace:
    fields = {
        "out": folder,
        "rate": 1e-3,
        "device": "cpu",
        "bf16": False,
        "minutes": 1.0,
        "rows": 0,
    }
    return Namespace(**fields | {"workers": 0, "say_seconds": 0.0} | other)


def make_run(folder: Path, **other: object) -> Run:
    torch.manual_seed(1)
    return Run(CrossReader(Network(tiny.make_weights(), 0.0)), make_settings(folder, **other))


def make_stream(folder: Path) -> Stream:
    blocks = Blocks(ROWS, {"squad": 1, "nli": 1}, 1, Limits(64, 64))
    return Stream(blocks, Encoder(tiny.write_tokenizer(folder), ROWS), 0, 64)


def learn_times(learner: Run, times: int = 1) -> list[dict[str, float]]:
    batch = Encoder(tiny.write_tokenizer(learner.settings.out)).batch(ROWS, limit=64, seed=None)
    losses = [learner.learn(batch, len(ROWS)) for _ in range(times)]
    return [{name: value.item() for name, value in loss.items()} for loss in losses]


def test_steps_lower_the_loss(tmp_path: Path) -> None:
    learner = make_run(tmp_path)
    learner.progress.seconds = 60 * 0.05  # the end of the warm-up

    first, *_, last = learn_times(learner, 8)

    assert last["span"] < first["span"] / 2
    assert last["support"] < first["support"]


def test_a_run_continues_where_it_stopped(tmp_path: Path) -> None:
    learner = make_run(tmp_path)
    learn_times(learner)
    learner.progress.block = 3
    learner.save()
    expected = learn_times(learner)

    again = make_run(tmp_path)
    again.resume()

    assert (again.progress.block, again.progress.step, again.progress.rows) == (3, 1, 2)
    assert learn_times(again) == expected


def test_a_new_run_starts_at_zero(tmp_path: Path) -> None:
    learner = make_run(tmp_path)
    learner.resume()

    assert learner.progress.step == 0


def test_a_run_with_a_row_limit_ends_there(tmp_path: Path) -> None:
    learner = make_run(tmp_path, minutes=0.0, rows=7)

    train.train(learner, make_stream(tmp_path))

    assert 7 <= learner.progress.rows < 7 + len(ROWS)


def test_a_run_with_a_time_limit_ends_there_and_reports_its_progress(tmp_path: Path) -> None:
    learner = make_run(tmp_path, minutes=1 / 60)

    train.train(learner, make_stream(tmp_path))

    points = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert learner.share() >= 1
    assert points
    assert points[-1]["rows"] <= learner.progress.rows
    for line in points:
        share = line["seconds"] / 1.0
        assert line["reach"] == pytest.approx(line["rows"] / share, rel=0.05, abs=1)
        assert {"span", "support", "rests"} <= line.keys()
    saved = torch.load(tmp_path / "last.pt", weights_only=True)["progress"]
    assert saved["step"] == learner.progress.step


def test_prefetched_batches_keep_their_order(tmp_path: Path) -> None:
    batches = list(islice(prefetch(make_stream(tmp_path), 2), 5))

    plain = list(islice(make_stream(tmp_path), 5))
    assert [block for block, _, _ in batches] == [block for block, _, _ in plain]
    assert all(a.ids.equal(b.ids) for (_, _, a), (_, _, b) in zip(batches, plain, strict=True))


def test_a_run_may_start_from_the_mean_of_checkpoints(tmp_path: Path) -> None:
    files = []
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        torch.manual_seed(seed)
        trained_run = Run(
            CrossReader(Network(tiny.make_weights(), 0.0)), make_settings(tmp_path / str(seed))
        )
        trained_run.save()
        files.append(tmp_path / str(seed) / "last.pt")
    states = [torch.load(file, weights_only=True)["model"] for file in files]
    model = make_run(tmp_path).model

    average_checkpoints(model, files)

    assert not states[0]["span.weight"].equal(states[1]["span.weight"])
    middle = (states[0]["span.weight"] + states[1]["span.weight"]) / 2
    assert model.state_dict()["span.weight"].allclose(middle)


def test_the_learning_rate_rises_and_falls_to_nothing() -> None:
    assert 0 < schedule(0.0) < schedule(0.02) < schedule(0.04) == 1.0
    assert schedule(0.52) == pytest.approx(0.5)
    assert schedule(1.0) == 0
    assert schedule(1.2) == 0


@pytest.mark.parametrize("layers", [-1, 0, 1])
def test_frozen_layers_do_not_change(tmp_path: Path, layers: int) -> None:
    torch.manual_seed(1)
    model = CrossReader(Network(tiny.make_weights(), 0.0))
    freeze(model, layers)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    learner = Run(model, make_settings(tmp_path))
    learner.progress.seconds = 60 * 0.05

    learn_times(learner, 2)

    moved = {name for name, value in model.state_dict().items() if not value.equal(before[name])}
    assert ("encoder.embeddings.LayerNorm.weight" in moved) == (layers < 0)
    assert any(name.startswith("encoder.encoder.layer.0.") for name in moved) == (layers < 1)
    assert any(name.startswith("encoder.encoder.layer.1.") for name in moved)
    assert "span.weight" in moved


def test_heads_learn_faster_than_the_layers_below(tmp_path: Path) -> None:
    learner = make_run(tmp_path)
    rates = {
        id(parameter): group["lr"]
        for group in learner.optimizer.param_groups
        for parameter in group["params"]
    }
    named = {name: rates[id(parameter)] for name, parameter in learner.model.named_parameters()}

    ordered = [
        named["encoder.embeddings.word_embeddings.weight"],
        named["encoder.encoder.layer.0.output.dense.weight"],
        named["encoder.encoder.layer.1.output.dense.weight"],
        named["span.weight"],
    ]
    assert ordered == sorted(set(ordered))


@pytest.mark.parametrize("everything", [False, True])
def test_the_command_trains_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, everything: bool
) -> None:
    pack.write(tmp_path / "pack.jsonl.gz", Split(train=ROWS, development=[HELD_OUT]))
    save(tmp_path, tiny.make_weights())
    tiny.write_tokenizer(tmp_path)
    command = ["train", "--pack", str(tmp_path / "pack.jsonl.gz"), "--start", str(tmp_path)]
    command += ["--out", str(tmp_path / "run"), "--threads", "1", "--frozen", "0"]
    command += ["--everything"] * everything

    for minutes in ("0.01", "0.02"):
        monkeypatch.setattr("sys.argv", [*command, "--minutes", minutes])
        train.main()

    progress = torch.load(tmp_path / "run" / "last.pt", weights_only=True)["progress"]
    assert progress["seconds"] >= 1.2
    learned = contamination.read_manifest(tmp_path / "run" / "learned.json.gz")
    assert learned.questions == contamination.fingerprint_all(
        row.question for row in (*ROWS, *([HELD_OUT] if everything else []))
    )
