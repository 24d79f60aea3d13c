"""Pulls over real sockets: broken, resumed, refused, killed, and two at once."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import make_certificate
from tests.llm.file_server import DIGEST, WEIGHTS, Act, FileServer, fail, redirect, send, serve_file

from fathom.errors import FathomError, ModelError, RunError, UsageError
from fathom.llm.catalogue import KNOWN_MODELS, ModelFile, parse_source
from fathom.llm.model_store import ModelStore, check_transport

HALF = len(WEIGHTS) // 2
PULL = """
import sys
from pathlib import Path
from fathom.llm.catalogue import ModelFile
from fathom.llm.model_store import ModelStore

folder, url, digest = sys.argv[1:]
file = ModelFile(name="tiny", url=url, sha256=digest)
print(ModelStore(Path(folder)).pull(file, lambda done, total: print(done, flush=True)))
"""


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve_file() as served:
        yield served


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


def start_pull(store: ModelStore, server: FileServer) -> "subprocess.Popen[str]":
    """Start to pull in another process, and wait until half of the file is there."""
    server.acts.append(send(upto=HALF, waits=True))
    command = [sys.executable, "-c", PULL, str(store.folder), server.url, DIGEST]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while int(process.stdout.readline()) < HALF:
        pass
    return process


def list_files(store: ModelStore) -> list[str]:
    """Return the names of the files, without the locks of systems that have no `flock`."""
    return sorted(path.name for path in store.folder.iterdir() if path.suffix != ".sqlite")


def test_a_pull_stores_the_file_under_its_name_and_tells_how_far_it_is(
    store: ModelStore, server: FileServer
) -> None:
    steps: list[tuple[int, int]] = []
    path = store.pull(server.describe(), lambda done, total: steps.append((done, total)))
    assert path.read_bytes() == WEIGHTS
    assert list_files(store) == ["tiny.gguf"]
    assert store.find("tiny") == path
    assert (steps[0], steps[-1]) == ((0, len(WEIGHTS)), (len(WEIGHTS), len(WEIGHTS)))
    assert steps == sorted(steps)
    assert store.pull(server.describe()) == path
    assert len(server.ranges) == 1


@pytest.mark.parametrize("size", [len(WEIGHTS), 0])
def test_a_connection_that_breaks_is_continued_where_it_broke(
    store: ModelStore, server: FileServer, size: int
) -> None:
    server.acts += [send(upto=1_000), send(upto=HALF)]
    path = store.pull(server.describe(size=size))
    assert path.read_bytes() == WEIGHTS
    assert server.ranges == ["", "bytes=1000-", f"bytes={HALF}-"]


def test_a_server_that_stays_away_leaves_a_part_for_the_next_pull(
    store: ModelStore, server: FileServer
) -> None:
    server.acts += [send(upto=HALF), send(upto=HALF)]
    with pytest.raises(RunError, match=rf"with {HALF:,} of {len(WEIGHTS):,} bytes here; run it"):
        store.pull(server.describe())
    (part,) = store.list()
    assert (part.name, part.size, part.is_whole) == ("tiny", HALF, False)
    assert store.find("tiny") is None
    store.pull(server.describe())
    assert server.ranges[2] == f"bytes={HALF}-"
    assert list_files(store) == ["tiny.gguf"]


def test_a_server_without_ranges_sends_the_whole_file_again(
    store: ModelStore, server: FileServer
) -> None:
    server.acts += [send(upto=HALF), send(has_ranges=False)]
    assert store.pull(server.describe()).read_bytes() == WEIGHTS


@pytest.mark.parametrize("size", [len(WEIGHTS), 0])
def test_a_pull_that_ended_before_the_last_step_needs_no_bytes(
    store: ModelStore, server: FileServer, size: int
) -> None:
    store.folder.mkdir()
    (store.folder / f".tiny.{DIGEST[:12]}.part").write_bytes(WEIGHTS)
    assert store.pull(server.describe(size=size)).read_bytes() == WEIGHTS
    assert server.ranges == ([] if size else [f"bytes={len(WEIGHTS)}-"])


@pytest.mark.parametrize(
    ("act", "size", "message"),
    [
        (send(WEIGHTS[::-1]), len(WEIGHTS), "has the digest"),
        (send(WEIGHTS[:HALF]), 0, "has the digest"),
        (send(WEIGHTS[:HALF]), len(WEIGHTS), f"has {HALF:,} bytes instead of {len(WEIGHTS):,}"),
        (send(length=len(WEIGHTS) + 9), len(WEIGHTS), f"has {len(WEIGHTS) + 9:,} bytes instead"),
    ],
    ids=["other bytes", "a piece", "shorter", "a false length"],
)
def test_a_wrong_file_is_removed(
    store: ModelStore, server: FileServer, act: Act, size: int, message: str
) -> None:
    server.acts.append(act)
    with pytest.raises(ModelError, match=message) as failure:
        store.pull(server.describe(size=size))
    assert "it is removed: pull it again" in str(failure.value)
    assert "\n" not in str(failure.value)
    assert list_files(store) == []


def test_a_damaged_part_is_removed_and_the_next_pull_begins_again(
    store: ModelStore, server: FileServer
) -> None:
    store.folder.mkdir()
    (store.folder / f".tiny.{DIGEST[:12]}.part").write_bytes(b"x" * HALF)
    with pytest.raises(ModelError, match="has the digest"):
        store.pull(server.describe())
    assert store.pull(server.describe()).read_bytes() == WEIGHTS


def test_a_server_that_contradicts_itself_is_not_believed(
    store: ModelStore, server: FileServer
) -> None:
    server.acts.append(send(length=len(WEIGHTS) + 9))
    with pytest.raises(ModelError, match=f"has {len(WEIGHTS):,} bytes instead of"):
        store.pull(server.describe(size=0))
    assert list_files(store) == []


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (fail(404), "said 404; check the address"),
        (redirect("http://127.0.0.1:1/tiny.gguf"), "leads to no https address"),
        (redirect("http://example.org/tiny.gguf"), "leads to no https address"),
        (redirect("/files/other.gguf"), "leads to no https address"),
    ],
)
def test_a_refusal_leaves_nothing(
    store: ModelStore, server: FileServer, act: Act, message: str
) -> None:
    server.acts.append(act)
    with pytest.raises(FathomError, match=message):
        store.pull(server.describe())
    assert list_files(store) == []


def test_a_redirect_to_https_is_followed(
    store: ModelStore, server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path / "server.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serve_file(certificate) as other:
        server.acts += [redirect(other.url)] * 2
        other.acts.append(send(upto=HALF))
        assert store.pull(server.describe()).read_bytes() == WEIGHTS
        assert other.ranges == ["", f"bytes={HALF}-"]


@pytest.mark.parametrize(
    ("url", "is_redirect", "is_allowed"),
    [
        ("https://example.org/m.gguf", True, True),
        ("http://example.org/m.gguf", False, False),
        ("http://127.0.0.1.example.org/m.gguf", False, False),
        ("http://localhost:8000/m.gguf", False, True),
        ("http://localhost:8000/m.gguf", True, False),
        ("file:///etc/passwd.gguf", False, False),
    ],
)
def test_only_https_is_trusted(url: str, is_redirect: bool, is_allowed: bool) -> None:
    if is_allowed:
        check_transport(url, is_redirect=is_redirect)
        return
    with pytest.raises(UsageError, match="no https address"):
        check_transport(url, is_redirect=is_redirect)


def test_a_pull_that_is_killed_is_continued(store: ModelStore, server: FileServer) -> None:
    process = start_pull(store, server)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (part,) = store.list()
    assert not part.is_whole
    assert 0 < part.size <= HALF
    assert store.pull(server.describe()).read_bytes() == WEIGHTS
    assert server.ranges == ["", f"bytes={part.size}-"]
    assert list_files(store) == ["tiny.gguf"]


def test_two_pulls_of_one_file_do_not_damage_each_other(
    store: ModelStore, server: FileServer
) -> None:
    process = start_pull(store, server)
    with pytest.raises(RunError, match="another process pulls tiny; wait for it"):
        store.pull(server.describe())
    server.go_on.set()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.splitlines()[-1] == str(store.find("tiny"))
    assert store.pull(server.describe()).read_bytes() == WEIGHTS
    assert len(server.ranges) == 1


def test_a_full_disk_is_told_before_the_first_byte(store: ModelStore, server: FileServer) -> None:
    size = 1 << 60
    server.acts.append(send(length=size))
    with pytest.raises(RunError, match=r"bytes free and tiny needs 1,152,.* make room"):
        store.pull(server.describe(size=0))
    assert list_files(store) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, server: FileServer) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"file/models: .*XDG_DATA_HOME"):
        ModelStore(tmp_path / "file" / "models").pull(server.describe())


def test_another_file_of_the_same_name_is_kept(store: ModelStore, server: FileServer) -> None:
    store.folder.mkdir()
    (store.folder / "tiny.gguf").write_bytes(b"GGUF mine")
    with pytest.raises(
        UsageError, match="is another file; pull again after: fathom models remove tiny"
    ):
        store.pull(server.describe())
    assert (store.folder / "tiny.gguf").read_bytes() == b"GGUF mine"
    assert server.ranges == []


def test_removing_frees_the_file_and_its_part(store: ModelStore, server: FileServer) -> None:
    store.pull(server.describe())
    (store.folder / ".tiny.000000000000.part").write_bytes(b"x" * 10)
    assert store.remove("tiny") == len(WEIGHTS) + 10
    assert store.list() == []
    for name in ("tiny", "../tiny", "*"):
        with pytest.raises(UsageError, match="is here; there are none"):
            store.remove(name)


def test_the_folder_is_that_of_the_users_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert ModelStore().folder == tmp_path / "fathom" / "models"
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setenv("HOME", "/home/user")
    assert ModelStore().folder == Path("/home/user/.local/share/fathom/models")


def test_names_and_addresses_are_parsed() -> None:
    assert parse_source("qwen-1.5b", None) is KNOWN_MODELS["qwen-1.5b"]
    url = "https://example.org/a/Some%20Model.Q4_K_M.gguf?download=true"
    with pytest.raises(UsageError, match="is not the name of a model"):
        parse_source(url, DIGEST)
    url = url.replace("%20", "-")
    expected = ModelFile(name="Some-Model.Q4_K_M", url=url, sha256=DIGEST)
    assert parse_source(url, DIGEST.upper()) == expected


@pytest.mark.parametrize(
    ("source", "digest", "message"),
    [
        ("qwen-9b", None, "name qwen-0.5b, qwen-1.5b, or a URL"),
        ("qwen-1.5b", DIGEST, "no known model of this digest"),
        ("https://example.org/m.gguf", None, "add --sha256"),
        ("https://example.org/m.gguf", "abc", "add --sha256"),
        ("https://example.org/m.safetensors", DIGEST, "must end in .gguf"),
        ("ftp://example.org/m.gguf", DIGEST, "https://host/model.gguf"),
        ("https://example.org/..gguf", DIGEST, "is not the name of a model"),
    ],
)
def test_a_failed_pull_names_the_next_step(source: str, digest: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_source(source, digest)
