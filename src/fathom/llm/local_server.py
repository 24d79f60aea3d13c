"""A language model of a file on this machine, served by llama.cpp in a child process.

The child listens on 127.0.0.1 alone, on a port that the system chooses, and answers nobody who
does not have its key: the one socket that `offline` allows. A crash of llama.cpp ends the child,
not Fathom, and the next call starts another. The child ends with its owner, however that ends.
"""

import asyncio
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO

from pydantic import SecretStr

from fathom.errors import ModelUnavailable

PACKAGE = "xllamacpp"
_CHILD = Path(__file__).with_name("local_child.py")
# Of the environment the child gets what steers devices and threads; no key of another server.
_KEPT = ("CUDA_", "GGML_", "GOMP_", "GPU_", "HIP_", "LD_", "OMP_", "ROCR_")
# Threads that wait for each other sleep: on a busy machine those that spin take four times as long.
_CALM = {"OMP_WAIT_POLICY": "passive"}
_POLL_S = 0.02
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """How a model is run.

    Attributes:
        threads: Processor threads, at least 1.
        context_tokens: Room for prompt and reply together; a model may have been made for less.
        cache_prompts: Whether what a prompt begins with like the one before is not read again.
    """

    threads: int = 1
    context_tokens: int = 8192
    cache_prompts: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """Where a running child answers, and what it asks to be shown."""

    base_url: str
    key: SecretStr


class LocalServer:
    """Serves one file at a time; may be used by several threads and loops at once.

    The first use starts the child. Another file is served as soon as nobody uses the one before.
    """

    def __init__(self, options: LocalOptions | None = None) -> None:
        """Nothing is started yet."""
        self._options = options or LocalOptions()
        self._lock = Lock()
        self._child: _Child | None = None
        self._users = 0
        self._stops = 0

    def start(self, path: Path) -> None:
        """See to it that the file is being loaded, unless another one is in use.

        Raises:
            ModelUnavailable: If it turned out that it cannot be loaded.
        """
        self._address(path)

    def load(self, path: Path) -> None:
        """Wait until the file is loaded or the server stopped, in a thread that may wait.

        Raises:
            ModelUnavailable: If it cannot be loaded; one line with what llama.cpp says.
        """
        begun = self._stops
        while self._address(path, since=begun) is None and self._stops == begun:
            time.sleep(_POLL_S)

    @asynccontextmanager
    async def using(self, path: Path, deadline: float) -> AsyncIterator[Address]:
        """The address of the file's child, which serves no other file within the block.

        Who gives up waiting ends nothing: the next call finds the file loaded further on. Who
        leaves the block unanswered, cancelled or at the deadline, ends the child, unless others
        use it: llama.cpp would work on for seconds, and the next use starts another sooner.

        Args:
            path: The file.
            deadline: Instant of `time.monotonic` until which to wait for it.

        Raises:
            ModelUnavailable: If it cannot be loaded, one line with what llama.cpp says, or the
                server was stopped meanwhile.
            TimeoutError: If it was not loaded at the deadline.
        """
        begun = self._stops
        while (address := self._address(path, users=1, since=begun)) is None:
            if self._stops != begun:
                raise ModelUnavailable(f"{path.name} was stopped before it was loaded; ask again")
            if time.monotonic() >= deadline:
                raise TimeoutError
            await asyncio.sleep(_POLL_S)
        unanswered = False
        try:
            yield address
        except BaseException as error:
            unanswered = isinstance(error, asyncio.CancelledError) or time.monotonic() >= deadline
            raise
        finally:
            with self._lock:
                self._users -= 1
                if unanswered and not self._users:
                    self._drop()

    def stop(self) -> None:
        """End the child at once; whoever is being answered sees the connection break.

        Who waits for it gives up, and the next use starts another.
        """
        with self._lock:
            self._stops += 1
            self._drop()

    @property
    def pid(self) -> int | None:
        """Process id of the running child."""
        with self._lock:
            return self._child.pid if self._child is not None and self._child.running() else None

    def _address(self, path: Path, *, users: int = 0, since: int | None = None) -> Address | None:
        """Where the file is served, to so many more users; `None` while it is not yet.

        Nothing is started for who has been waiting since before the last stop.
        """
        with self._lock:
            if since not in {None, self._stops}:
                return None
            if self._child is not None and self._child.path != path:
                if self._users:
                    return None
                self._drop()
            if self._child is not None and self._child.crashed():
                self._drop()
            self._child = self._child or _Child(path, self._options)
            try:
                address = self._child.address()
            except ModelUnavailable:
                self._drop()
                raise
            self._users += users if address else 0
            return address

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class _Child:
    """One process, from its start to its end."""

    def __init__(self, path: Path, options: LocalOptions) -> None:
        self.path = path
        self._key = SecretStr(secrets.token_urlsafe(32))
        self._address: Address | None = None
        self._said = b""
        told = {
            "path": str(path),
            "context_tokens": options.context_tokens,
            "threads": options.threads,
            "cache_prompts": options.cache_prompts,
        }
        # S603: our own interpreter with our own code; -I keeps the user's settings out.
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-X", "utf8", str(_CHILD), _installed(), json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_CALM | {name: os.environ[name] for name in os.environ if name.startswith(_KEPT)},
            start_new_session=True,  # Ctrl-C is for the owner alone
        )
        self._end = weakref.finalize(self, _end, self._process)
        stdin, stdout, stderr = _pipes(self._process)
        self._answers, self._errors = stdout, stderr
        for pipe in (stdout, stderr):
            os.set_blocking(pipe.fileno(), False)
        stdin.write(self._key.get_secret_value().encode() + b"\n")
        stdin.flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    def running(self) -> bool:
        return self._end.alive and self._process.poll() is None

    def crashed(self) -> bool:
        """Whether it served, and does not any more."""
        return self._address is not None and not self.running()

    def address(self) -> Address | None:
        """Where it answers; `None` while it is loading.

        Raises:
            ModelUnavailable: If it ended instead.
        """
        if self._address is None:
            ended = not self.running()  # asked first: what it said is complete then
            self._said += self._answers.read() or b""
            if self._said.endswith(b"\n"):
                self._address = Address(f"{self._said.decode().strip()}/v1", self._key)
            elif ended:
                raise ModelUnavailable(f"{self.path} cannot be loaded: {self._reason()}")
        return self._address

    def end(self) -> None:
        """Kill it, as it has nothing to keep, and wait for its end."""
        self._end()

    def _reason(self) -> str:
        """The first thing llama.cpp complained of."""
        lines = (self._errors.read() or b"").decode("utf-8", "replace").splitlines()
        told = [line.partition(" E ")[2] for line in lines if " E " in line]
        status = f"llama.cpp ended with status {self._process.returncode}"
        return " ".join((told or lines or [status])[0].split())[:_LONGEST_REASON]


def _installed() -> str:
    """The folder that holds xllamacpp: the child looks nowhere else for it."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelUnavailable(f"{PACKAGE} is not installed; run: pip install 'fathom-qa[local-llm]'")
    return str(Path(spec.origin).parents[1])


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise RuntimeError("a process started with pipes has pipes")
    return stdin, stdout, stderr


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in _pipes(process):
        pipe.close()
