import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from fathom.errors import ModelError, SettingsError
from fathom.models.runtime import (
    LazyRuntime,
    Runtime,
    choose_lanes,
    count_cores,
    count_physical_cores,
    group_batches,
    hash_file,
    load_runtime,
)

MODEL = Path(__file__).parents[2] / "src/fathom/models/resources/all-MiniLM-L6-v2.onnx"
IDS = np.array([[101, 7592, 2088, 102], [101, 7953, 1037, 102]])


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    outputs = {load_runtime(MODEL, threads=n).run({"input_ids": IDS}).tobytes() for n in (1, 2, 5)}

    assert len(outputs) == 1


def test_a_lazily_loaded_model_is_loaded_once_and_gives_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = load_runtime(MODEL, threads=1).run({"input_ids": IDS})
    loads: list[Path] = []

    def count_load(model: Path, *, threads: int) -> Runtime:
        loads.append(model)
        return load_runtime(model, threads=threads)

    monkeypatch.setattr("fathom.models.runtime.load_runtime", count_load)
    late = LazyRuntime(MODEL, 1, frozenset({"input_ids"}))
    assert not loads
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda _: late.run({"input_ids": IDS}), range(8)))

    assert {output.tobytes() for output in outputs} == {exact.tobytes()}
    assert choose_lanes(late)[1] == 1
    assert loads == [MODEL]


def test_a_lazily_loaded_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    file = tmp_path / "none.onnx"
    file.write_bytes(b"none")

    with pytest.raises(ModelError, match=r"none\.onnx.*cannot be loaded"):
        LazyRuntime(file, 1, frozenset({"input_ids"})).run({"input_ids": IDS})


COUNT = """
import sys
from pathlib import Path
from fathom.models.runtime import load_runtime

def threads():
    return len(list(Path("/proc/self/task").iterdir()))

one = load_runtime(Path(sys.argv[1]), threads=1)
before = threads()
every = load_runtime(Path(sys.argv[1]), threads=int(sys.argv[2]))
print(threads() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize("threads", [0, 5000])
def test_by_default_and_at_most_it_uses_the_available_cores(threads: int) -> None:
    # In a process of its own: here the threads of other tests come and go.
    counted = [sys.executable, "-c", COUNT, str(MODEL), str(threads)]
    ran = subprocess.run(counted, capture_output=True, text=True, check=True)
    assert int(ran.stdout) == len(os.sched_getaffinity(0)) - 1


def test_openvino_is_near_onnxruntime() -> None:
    pytest.importorskip("openvino", reason="the extra openvino is not installed")
    exact = load_runtime(MODEL)
    other = load_runtime(MODEL, runtime="openvino")

    expected, right = (loaded.run({"input_ids": IDS}) for loaded in (exact, other))

    assert (exact.name, exact.precision) == ("onnxruntime", "fp32")
    assert other.name == "openvino"
    assert other.precision in {"fp32", "bf16", "fp16"}
    assert (expected * right).sum(axis=1).min() > 0.999


def test_an_unknown_runtime_names_the_known_ones() -> None:
    with pytest.raises(
        SettingsError, match=r"'cuda' is unknown: choose from onnxruntime, openvino"
    ):
        load_runtime(MODEL, runtime="cuda")


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("content", [None, b"", b"not a model", b"\x08\x09" * 1000])
def test_a_wrong_file_is_named_in_one_line(
    tmp_path: Path, runtime: str, content: bytes | None
) -> None:
    if runtime == "openvino":
        pytest.importorskip("openvino", reason="the extra openvino is not installed")
    path = tmp_path / "wrong.onnx"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ModelError, match=r"wrong\.onnx.*reinstall") as caught:
        load_runtime(path, runtime=runtime)

    assert "\n" not in str(caught.value)


def test_the_sha256_of_a_file_is_computed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc" * 100_000)

    assert hash_file(path) == hashlib.sha256(b"abc" * 100_000).hexdigest()


def test_the_sha256_of_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"gone\.onnx.*No such file"):
        hash_file(tmp_path / "gone.onnx")


def test_a_batch_has_rows_of_one_length_and_keeps_to_its_tokens() -> None:
    lengths = [3, 5, 3, 3, 9, 5]
    batches = list(group_batches(lengths, 6))
    assert batches == [[0, 2], [3], [1], [5], [4]]
    assert list(group_batches([], 6)) == []


def test_a_core_with_two_threads_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 1 <= count_physical_cores() <= count_cores()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5})
    for number, siblings in ((0, "0,4"), (1, "1,5"), (4, "0,4"), (5, "1,5")):
        (tmp_path / str(number)).write_text(f"{siblings}\n")
    monkeypatch.setattr("fathom.models.runtime._SIBLINGS", f"{tmp_path}/{{}}")
    assert count_physical_cores() == 2
    (tmp_path / "5").unlink()  # a system that does not say it
    assert count_physical_cores() == 3


def test_sums_of_products_of_bytes_do_not_overflow(tmp_path: Path) -> None:
    # On a processor without VNNI, 255 * 127 + 255 * 127 is cut to 32767 unless it is avoided.
    rows, width = np.full((2, 64), 255, dtype=np.int64), 16
    weights = numpy_helper.from_array(np.full((64, width), 127, dtype=np.int8), "weights")
    nodes = [
        helper.make_node("Cast", ["numbers"], ["bytes"], to=TensorProto.UINT8),
        helper.make_node("MatMulInteger", ["bytes", "weights"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["out"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "sums",
        [helper.make_tensor_value_info("numbers", TensorProto.INT64, ["rows", 64])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["rows", width])],
        [weights],
    )
    file = tmp_path / "sums.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file
    )

    runtime: Any = load_runtime(file, threads=1)
    assert (runtime.run({"numbers": rows}) == 64 * 255 * 127).all()
    # A processor with VNNI passes without the option, so that is looked at too.
    options = runtime._session.get_session_options()
    assert options.get_session_config_entry("session.x64quantprecision") == "1"
