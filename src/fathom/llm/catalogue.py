"""The known language models: files with a pinned digest and the memory that each needs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fathom import system
from fathom.errors import UsageError
from fathom.llm.endpoint import check_url

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".gguf"
_MEMORY_SHARE = 0.75
"""The largest share of the machine's memory that a model may take."""
_CGROUP_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",  # cgroup version 1
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of weights (GGUF) on a server.

    Attributes:
        name: The name after `local:`, and the name of the stored file without its ending.
        url: The address of the file.
        sha256: The digest of the file, in hexadecimal.
        size: The bytes of the file; 0 if the size is not known before the server is asked.
        memory: The bytes of memory that it needs with 8,192 tokens of context; 0 if not measured.
        licence: The SPDX name of its licence; empty if unknown.
    """

    name: str
    url: str
    sha256: str
    size: int = 0
    memory: int = 0
    licence: str = ""


KNOWN_MODELS = {
    model.name: model
    for model in (
        ModelFile(
            name="qwen-0.5b",
            url="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            size=491_400_064,
            memory=800_000_000,
            licence="Apache-2.0",
        ),
        ModelFile(
            name="qwen-1.5b",
            url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=1_117_320_768,
            memory=2_100_000_000,
            licence="Apache-2.0",
        ),
    )
}
"""The models that `fathom models pull NAME` fetches, by name, the smallest first."""
_LARGER_MODEL = "qwen3:4b-instruct"
"""A model of 4 billion parameters, by its name in Ollama's library."""
_LARGER_MEMORY = 5_500_000_000
"""The bytes of memory that this model needs."""


def identify_model(name: str) -> str:
    """Return the name of the known model that a user's name or file stands for; empty if none.

    Args:
        name: A name after `local:`, or the path or name of a file.
    """
    stem = Path(name).name.casefold().removesuffix(_SUFFIX)
    for model in KNOWN_MODELS.values():
        # The names of a model's files begin alike and end with their quantisation.
        family = Path(urlsplit(model.url).path).name.split("-instruct")[0]
        if stem == model.name or stem.startswith(family):
            return model.name
    return ""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A model that is recommended for the memory of a machine.

    Attributes:
        model: The name for the option `-m`.
        command: The command that fetches the model.
        memory: The bytes of memory that the model needs.
    """

    model: str
    command: str
    memory: int


def recommend_models(memory: int) -> list[Recommendation]:
    """Return the models to recommend for a machine, the best first.

    The last one is always a file of `KNOWN_MODELS`: the largest that fits, or the smallest if none
    fits.

    Args:
        memory: The bytes of memory of the machine, as `measure_memory` returns them.
    """
    fitting = [model for model in KNOWN_MODELS.values() if does_fit(model.memory, memory)]
    file = (fitting or list(KNOWN_MODELS.values())[:1])[-1]
    recommendations = [
        Recommendation(f"local:{file.name}", f"fathom models pull {file.name}", file.memory)
    ]
    if does_fit(_LARGER_MEMORY, memory):
        command = f"ollama pull {_LARGER_MODEL}"
        recommendations.insert(
            0, Recommendation(f"ollama:{_LARGER_MODEL}", command, _LARGER_MEMORY)
        )
    return recommendations


def parse_source(source: str, sha256: str | None) -> ModelFile:
    """Return the model file that a user wants to pull.

    Args:
        source: The name of a known model, or the address of any GGUF file.
        sha256: The digest of the file; required for an address.

    Raises:
        UsageError: If the model is unknown or has another digest, or the address or the digest is
            malformed.
    """
    model = KNOWN_MODELS.get(source)
    if model and sha256 in {None, model.sha256}:
        return model
    if "://" not in source:
        names = ", ".join(KNOWN_MODELS)
        raise UsageError(
            f"{source!r} is no known model of this digest; name {names}, or a URL with --sha256"
        )
    check_url(source, example="https://host/model.gguf", name="the URL")
    file_name = Path(unquote(urlsplit(source).path))
    if file_name.suffix.lower() != _SUFFIX:
        raise UsageError(f"{source} is not the address of a GGUF file; it must end in .gguf")
    digest = (sha256 or "").lower()
    if not _DIGEST.fullmatch(digest):
        raise UsageError(
            f"{source} needs its digest: add --sha256 with the 64 digits that its page shows"
        )
    return ModelFile(name=check_name(file_name.stem), url=source, sha256=digest)


def check_name(name: str) -> str:
    """Return a model's name unchanged if it can be part of a file name.

    Raises:
        UsageError: If it holds other signs than letters, digits, `.`, `_` and `-`.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not the name of a model; use letters, digits, . _ and -")
    return name


def estimate_memory(name: str, size: int) -> int:
    """Return the bytes of memory that a model needs.

    Args:
        name: The name; the memory of known models was measured.
        size: The bytes of the file, from which the memory of other models is estimated.
    """
    model = KNOWN_MODELS.get(name)
    # llama.cpp holds a second copy of some weights, in the order in which the processor reads them.
    return model.memory if model else round(size * 1.6) + 300_000_000


def does_fit(needs: int, memory: int) -> bool:
    """Return whether a model leaves at least a quarter of the memory free.

    Args:
        needs: The bytes of memory that the model needs.
        memory: The bytes of memory of the machine.
    """
    return needs <= memory * _MEMORY_SHARE


def measure_memory() -> int:
    """Return the bytes of memory of the machine, or the limit of the container if it is lower."""
    return min([system.measure_memory(), *_read_container_limits()])


def _read_container_limits() -> Iterator[int]:
    """Yield the memory limits in bytes of the control groups that set one."""
    for file in map(Path, _CGROUP_LIMITS):
        try:
            yield int(file.read_text(encoding="ascii"))
        except (OSError, ValueError):  # no such file, or the word `max`, which means no limit
            continue
