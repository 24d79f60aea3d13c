from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")
pytest.importorskip("safetensors", reason="safetensors is needed for exporting only")

from tests.training import tiny  # noqa: E402
from training.cross_reader import export  # noqa: E402
from training.cross_reader.export import build_model  # noqa: E402
from training.cross_reader.model import SCORES, CrossReader, Encoder  # noqa: E402

from fathom.models.cross_reader import InputShape  # noqa: E402
from fathom.models.reader_loading import load_shipped_reader  # noqa: E402
from fathom.models.runtime import Output, load_runtime  # noqa: E402
from fathom.types import Chunk, Span  # noqa: E402

IDS = np.asarray([[0, 5, 2, 6, 9, 2], [0, 7, 2, 12, 4, 2]])
KINDS = np.asarray([[0, 0, 0, 1, 1, 1]] * 2)


def make_network(layers: int = tiny.LAYERS) -> CrossReader:
    torch.manual_seed(1)
    model: CrossReader = CrossReader(Encoder(tiny.make_weights(layers), 0.0)).eval()
    return model


def compute_expected(model: CrossReader) -> Output:
    with torch.no_grad():
        out = model(torch.tensor(IDS), torch.tensor(KINDS), torch.ones(IDS.shape).bool())
    output: Output = torch.cat([out.scores, out.starts, out.ends, out.rests], dim=1).numpy()
    return output


def export_network(model: CrossReader, precision: str) -> bytes:
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    data: bytes = build_model(weights, precision).SerializeToString(deterministic=True)
    return data


def run_file(path: Path, data: bytes, rows: slice = slice(None)) -> Output:
    path.write_bytes(data)
    return load_runtime(path, threads=1).run(
        {"input_ids": IDS[rows], "token_type_ids": KINDS[rows]}
    )


@pytest.mark.parametrize(
    ("precision", "error"), [("fp32", 1e-4), ("fp16", 2e-2), ("fp16+int8", 4e-2)]
)
def test_the_file_gives_the_output_of_the_network(
    tmp_path: Path, precision: str, error: float
) -> None:
    model = make_network()
    data = export_network(model, precision)

    output = run_file(tmp_path / "model.onnx", data)

    assert output.shape == (2, len(SCORES) + 3 * IDS.shape[1])
    np.testing.assert_allclose(output, compute_expected(model), atol=error * np.abs(output).max())
    assert data == export_network(model, precision)


def test_eight_bit_products_are_near(tmp_path: Path) -> None:
    model = make_network()
    expected_output = compute_expected(model)
    data = export_network(model, "int8")

    output = np.concatenate(
        [run_file(tmp_path / "model.onnx", data, slice(row, row + 1)) for row in (0, 1)]
    )

    np.testing.assert_allclose(output, expected_output, atol=0.15 * np.abs(expected_output).max())
    assert np.corrcoef(output.ravel(), expected_output.ravel())[0, 1] > 0.99
    assert len(data) < len(export_network(model, "fp32")) / 2


@pytest.mark.parametrize("layers", [1, 4])
def test_the_file_has_as_many_layers_as_the_network(tmp_path: Path, layers: int) -> None:
    model = make_network(layers)

    output = run_file(tmp_path / "model.onnx", export_network(model, "fp32"))

    np.testing.assert_allclose(output, compute_expected(model), atol=1e-4 * np.abs(output).max())


@pytest.mark.parametrize(("precision", "alone"), [("fp32", False), ("int8", True)])
def test_the_command_writes_a_folder_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, *, alone: bool
) -> None:
    model = make_network()
    torch.save({"model": model.state_dict()}, tmp_path / "last.pt")
    (tmp_path / "learned.json.gz").write_bytes(b"learned")
    tiny.write_tokenizer(tmp_path)
    command = ["export", "--checkpoint", str(tmp_path / "last.pt"), "--start", str(tmp_path)]
    command += ["--out", str(tmp_path / "m"), "--precision", precision, "--limit", "60"]
    monkeypatch.setattr("sys.argv", command)

    export.main()

    assert (tmp_path / "m" / "cross-reader.onnx").read_bytes() == export_network(model, precision)
    assert (tmp_path / "m" / "learned.json.gz").read_bytes() == b"learned"
    reader = load_shipped_reader(str(tmp_path / "m"), threads=1)
    assert reader._shape == InputShape(limit=60, alone=alone)
    text = "the town lies on the Rhine"
    chunk = Chunk(id="d", document_id="d", text=text, span=Span(0, len(text)), ordinal=0)
    (read,) = reader.open_session("which river?").read([chunk])
    assert read.spans
    assert all(text[s.span.start : s.span.end].strip() for s in read.spans)
