import math

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="torch is needed for training only")

from tests.training import tiny  # noqa: E402
from training.cross_reader.model import HEADS, SCORES, CrossReader, Encoder  # noqa: E402

from fathom.models.reading import SCORES as READ_SCORES  # noqa: E402

Floats = NDArray[np.float64]
IDS = np.asarray([[0, 5, 9, 2, 6, 2], [0, 7, 2, 12, 2, 1]])
KINDS = np.asarray([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]])
MASK = IDS != 1


def normalize(value: Floats, name: str, weights: tiny.Weights) -> Floats:
    spread = np.sqrt(value.var(-1, keepdims=True) + 1e-12)
    scaled: Floats = (value - value.mean(-1, keepdims=True)) / spread
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def run_by_hand(weights: tiny.Weights, ids: NDArray[np.int64], kinds: NDArray[np.int64]) -> Floats:
    """Run one row through BERT as Devlin et al. 2019 define it."""

    def dense(value: Floats, name: str) -> Floats:
        product: Floats = value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return product

    hidden: Floats = normalize(
        weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
        + weights["embeddings.token_type_embeddings.weight"][kinds],
        "embeddings.LayerNorm",
        weights,
    )
    size = tiny.WIDTH // HEADS
    erf = np.vectorize(math.erf)
    for number in range(tiny.LAYERS):
        prefix = f"encoder.layer.{number}"
        query, key, value = (
            dense(hidden, f"{prefix}.attention.self.{part}") for part in ("query", "key", "value")
        )
        context = np.empty_like(hidden)
        for head in range(HEADS):
            head_part = slice(head * size, (head + 1) * size)
            weight = np.exp(query[:, head_part] @ key[:, head_part].T / np.sqrt(size))
            context[:, head_part] = weight / weight.sum(-1, keepdims=True) @ value[:, head_part]
        closed = dense(context, f"{prefix}.attention.output.dense") + hidden
        hidden = normalize(closed, f"{prefix}.attention.output.LayerNorm", weights)
        wide = dense(hidden, f"{prefix}.intermediate.dense")
        wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
        closed = dense(wide, f"{prefix}.output.dense") + hidden
        hidden = normalize(closed, f"{prefix}.output.LayerNorm", weights)
    return hidden


def run_model(model: Encoder) -> Floats:
    with torch.no_grad():
        out = model(torch.tensor(IDS), torch.tensor(KINDS), torch.tensor(MASK))
    output: Floats = out.double().numpy()
    return output


def test_the_encoder_is_bert() -> None:
    weights = tiny.make_weights()

    output = run_model(Encoder(weights, 0.1).eval())

    assert output.shape == (2, 6, tiny.WIDTH)
    for row in range(2):
        length = int(MASK[row].sum())
        expected = run_by_hand(weights, IDS[row, :length], KINDS[row, :length])
        np.testing.assert_allclose(output[row, :length], expected, atol=1e-4)


def test_the_encoder_is_the_librarys_bert() -> None:
    transformers = pytest.importorskip("transformers", reason="compares with its BERT")
    config = transformers.BertConfig(
        vocab_size=len(tiny.PIECES),
        hidden_size=tiny.WIDTH,
        num_hidden_layers=tiny.LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=tiny.WIDE,
        max_position_embeddings=tiny.PLACES,
    )
    other = transformers.BertModel(config, add_pooling_layer=False).eval()
    weights = {name: torch.tensor(value) for name, value in tiny.make_weights().items()}
    other.load_state_dict(weights, strict=False)
    with torch.no_grad():
        expected = other(
            torch.tensor(IDS), torch.tensor(MASK).long(), torch.tensor(KINDS)
        ).last_hidden_state

    output = run_model(Encoder(tiny.make_weights(), 0.0).eval())

    np.testing.assert_allclose(output[MASK], expected.numpy()[MASK], atol=1e-4)


def test_a_pair_has_eight_scores_and_a_token_three() -> None:
    torch.manual_seed(1)
    model = CrossReader(Encoder(tiny.make_weights(), 0.0)).eval()
    with torch.no_grad():
        both = model(torch.tensor(IDS), torch.tensor(KINDS), torch.tensor(MASK))
        alone = model(
            torch.tensor(IDS[1:, :5]), torch.tensor(KINDS[1:, :5]), torch.ones(1, 5).bool()
        )

    assert both.scores.shape == (2, len(SCORES))
    assert both.starts.shape == both.ends.shape == both.rests.shape == (2, 6)
    # Padding changes nothing.
    torch.testing.assert_close(both.scores[1], alone.scores[0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(both.starts[1, :5], alone.starts[0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_sizes_are_those_of_the_weights(layers: int) -> None:
    model = Encoder(tiny.make_weights(layers), 0.0)

    assert (model.layers, model.width) == (layers, tiny.WIDTH)


def test_dropout_is_for_training_only() -> None:
    model = Encoder(tiny.make_weights(), 0.5)

    assert np.array_equal(run_model(model.eval()), run_model(model.eval()))
    assert not np.array_equal(run_model(model.train()), run_model(model.train()))


def test_both_sides_name_the_scores_alike() -> None:
    assert SCORES == READ_SCORES
