"""A language model of a file on this machine, served by llama.cpp in a child process.

The child listens only on 127.0.0.1, on a port that the system chooses, and answers only requests
with its key. This is the only socket that `offline` allows. A crash of llama.cpp ends the child but
not Fathom, and the next call starts another child. The child always ends with its owner, even if
the owner is killed.
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
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO

from pydantic import SecretStr

from fathom.errors import ModelUnavailable
from fathom.llm.prompt_cache import PromptCache
from fathom.redaction import SECRETS

PACKAGE = "xllamacpp"
_CHILD = Path(__file__).with_name("local_child.py")
# The child gets only variables with these prefixes, for devices and threads, and so no keys.
_ENVIRONMENT_PREFIXES = ("CUDA_", "GGML_", "GOMP_", "GPU_", "HIP_", "LD_", "OMP_", "ROCR_")
# Waiting threads sleep, because on a busy machine a reply takes four times as long if they spin.
_SLEEPING_THREADS = {"OMP_WAIT_POLICY": "passive"}
_POLL_S = 0.02
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """The options for running a model.

    Attributes:
        threads: The number of processor threads, at least 1.
        context_tokens: The room for prompt and reply together, in tokens. A model may have been
            trained for less.
        cache_prompts: Whether to reuse all tokens that a prompt shares with the one before, which
            may change replies by rounding. If not, only the prompt's fixed beginning is reused, in
            a way that changes no reply (`prompt_cache`).
    """

    threads: int = 1
    context_tokens: int = 8192
    cache_prompts: bool = False


@dataclass(frozen=True, slots=True)
class LocalAddress:
    """The address of a running child, its key, and the state of its prompt cache.

    Attributes:
        base_url: The address of its OpenAI-compatible interface, ending in `/v1`.
        key: The key that every request must carry.
        cache: The state of the child's prompt cache.
    """

    base_url: str
    key: SecretStr
    cache: PromptCache = field(compare=False)


class LocalServer:
    """A server of one file at a time, for use by several threads and event loops at once.

    The first use starts the child. Another file is served only when the current one has no users
    and nobody waits for it to be loaded. Otherwise two files that two callers want could replace
    each other for ever before either is loaded.
    """

    def __init__(self, options: LocalOptions | None = None) -> None:
        """Create the server. The first use starts its child."""
        self._options = options or LocalOptions()
        self._lock = Lock()
        self._child: _ChildProcess | None = None
        self._users = 0
        self._waiting = Counter[Path]()
        self._stops = 0

    def start(self, path: Path) -> None:
        """Start to load the file, unless another file is in use; do not wait.

        Raises:
            ModelUnavailable: If the child for this file has already failed.
        """
        self._acquire_address(path)

    def load(self, path: Path) -> None:
        """Wait until the file is loaded or the server is stopped; this blocks the thread.

        Raises:
            ModelUnavailable: If the file cannot be loaded; one line with llama.cpp's reason.
        """
        stops = self._stops
        with self._wait_for(path):
            while self._acquire_address(path, since=stops) is None and self._stops == stops:
                time.sleep(_POLL_S)

    @asynccontextmanager
    async def serve(self, path: Path, deadline: float) -> AsyncIterator[LocalAddress]:
        """Serve the file and yield the child's address. Within the block no other file is served.

        If a caller stops waiting, loading goes on for the next caller. If a caller leaves the block
        without an answer, by cancellation or after the deadline, the child is ended unless it has
        other users. It would otherwise work on for seconds, and a new child is ready sooner.

        Args:
            path: The file.
            deadline: The instant of `time.monotonic` until which to wait for the file.

        Raises:
            ModelUnavailable: If the file cannot be loaded, with llama.cpp's reason in one line, or
                if the server was stopped meanwhile.
            TimeoutError: If the file was not loaded at the deadline.
        """
        stops = self._stops
        with self._wait_for(path):
            while (address := self._acquire_address(path, users=1, since=stops)) is None:
                if self._stops != stops:
                    raise ModelUnavailable(
                        f"{path.name} was stopped before it was loaded; ask again"
                    )
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
                    self._drop_child()

    def stop(self) -> None:
        """End the child at once.

        The connections of replies in progress break, and callers that wait for the file give up.
        The next use starts another child.
        """
        with self._lock:
            self._stops += 1
            self._drop_child()

    @property
    def pid(self) -> int | None:
        """The process id of the running child; `None` without one."""
        with self._lock:
            return self._child.pid if self._child is not None and self._child.is_running() else None

    @contextmanager
    def _wait_for(self, path: Path) -> Iterator[None]:
        """Count the caller among those who wait for the file, within the block."""
        with self._lock:
            self._waiting[path] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[path] -= 1

    def _acquire_address(
        self, path: Path, *, users: int = 0, since: int | None = None
    ) -> LocalAddress | None:
        """Return the address of the file's child, which is started if need be.

        Args:
            path: The file.
            users: The number of users to add once the address is known.
            since: The number of stops when the caller began to wait; `None` if it does not wait.
                After another stop, nothing is started for this caller.

        Returns:
            The address; `None` while the file is being loaded or another file is in use.

        Raises:
            ModelUnavailable: If the file cannot be loaded.
        """
        with self._lock:
            if since not in {None, self._stops}:
                return None
            if self._child is not None and self._child.path != path:
                is_awaited = not self._child.has_served() and self._waiting[self._child.path]
                if self._users or is_awaited:
                    return None
                self._drop_child()
            if self._child is not None and self._child.has_crashed():
                self._drop_child()
            self._child = self._child or _ChildProcess(path, self._options)
            try:
                address = self._child.read_address()
            except ModelUnavailable:
                self._drop_child()
                raise
            self._users += users if address else 0
            return address

    def _drop_child(self) -> None:
        """End the child, if there is one; the caller holds the lock."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()


class _ChildProcess:
    """One child process, from its start to its end."""

    def __init__(self, path: Path, options: LocalOptions) -> None:
        """Start the child, and hand it the key; it loads the file meanwhile."""
        self.path = path
        self._key = SecretStr(secrets.token_urlsafe(32))
        SECRETS.add(self._key.get_secret_value())
        self._address: LocalAddress | None = None
        self._output = b""
        self._cache = PromptCache(is_exact=not options.cache_prompts)
        child_options = {"path": str(path), **asdict(options)}
        # S603: our own interpreter with our own code; -I ignores the user's environment.
        self._process = subprocess.Popen(  # noqa: S603
            [
                *(sys.executable, "-I", "-X", "utf8"),
                *(str(_CHILD), _find_package_folder(), json.dumps(child_options)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_SLEEPING_THREADS
            | {k: value for k, value in os.environ.items() if k.startswith(_ENVIRONMENT_PREFIXES)},
            start_new_session=True,  # Ctrl-C must reach only the owner
        )
        self._end = weakref.finalize(self, _kill_process, self._process)
        stdin, stdout, stderr = _get_pipes(self._process)
        self._answers, self._errors = stdout, stderr
        # Reading must not block, because the owner polls the child between other work.
        for pipe in (stdout, stderr):
            os.set_blocking(pipe.fileno(), False)
        # `read_address` reports a child that has ended already.
        with suppress(BrokenPipeError):
            stdin.write(self._key.get_secret_value().encode() + b"\n")
            stdin.flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_running(self) -> bool:
        return self._end.alive and self._process.poll() is None

    def has_served(self) -> bool:
        """Return whether the child has written its address, which it does after loading."""
        return self._address is not None

    def has_crashed(self) -> bool:
        """Return whether the child ended after it had loaded the file."""
        return self.has_served() and not self.is_running()

    def read_address(self) -> LocalAddress | None:
        """Return the child's address; `None` while it is loading.

        Raises:
            ModelUnavailable: If the child ended before it wrote its address.
        """
        if self._address is None:
            # The order matters: only if the child had ended before is the output read complete.
            ended = not self.is_running()
            self._output += self._answers.read() or b""
            if self._output.endswith(b"\n"):
                base_url = f"{self._output.decode().strip()}/v1"
                self._address = LocalAddress(base_url, self._key, self._cache)
            elif ended:
                raise ModelUnavailable(f"{self.path} cannot be loaded: {self._read_reason()}")
        return self._address

    def kill(self) -> None:
        """Kill the child, which has nothing to save, and wait for its end."""
        self._end()

    def _read_reason(self) -> str:
        """Return the first error in llama.cpp's log, in at most 200 characters.

        Without an error, this is the first line of the log; without a log, the exit status.
        """
        lines = (self._errors.read() or b"").decode("utf-8", "replace").splitlines()
        complaints = [line.partition(" E ")[2] for line in lines if " E " in line]
        status = (
            f"llama.cpp ended with status {self._process.returncode}; "
            "check that the file is a whole GGUF file"
        )
        return " ".join((complaints or lines or [status])[0].split())[:_LONGEST_REASON]


def _find_package_folder() -> str:
    """Return the folder in which xllamacpp is installed, for the child's search path.

    Raises:
        ModelUnavailable: If xllamacpp is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelUnavailable(
            f"{PACKAGE} is not installed; run: pip install 'fathom-qa[local-llm]'"
        )
    return str(Path(spec.origin).parents[1])


def _get_pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise RuntimeError("a process started with pipes has pipes")
    return stdin, stdout, stderr


def _kill_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, wait for its end and close its pipes."""
    process.kill()
    process.wait()
    for pipe in _get_pipes(process):
        # Closing writes the rest of the input, which a child that ended early cannot read.
        with suppress(BrokenPipeError):
            pipe.close()
