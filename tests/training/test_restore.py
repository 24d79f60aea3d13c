from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx", reason="onnx is needed for exporting only")
torch = pytest.importorskip("torch", reason="torch is needed for training only")
pytest.importorskip("safetensors", reason="safetensors is needed for exporting only")

from tests.training import tiny  # noqa: E402
from training.cross_reader.export import build_model, read_weights  # noqa: E402
from training.cross_reader.model import CrossReader, Encoder  # noqa: E402
from training.cross_reader.restore import main, restore_weights  # noqa: E402


def make_network() -> CrossReader:
    torch.manual_seed(1)
    model: CrossReader = CrossReader(Encoder(tiny.make_weights(), 0.0)).eval()
    return model


def export_network(precision: str) -> bytes:
    weights = {name: value.numpy() for name, value in make_network().state_dict().items()}
    data: bytes = build_model(weights, precision).SerializeToString(deterministic=True)
    return data


def test_a_restored_model_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cross-reader.onnx").write_bytes(export_network("int8"))
    out = tmp_path / "run" / "shipped.pt"
    monkeypatch.setattr("sys.argv", ["restore", "--model", str(tmp_path), "--out", str(out)])

    main()

    again = build_model(read_weights(out), "int8").SerializeToString(deterministic=True)
    assert again == export_network("int8")


def test_every_weight_is_restored_up_to_half_a_rounding_step() -> None:
    weights = restore_weights(onnx.load_model_from_string(export_network("int8")))
    original = {name: value.numpy() for name, value in make_network().state_dict().items()}

    assert weights.keys() == original.keys()
    for name, value in original.items():
        assert abs(weights[name] - value).max() <= abs(value).max() / 127 / 2 + 1e-6, name


def test_a_model_of_another_precision_is_refused() -> None:
    with pytest.raises(KeyError, match=r"words\.int8"):
        restore_weights(onnx.load_model_from_string(export_network("fp32")))
