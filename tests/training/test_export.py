from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")
transformers = pytest.importorskip(
    "transformers", reason="transformers is needed for training only"
)

from training.cross_reader.export import build  # noqa: E402
from training.cross_reader.model import SCORES, WIDTH, CrossReader  # noqa: E402
from training.export_embedder import LAYERS  # noqa: E402

from fathom.models.reading import SCORES as READ_SCORES  # noqa: E402
from fathom.models.runtime import Output, load_runtime  # noqa: E402

IDS = np.asarray([[101, 2040, 102, 5754, 999, 102], [101, 2043, 102, 2, 1, 102]])
KINDS = np.asarray([[0, 0, 0, 1, 1, 1]] * 2)


@pytest.fixture(scope="module")
def model() -> CrossReader:
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=6000,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=12,
        intermediate_size=32,
        initializer_range=0.2,
    )
    made = CrossReader(transformers.BertModel(config, add_pooling_layer=False))
    made.eval()
    return made


def expected(model: CrossReader) -> Output:
    with torch.no_grad():
        out = model(torch.tensor(IDS), torch.tensor(KINDS), torch.ones(IDS.shape).bool())
    found: Output = torch.cat([out.scores, out.starts, out.ends], dim=1).numpy()
    return found


@pytest.mark.parametrize(("precision", "error"), [("fp32", 1e-4), ("fp16", 2e-2)])
def test_the_file_gives_what_the_network_gives(
    model: CrossReader, tmp_path: Path, precision: str, error: float
) -> None:
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    data = build(weights, precision).SerializeToString(deterministic=True)
    path = tmp_path / "model.onnx"
    path.write_bytes(data)

    found = load_runtime(path, threads=1).run({"input_ids": IDS, "token_type_ids": KINDS})

    assert found.shape == (2, len(SCORES) + 2 * IDS.shape[1])
    np.testing.assert_allclose(found, expected(model), atol=error * np.abs(found).max())
    assert data == build(weights, precision).SerializeToString(deterministic=True)


def test_both_sides_name_the_scores_alike() -> None:
    assert SCORES == READ_SCORES
