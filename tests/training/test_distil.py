import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")

from tests.training import tiny  # noqa: E402
from training.cross_reader.distil import Teachers, mixed, soft_losses  # noqa: E402
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
    encoder = Encoder(tiny.pairs(tmp_path_factory.mktemp("tokens")))
    return encoder.batch([ANSWERED, CLAIM], limit=64, seed=None)


def reader(seed: int) -> CrossReader:
    torch.manual_seed(seed)
    made = CrossReader(Network(tiny.weights(seed=seed), 0.0))
    made.eval()
    return made


def test_what_two_say_is_their_mean_and_sums_to_one(batch: Batch) -> None:
    one, other, both = (Teachers([*models]).say(batch) for models in _groups())

    for name, said in both.items():
        assert torch.allclose(said, (one[name] + other[name]) / 2, atol=1e-6)
    assert torch.allclose(both["starts"].sum(-1), torch.ones(2))
    assert torch.allclose(both["support"].sum(-1), torch.ones(2))


def _groups() -> list[list[CrossReader]]:
    return [[reader(1)], [reader(2)], [reader(1), reader(2)]]


def test_a_pupil_that_says_the_same_has_nothing_left_to_learn(batch: Batch) -> None:
    teacher = reader(1)
    said = Teachers([teacher]).say(batch)
    teacher.requires_grad_(requires_grad=True)
    outputs = teacher(batch.ids, batch.kinds, batch.mask)
    loss = sum(soft_losses(outputs, said, batch).values())
    gradients = torch.autograd.grad(loss, list(teacher.scores.parameters()))

    assert all(gradient.abs().max() < 1e-4 for gradient in gradients)

    other = reader(2)
    pupil = other(batch.ids, batch.kinds, batch.mask)
    assert sum(soft_losses(pupil, said, batch).values()) > loss


def test_only_rows_whose_label_is_known_are_taught(batch: Batch) -> None:
    said = Teachers([reader(1)]).say(batch)
    outputs = reader(2)(batch.ids, batch.kinds, batch.mask)
    whole = soft_losses(outputs, said, batch)
    first = {name: value[:1] for name, value in said.items()}
    alone = soft_losses(
        type(outputs)(
            starts=outputs.starts[:1],
            ends=outputs.ends[:1],
            rests=outputs.rests[:1],
            scores=outputs.scores[:1],
        ),
        first,
        _first(batch),
    )

    assert torch.isclose(whole["span"], alone["span"])
    assert torch.isclose(whole["yesno"], alone["yesno"])
    assert alone["support"] == 0 < whole["support"]


def _first(batch: Batch) -> Batch:
    return Batch(**{name: getattr(batch, name)[:1] for name in Batch.__slots__})


def test_a_teacher_is_not_listened_to_where_it_is_wrong(batch: Batch) -> None:
    said = Teachers([reader(1)]).say(batch)
    outputs = reader(2)(batch.ids, batch.kinds, batch.mask)
    said["yesno"][0] = torch.tensor([0.0, 1.0, 0.0])
    said["answerable"][0] = 0.0
    said["starts"][0] = said["ends"][0] = batch.places[0] / batch.places[0].sum()
    said["starts"][0][batch.starts[0]] = said["ends"][0][batch.ends[0]] = 0.0

    soft = soft_losses(outputs, said, batch)

    assert soft["yesno"] == soft["answerable"] == soft["span"] == 0 < soft["support"]


def test_the_soft_loss_comes_beside_the_labels() -> None:
    hard = {"span": torch.tensor(1.0), "rests": torch.tensor(3.0)}

    found = mixed(hard, {"span": torch.tensor(5.0)}, 0.25)

    assert {name: value.item() for name, value in found.items()} == {"span": 2.25, "rests": 3.0}
