import math

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")

from tests.training import tiny  # noqa: E402
from training.cross_reader.encode import UNKNOWN, Encoder  # noqa: E402
from training.cross_reader.losses import (  # noqa: E402
    WEIGHTS,
    compute_any_of_loss,
    compute_binary_loss,
    compute_losses,
    compute_span_loss,
    compute_token_loss,
    weigh_losses,
)
from training.cross_reader.model import SCORES, Outputs  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402


def test_any_acceptable_class_is_right() -> None:
    # Four equal classes of which two are acceptable; the second row knows nothing.
    right = torch.tensor([[True, False, True, False], [False] * 4])

    assert compute_any_of_loss(torch.zeros(2, 4), right).item() == pytest.approx(math.log(2))


def test_unknown_rows_cost_nothing_and_still_have_a_gradient() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    loss = compute_any_of_loss(logits, torch.zeros(2, 3, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(loss, logits)

    assert loss.item() == 0
    assert gradient.abs().sum() == 0


def test_unknown_labels_do_not_count() -> None:
    labels = torch.tensor([1, UNKNOWN, 0])

    # -log sigmoid(0) twice.
    assert compute_binary_loss(torch.tensor([0.0, 9.0, 0.0]), labels).item() == pytest.approx(
        2 * math.log(2)
    )


def test_the_tokens_of_a_row_weigh_as_one_row() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 9.0], [0.0, 7.0, 7.0, 7.0], [5.0, 5.0, 5.0, 5.0]])
    right = torch.full((3, 4), UNKNOWN)
    right[0, :3] = torch.tensor([1, 0, 1])
    right[1, 0] = 0

    # The mean over the known tokens of the first and of the second row; the third knows none.
    assert compute_token_loss(logits, right).item() == pytest.approx(2 * math.log(2))


def make_outputs(rows: int, tokens: int) -> Outputs:
    return Outputs(
        starts=torch.zeros(rows, tokens),
        ends=torch.zeros(rows, tokens),
        rests=torch.zeros(rows, tokens),
        scores=torch.zeros(rows, len(SCORES)),
    )


def test_spans_are_normalized_over_their_allowed_places(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    row = Row(
        source="s",
        group="g",
        question="which?",
        title="",
        text="one two three",
        spans=((4, 7),),
        answerable=True,
    )
    encoder = Encoder(tiny.write_tokenizer(tmp_path_factory.mktemp("tokens")))
    batch = encoder.batch([row], limit=64, seed=None)

    # Three tokens and the mark.
    assert compute_span_loss(make_outputs(*batch.ids.shape), batch).item() == pytest.approx(
        math.log(4)
    )


def test_every_task_is_summed_over_its_labelled_rows(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    claim = Row(source="s", group="g", question="it", title="", text="one", support=(0,))
    row = Row(source="s", group="g", question="it", title="", text="one", yesno=1, relevant=True)
    encoder = Encoder(tiny.write_tokenizer(tmp_path_factory.mktemp("tokens")))
    batch = encoder.batch([claim, row, row], limit=64, seed=None)

    parts = compute_losses(make_outputs(*batch.ids.shape), batch)

    assert parts["support"].item() == pytest.approx(math.log(3))
    assert parts["yesno"].item() == pytest.approx(2 * math.log(3))
    assert parts["relevance"].item() == pytest.approx(2 * math.log(2))
    assert parts["answerable"].item() == parts["rests"].item() == parts["span"].item() == 0
    expected = sum(WEIGHTS[name] * part.item() for name, part in parts.items()) / 3
    assert weigh_losses(parts, 3).item() == pytest.approx(expected)
