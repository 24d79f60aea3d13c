"""A cache of model files: those who share it read each file once; others read for themselves."""

import os
from pathlib import Path

import pytest

from fathom.assembly.models import Models
from fathom.errors import ModelError
from fathom.models.cache import ModelCache, load_through
from fathom.models.embedder import SHIPPED, SHIPPED_INT8, load_embedder
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.reader_loading import load_shipped_reader
from fathom.models.runtime import hash_file
from fathom.settings import Settings
from fathom.types import Chunk, Span

CHUNK = Chunk(id="d#0", document_id="d", text="Paris is old.", span=Span(0, 13), ordinal=0)


class CountingLoader:
    """A loader that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, file: Path, *, times: int = 1) -> str:
        self.calls += 1
        return file.read_text() * times


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.write_text("a")
    return path


def test_a_file_is_read_once_for_each_loader_and_its_options(model_file: Path) -> None:
    cache, load, other = ModelCache(), CountingLoader(), CountingLoader()
    assert [cache.load(load, model_file), cache.load(load, model_file)] == ["a", "a"]
    assert [cache.load(load, model_file, times=2), cache.load(other, model_file)] == ["aa", "a"]
    assert (load.calls, other.calls) == (2, 1)


def test_a_file_that_changed_is_read_again(model_file: Path) -> None:
    cache = ModelCache()
    cache.load(CountingLoader(), model_file)
    digest = cache.load(hash_file, model_file)
    before = model_file.stat().st_mtime_ns
    model_file.write_text("b")
    os.utime(model_file, ns=(before, before + 1))
    assert cache.load(hash_file, model_file) != digest


def test_without_a_cache_each_call_reads(model_file: Path) -> None:
    load = CountingLoader()
    assert [load_through(None, load, model_file, times=3) for _ in range(2)] == ["aaa", "aaa"]
    assert load.calls == 2


def test_an_unreadable_file_is_reported_by_the_loader(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="absent"):
        ModelCache().load(hash_file, tmp_path / "absent")


def test_two_readers_of_one_cache_share_the_weights_and_read_alike() -> None:
    cache = ModelCache()
    first, two = (load_shipped_reader(threads=1, cache=cache) for _ in range(2))
    alone = load_shipped_reader(threads=1)
    assert first._runtime is two._runtime is not alone._runtime
    readings = [reader.open_session("Where?").read([CHUNK]) for reader in (first, two, alone)]
    assert readings[0] == readings[1] == readings[2]


@pytest.mark.parametrize("name", [SHIPPED, SHIPPED_INT8])
def test_two_embedders_of_one_cache_share_the_vocabulary_and_embed_alike(name: str) -> None:
    cache = ModelCache()
    first, two = (load_embedder(name, threads=1, cache=cache) for _ in range(2))
    alone = load_embedder(name, threads=1)
    assert isinstance(first, OnnxEmbedder)
    assert isinstance(two, OnnxEmbedder)
    assert isinstance(alone, OnnxEmbedder)
    assert first._tokens is two._tokens is not alone._tokens
    rows = [embedder.embed(["Paris is old."]).tolist() for embedder in (first, two, alone)]
    assert rows[0] == rows[1] == rows[2]


def test_models_of_other_settings_share_given_parts_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Models, "cache", None)
    cache = ModelCache()
    models = Models(Settings(), cache=cache)
    assert models.with_connect(Settings(offline=True), lambda _: NotImplemented).cache is cache
    assert Models(Settings()).cache is None
