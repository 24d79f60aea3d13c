"""Files of models are read once by those who share a cache, and by each of the others."""

import os
from pathlib import Path

import pytest

from fathom.assembly.models import Models
from fathom.errors import ModelError
from fathom.models.cache import ModelCache, load_through
from fathom.models.reader_loading import load_shipped_reader
from fathom.models.runtime import hash_file
from fathom.settings import Settings
from fathom.types import Chunk, Span

CHUNK = Chunk(id="d#0", document_id="d", text="Paris is old.", span=Span(0, 13), ordinal=0)


class Counting:
    """A loader that knows how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, file: Path, *, times: int = 1) -> str:
        self.calls += 1
        return file.read_text() * times


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.write_text("a")
    return path


def test_a_file_is_read_once_for_each_loader_and_its_options(file: Path) -> None:
    cache, load, other = ModelCache(), Counting(), Counting()
    assert [cache.load(load, file), cache.load(load, file)] == ["a", "a"]
    assert [cache.load(load, file, times=2), cache.load(other, file)] == ["aa", "a"]
    assert (load.calls, other.calls) == (2, 1)


def test_a_file_that_changed_is_read_again(file: Path) -> None:
    cache = ModelCache()
    cache.load(Counting(), file)
    digest = cache.load(hash_file, file)
    before = file.stat().st_mtime_ns
    file.write_text("b")
    os.utime(file, ns=(before, before + 1))
    assert cache.load(hash_file, file) != digest


def test_without_a_cache_each_call_reads(file: Path) -> None:
    load = Counting()
    assert [load_through(None, load, file, times=3) for _ in range(2)] == ["aaa", "aaa"]
    assert load.calls == 2


def test_a_file_that_cannot_be_read_is_told_as_the_loader_tells_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="absent"):
        ModelCache().load(hash_file, tmp_path / "absent")


def test_two_readers_of_one_cache_share_the_weights_and_read_alike() -> None:
    cache = ModelCache()
    one, two = (load_shipped_reader(threads=1, cache=cache) for _ in range(2))
    alone = load_shipped_reader(threads=1)
    assert one._runtime is two._runtime is not alone._runtime
    readings = [each.open_session("Where?").read([CHUNK]) for each in (one, two, alone)]
    assert readings[0] == readings[1] == readings[2]


def test_models_of_other_settings_share_what_they_are_given_and_nothing_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Models, "cache", None)
    cache = ModelCache()
    models = Models(Settings(), cache=cache)
    assert models.with_connect(Settings(offline=True), lambda _: NotImplemented).cache is cache
    assert Models(Settings()).cache is None
