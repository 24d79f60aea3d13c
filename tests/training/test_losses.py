import math

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")
pytest.importorskip("transformers", reason="transformers is needed for training only")

from training.cross_reader.encode import UNKNOWN  # noqa: E402
from training.cross_reader.losses import any_of_loss, binary_loss  # noqa: E402


def test_any_acceptable_class_is_right() -> None:
    # Four equal classes of which two are acceptable; the second row knows nothing.
    right = torch.tensor([[True, False, True, False], [False] * 4])

    assert any_of_loss(torch.zeros(2, 4), right).item() == pytest.approx(math.log(2))


def test_nothing_known_costs_nothing_and_still_has_a_gradient() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    loss = any_of_loss(logits, torch.zeros(2, 3, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(loss, logits)

    assert loss.item() == 0
    assert gradient.abs().sum() == 0


def test_unknown_labels_do_not_count() -> None:
    known = torch.tensor([1, UNKNOWN, 0])

    # -log sigmoid(0) twice.
    assert binary_loss(torch.tensor([0.0, 9.0, 0.0]), known).item() == pytest.approx(
        2 * math.log(2)
    )
