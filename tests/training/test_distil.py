import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")

from tests.training import tiny  # noqa: E402
from training.cross_reader.distil import Teachers, compute_soft_losses, mix_losses  # noqa: E402
from training.cross_reader.encode import Batch, Encoder  # noqa: E402
from training.cross_reader.model import CrossReader  # noqa: E402
from training.cross_reader.model import Encoder as Network  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402

ANSWERED = Row(
    source="s",
    group="g",
    question="which river?",
    title="",
    text="one two three four",
    spans=((4, 7),),
    answerable=True,
    relevant=True,
    yesno=2,
)
CLAIM = Row(source="s", group="g", question="it lies", title="", text="one", support=(0,))


@pytest.fixture
def batch(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    encoder = Encoder(tiny.write_tokenizer(tmp_path_factory.mktemp("tokens")))
    return encoder.batch([ANSWERED, CLAIM], limit=64, seed=None)


def make_network(seed: int) -> CrossReader:
    torch.manual_seed(seed)
    network = CrossReader(Network(tiny.make_weights(seed=seed), 0.0))
    network.eval()
    return network


def test_the_targets_of_two_teachers_are_their_mean(batch: Batch) -> None:
    first, other, both = (Teachers([*models]).say(batch) for models in _make_groups())

    for name, target in both.items():
        assert torch.allclose(target, (first[name] + other[name]) / 2, atol=1e-6)
    assert torch.allclose(both["starts"].sum(-1), torch.ones(2))
    assert torch.allclose(both["support"].sum(-1), torch.ones(2))


def _make_groups() -> list[list[CrossReader]]:
    return [[make_network(1)], [make_network(2)], [make_network(1), make_network(2)]]


def test_a_student_equal_to_its_teacher_has_no_loss(batch: Batch) -> None:
    teacher = make_network(1)
    targets = Teachers([teacher]).say(batch)
    teacher.requires_grad_(requires_grad=True)
    outputs = teacher(batch.ids, batch.kinds, batch.mask)
    loss = sum(compute_soft_losses(outputs, targets, batch).values())
    gradients = torch.autograd.grad(loss, list(teacher.scores.parameters()))

    assert all(gradient.abs().max() < 1e-4 for gradient in gradients)

    other = make_network(2)
    pupil = other(batch.ids, batch.kinds, batch.mask)
    assert sum(compute_soft_losses(pupil, targets, batch).values()) > loss


def test_only_labelled_rows_are_distilled(batch: Batch) -> None:
    targets = Teachers([make_network(1)]).say(batch)
    outputs = make_network(2)(batch.ids, batch.kinds, batch.mask)
    whole = compute_soft_losses(outputs, targets, batch)
    first = {name: value[:1] for name, value in targets.items()}
    alone = compute_soft_losses(
        type(outputs)(
            starts=outputs.starts[:1],
            ends=outputs.ends[:1],
            rests=outputs.rests[:1],
            scores=outputs.scores[:1],
        ),
        first,
        _take_first(batch),
    )

    assert torch.isclose(whole["span"], alone["span"])
    assert torch.isclose(whole["yesno"], alone["yesno"])
    assert alone["support"] == 0 < whole["support"]


def _take_first(batch: Batch) -> Batch:
    return Batch(**{name: getattr(batch, name)[:1] for name in Batch.__slots__})


def test_a_wrong_teacher_is_ignored(batch: Batch) -> None:
    targets = Teachers([make_network(1)]).say(batch)
    outputs = make_network(2)(batch.ids, batch.kinds, batch.mask)
    targets["yesno"][0] = torch.tensor([0.0, 1.0, 0.0])
    targets["answerable"][0] = 0.0
    targets["starts"][0] = targets["ends"][0] = batch.places[0] / batch.places[0].sum()
    targets["starts"][0][batch.starts[0]] = targets["ends"][0][batch.ends[0]] = 0.0

    soft = compute_soft_losses(outputs, targets, batch)

    assert soft["yesno"] == soft["answerable"] == soft["span"] == 0 < soft["support"]


def test_the_soft_loss_is_added_to_the_hard_one() -> None:
    hard = {"span": torch.tensor(1.0), "rests": torch.tensor(3.0)}

    losses = mix_losses(hard, {"span": torch.tensor(5.0)}, 0.25)

    assert {name: value.item() for name, value in losses.items()} == {"span": 2.25, "rests": 3.0}
