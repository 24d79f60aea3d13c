"""The child process, fathom.llm.local_child: it ends with its owner, and a crash is survived."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm.factories import Run, make_deadline
from tests.real_model import RealModel

from fathom.errors import ModelUnavailable
from fathom.llm import local_server
from fathom.llm.local_server import LocalOptions, LocalServer

OWNER = """
import sys, time
from pathlib import Path
from fathom.llm.local_server import LocalServer
server = LocalServer()
server.start(Path(sys.argv[1]))
if sys.argv[2] == "loaded":
    server.load(Path(sys.argv[1]))
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def server(real_model: RealModel) -> Iterator[LocalServer]:
    local_server = LocalServer(LocalOptions(context_tokens=512))
    yield local_server
    local_server.stop()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def test_callers_waiting_for_it_give_up_when_it_is_stopped(
    run: Run, server: LocalServer, real_model: RealModel
) -> None:
    server.start(real_model.file)
    waiting = threading.Thread(target=server.load, args=(real_model.file,))

    async def use() -> None:
        async with server.serve(real_model.file, make_deadline(300)):
            raise AssertionError

    async def stop_waiting() -> None:
        using = asyncio.create_task(use())
        waiting.start()
        await asyncio.sleep(0.01)
        server.stop()
        with pytest.raises(ModelUnavailable, match="was stopped"):
            await using

    run(stop_waiting())
    waiting.join(60)
    assert not waiting.is_alive()


@pytest.mark.parametrize("when", ["loaded", "while it loads"])
def test_it_ends_with_a_killed_owner(real_model: RealModel, when: str) -> None:
    command = [sys.executable, "-c", OWNER, str(real_model.file), when]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        child = int(owner.stdout.readline())
        assert is_alive(child)
        owner.send_signal(signal.SIGKILL)
        assert wait_until(lambda: not is_alive(child))


def test_it_ends_with_an_owner_that_did_not_stop_it(real_model: RealModel) -> None:
    local_server = LocalServer()
    local_server.start(real_model.file)
    child = local_server.pid
    assert child is not None
    del local_server
    assert not is_alive(child)


def test_it_stops_at_once_and_starts_again(server: LocalServer, real_model: RealModel) -> None:
    server.start(real_model.file)
    first = server.pid
    assert first is not None
    server.stop()
    assert not is_alive(first)
    assert server.pid is None
    server.load(real_model.file)
    assert server.pid not in {None, first}


def test_it_listens_on_this_machine_only_and_requires_a_key(
    run: Run, server: LocalServer, real_model: RealModel
) -> None:
    import httpx2

    async def get_status(key: str) -> int:
        async with server.serve(real_model.file, make_deadline(300)) as address:
            value = address.key.get_secret_value()
            assert value not in repr(address)
            async with httpx2.AsyncClient(trust_env=False) as client:
                headers = {"Authorization": f"Bearer {key or value}"}
                body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
                url = f"{address.base_url}/chat/completions"
                return (await client.post(url, json=body, headers=headers, timeout=60)).status_code

    assert run(get_status("")) == 200
    assert run(get_status("somebody-else")) == 401
    assert list_listening(server.pid or 0) == {"0100007F"}


def list_listening(pid: int) -> set[str]:
    """Return the addresses where a process listens, as the system writes them."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    rows = [
        line.split()
        for table in ("tcp", "tcp6", "udp", "udp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[1].partition(":")[0] for row in rows if row[9] in inodes and row[3] != "01"}


def test_a_file_that_llama_cpp_cannot_load_is_reported_in_one_line(
    server: LocalServer, real_model: RealModel, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    with real_model.file.open("rb") as whole:
        broken.write_bytes(whole.read(3_000_000))
    with pytest.raises(
        ModelUnavailable, match=r"corrupted or incomplete|a whole GGUF file"
    ) as caught:
        server.load(broken)
    assert str(caught.value).startswith(f"{broken} cannot be loaded: ")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 5
    assert server.pid is None


class EndedProcess(subprocess.Popen[bytes]):
    """A process that has ended when its owner begins to write."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.wait()


@pytest.mark.parametrize("process", [subprocess.Popen, EndedProcess])
def test_a_child_that_ends_without_a_word_is_reported_with_the_next_step(
    server: LocalServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    process: "type[subprocess.Popen[bytes]]",
) -> None:
    monkeypatch.setattr(subprocess, "Popen", process)
    child = tmp_path / "child.py"
    child.write_text("raise SystemExit(3)")
    monkeypatch.setattr(local_server, "_CHILD", child)
    with pytest.raises(ModelUnavailable) as caught:
        server.load(tmp_path / "some.gguf")
    reason = "llama.cpp ended with status 3; check that the file is a whole GGUF file"
    assert str(caught.value) == f"{tmp_path / 'some.gguf'} cannot be loaded: {reason}"


def test_one_file_is_served_at_a_time(
    run: Run, server: LocalServer, real_model: RealModel, tmp_path: Path
) -> None:
    other = tmp_path / "other.gguf"
    other.symlink_to(real_model.file)

    async def use() -> None:
        async with server.serve(real_model.file, make_deadline(300)):
            first = server.pid
            with pytest.raises(TimeoutError):
                async with server.serve(other, make_deadline(0.1)):
                    raise AssertionError
            assert server.pid == first
        async with server.serve(other, make_deadline(300)):
            assert server.pid not in {None, first}
            assert not is_alive(first or 0)

    run(use())


def test_two_files_wanted_at_once_are_served_in_turn(
    run: Run, server: LocalServer, real_model: RealModel, tmp_path: Path
) -> None:
    files = [real_model.file, tmp_path / "other.gguf"]
    files[1].symlink_to(real_model.file)

    async def use(file: Path) -> int | None:
        async with server.serve(file, make_deadline(300)):
            return server.pid

    async def use_both() -> list[int | None]:
        return await asyncio.gather(*map(use, files))

    first, second = run(use_both())
    assert first
    assert second
    assert first != second
