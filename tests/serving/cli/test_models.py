"""`fathom models`: its output for people and for programs, and its refusals."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.llm.file_server import DIGEST, WEIGHTS, FileServer, send, serve_file
from tests.serving.cli.test_app import CommandRunner, check_one_line, run  # noqa: F401 - a fixture

from fathom.llm.catalogue import KNOWN_MODELS, measure_memory


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve_file() as served:
        yield served


def test_a_model_is_pulled_listed_and_removed(
    run: CommandRunner,  # noqa: F811
    server: FileServer,
    tmp_path: Path,
) -> None:
    folder = tmp_path / ".local" / "share" / "fathom" / "models"
    pulled = run("models", "pull", server.url, "--sha256", DIGEST, "--json")
    assert (pulled.code, pulled.err) == (0, "")
    assert pulled.json == {
        "name": "tiny",
        "model": "local:tiny",
        "path": str(folder / "tiny.gguf"),
        "bytes": len(WEIGHTS),
        "sha256": DIGEST,
    }
    again = run("models", "pull", server.url, "--sha256", DIGEST)
    assert again.out == f"{folder / 'tiny.gguf'}\nuse it with -m local:tiny, or -m auto\n"
    assert len(server.ranges) == 1

    listed = run("models", "list", "--json").json
    assert listed["folder"] == str(folder)
    status = {model["name"]: model["status"] for model in listed["models"]}
    assert status == {"tiny": "pulled"} | dict.fromkeys(KNOWN_MODELS, "available")
    lines = run("models", "list").out.splitlines()
    assert lines[0].split() == ["tiny", "pulled", "1", "MB"]

    removed = run("models", "remove", "tiny", "--json")
    assert removed.json == {"removed": "tiny", "bytes": len(WEIGHTS)}
    check_one_line(run("models", "remove", "tiny"), 2, "no model 'tiny' is here; there are none")


def test_an_interrupted_pull_is_listed_and_continued(
    run: CommandRunner,  # noqa: F811
    server: FileServer,
) -> None:
    server.acts += [send(upto=1_000), send(upto=1_000)]
    command = ("models", "pull", server.url, "--sha256", DIGEST)
    check_one_line(run(*command), 5, "with 1,000 of 1,024,004 bytes here; run it again to go on")
    (model, *_) = run("models", "list", "--json").json["models"]
    assert (model["name"], model["status"], model["bytes"]) == ("tiny", "unfinished", 1_000)
    assert run(*command).code == 0


@pytest.mark.parametrize("offline", [("--offline",), ("--set", "offline=true")])
def test_offline_pulls_nothing(run: CommandRunner, offline: tuple[str, ...]) -> None:  # noqa: F811
    refused = run("models", "pull", "qwen-0.5b", *offline)
    check_one_line(refused, 2, "--offline allows none; drop one of the two")


def test_offline_opens_no_socket(tmp_path: Path) -> None:
    code = """
import os, sys
sys.addaudithook(lambda event, _: os._exit(99) if event.startswith("socket.") else None)
from fathom.serving import cli
sys.argv = ["fathom", "models", "pull", "qwen-0.5b", "--offline"]
cli.main()
"""
    environment = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2


def test_a_failed_pull_is_reported(run: CommandRunner, server: FileServer) -> None:  # noqa: F811
    check_one_line(run("models", "pull", "qwen-9b"), 2, "name qwen-0.5b, qwen-1.5b, or a URL")
    check_one_line(run("models", "pull", "https://example.org/m.gguf"), 2, "add --sha256")
    check_one_line(
        run("models", "pull", "http://example.org/m.gguf", "--sha256", DIGEST), 2, "no https"
    )
    server.acts.append(send(WEIGHTS[::-1]))
    wrong = run("models", "pull", server.url, "--sha256", DIGEST, "--json")
    assert wrong.code == 5
    assert wrong.json["error"]["kind"] == "ModelError"
    assert "has the digest" in wrong.json["error"]["message"]


@pytest.mark.parametrize(
    ("memory", "models"),
    [
        (1_000_000_000, ["local:qwen-0.5b"]),
        (2_000_000_000, ["local:qwen-0.5b"]),
        (4_000_000_000, ["local:qwen-1.5b"]),
        (8_000_000_000, ["ollama:qwen3:4b-instruct", "local:qwen-1.5b"]),
    ],
)
def test_models_are_recommended_by_memory(
    run: CommandRunner,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    memory: int,
    models: list[str],
) -> None:
    monkeypatch.setattr("fathom.llm.catalogue.measure_memory", lambda: memory)
    recommended = run("models", "recommend", "--json").json
    assert recommended["memory"] == memory
    assert [model["model"] for model in recommended["models"]] == models
    assert [model["command"] for model in recommended["models"]] == [
        model.replace("local:", "fathom models pull ").replace("ollama:", "ollama pull ")
        for model in models
    ]
    lines = run("models", "recommend").out.splitlines()
    assert lines[0] == f"memory: {memory / 1e9:.1f} GB"
    assert len(lines) == 1 + len(models)


def test_the_memory_is_that_of_this_machine() -> None:
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    assert 0 < measure_memory() <= int(lines["MemTotal"].split()[0]) * 1024
