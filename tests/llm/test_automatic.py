"""The model that `-m auto` takes: an Ollama that answers, else a pulled file, else none."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.factories import FEES, QUESTION, engine_at, index_fees, quote_first_sentence
from tests.llm.wire_formats import DIALECTS
from tests.real_model import RealModel
from tests.scripted_server import (
    Act,
    ReceivedRequest,
    Wire,
    find_closed_url,
    raw,
    serve,
    stalls,
    status,
)

from fathom.errors import UsageError
from fathom.llm.automatic import choose_model, find_model
from fathom.llm.catalogue import KNOWN_MODELS
from fathom.llm.local import find_weights
from fathom.llm.model_store import ModelStore
from fathom.settings import Settings
from fathom.usage import Budget

(OLLAMA,) = (dialect for dialect in DIALECTS if dialect.provider == "ollama")
GB = 1_000_000_000
TAGS = {
    "small:1b": {"size": GB, "details": {"family": "qwen2"}},
    "large:4b": {"size": 2 * GB, "details": {"family": "qwen3"}},
    "huge:70b": {"size": 40 * GB, "details": {"family": "llama"}},
    "nomic-embed-text:latest": {"size": 3 * GB, "details": {"family": "nomic-bert"}},
    "away:480b-cloud": {"size": 384, "remote_host": "https://ollama.com:443"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models, on a machine with 8 GB."""
    pytest.importorskip("langchain_ollama")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("fathom.llm.automatic.measure_memory", lambda: 8 * GB)
    place = ModelStore().folder
    place.mkdir(parents=True)
    return place


def act_as_ollama(tags: Mapping[str, object] = TAGS) -> Act:
    """List models, and answer each question by the first sentence of its first chunk."""

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        if request.path == "/api/tags":
            models = [{"name": name, "model": name, **TAGS[name]} for name in tags]
            await raw(json.dumps({"models": models}))(request, wire)
        else:
            await OLLAMA.stream_reply(quote_first_sentence(request.messages))(request, wire)

    return act


def make_settings(base_url: str | None = None, **more: object) -> Settings:
    base_url = (base_url or find_closed_url()).removesuffix("/v1")
    return Settings.model_validate({"llm": {"model": "auto", "base_url": base_url}, **more})


def make_weights(folder: Path, name: str, size: int) -> None:
    with (folder / f"{name}.gguf").open("wb") as file:
        file.write(b"GGUF")
        file.truncate(size)


def test_the_largest_model_of_ollama_that_fits_and_writes_is_taken() -> None:
    with serve(act_as_ollama(), act_as_ollama()) as server:
        settings = make_settings(server.base_url)
        assert find_model(settings).name == "ollama:large:4b"
        chosen, caution = choose_model(settings)
    assert (chosen.llm.model, caution) == ("ollama:large:4b", "")
    assert chosen.llm.base_url == settings.llm.base_url
    assert [request.path for request in server.requests] == ["/api/tags"] * 2


@pytest.mark.parametrize(
    "act",
    [
        raw("no JSON"),
        raw("[" * 100_000),
        raw('{"models": [{"name": 1}]}'),
        raw('{"models": [{"name": "m", "size": "large"}]}'),
        raw('{"models": {}}'),
        raw("[]"),
        status(404),
        stalls(),
        act_as_ollama(()),  # type: ignore[arg-type]
        act_as_ollama({"huge:70b": 0, "nomic-embed-text:latest": 0, "away:480b-cloud": 0}),
    ],
)
def test_a_server_without_a_usable_model_is_passed_over(act: Act, folder: Path) -> None:
    make_weights(folder, "tiny", 1_000)
    with serve(act) as server:
        begin = time.monotonic()
        assert find_model(make_settings(server.base_url)).name == "local:tiny"
        assert time.monotonic() - begin < 5


def test_the_largest_pulled_file_that_fits_is_taken(folder: Path) -> None:
    make_weights(folder, "tiny", 1_000)
    make_weights(folder, "larger", 2_000)
    make_weights(folder, "huge", 40 * GB)
    (folder / ".huge.0123456789ab.part").write_bytes(b"GGUF")
    chosen, caution = choose_model(make_settings())
    assert (chosen.llm.model, chosen.llm.base_url, caution) == ("local:larger", None, "")
    assert find_weights("local:larger") == folder / "larger.gguf"


def test_without_a_model_the_caution_names_the_next_step(folder: Path) -> None:
    settings = make_settings()
    chosen, caution = choose_model(settings)
    assert (chosen.llm.model, chosen.llm.base_url) == ("", None)
    assert caution == (
        f"no language model: no Ollama answers at {settings.llm.base_url}, and no file is pulled; "
        "run: fathom models pull qwen-1.5b"
    )
    make_weights(folder, "huge", 40 * GB)
    assert "no pulled file fits 8.0 GB of memory; run: " in choose_model(settings)[1]


def test_offline_asks_no_ollama(folder: Path) -> None:
    with serve(act_as_ollama()) as server:
        settings = make_settings(server.base_url, offline=True)
        assert choose_model(settings)[0].llm.model == ""
        make_weights(folder, "tiny", 1_000)
        assert choose_model(settings)[0].llm.model == "local:tiny"
    assert server.calls == 0


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="is not an address"):
        find_model(Settings.model_validate({"llm": {"model": "auto", "base_url": "ftp://h"}}))


def test_a_trace_names_the_model_itself_and_replays_without_looking_for_one(
    tmp_path: Path,
) -> None:
    index_fees(tmp_path)
    with serve(*[act_as_ollama()] * 4) as server:
        url = server.base_url.removesuffix("/v1")
        llm = {"model": "auto", "base_url": url, "skip_above_confidence": 2}
        with engine_at(tmp_path, llm=llm) as engine:
            answer = engine.ask(QUESTION, budget=Budget(seconds=100))
            trace = engine.trace(str(answer.trace_id))
        assert [request.body["model"] for request in server.requests[1:]] == ["large:4b"] * (
            answer.usage.llm_calls
        )
    assert answer.usage.llm_calls
    assert FEES.partition(".")[0] in answer.answer
    assert answer.warnings == ()
    assert trace.origin.settings["llm"]["model"] == "ollama:large:4b"
    with engine_at(tmp_path) as engine:  # nothing listens any more
        assert engine.replay(str(answer.trace_id)).same


def test_without_a_model_the_local_answer_says_so(tmp_path: Path) -> None:
    index_fees(tmp_path)
    llm = {"model": "auto", "base_url": find_closed_url()}
    with engine_at(tmp_path, llm=llm) as engine:
        answer = engine.ask(QUESTION)
        trace = engine.trace(str(answer.trace_id))
    assert answer.status == "answered"
    assert answer.warnings[0].startswith("no language model: no Ollama answers at")
    assert trace.origin.settings["llm"]["model"] == ""


def test_a_pulled_file_answers(tmp_path: Path, folder: Path, real_model: RealModel) -> None:
    (folder / "smol.gguf").symlink_to(real_model.file)
    index_fees(tmp_path)
    llm = {
        "model": "auto",
        "base_url": find_closed_url(),
        "max_tokens": 16,
        "skip_above_confidence": 2,
    }
    with engine_at(tmp_path, llm=llm, offline=True) as engine:
        answer = engine.ask(QUESTION, budget=Budget(seconds=300, calls=1))
        trace = engine.trace(str(answer.trace_id))
    assert answer.usage.llm_calls
    assert trace.origin.settings["llm"]["model"] == "local:smol"


def test_a_known_name_that_is_not_pulled_names_the_command(folder: Path) -> None:
    pytest.importorskip("xllamacpp")
    for name in KNOWN_MODELS:
        with pytest.raises(UsageError, match=f"is not pulled; run: fathom models pull {name}"):
            find_weights(f"local:{name}")
        make_weights(folder, name, 10)
        assert find_weights(f"local:{name}") == folder / f"{name}.gguf"
