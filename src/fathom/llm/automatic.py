"""The model that `auto` stands for: one of an Ollama on this machine, else a pulled file."""

import http.client
import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fathom.errors import UsageError
from fathom.llm.catalogue import does_fit, estimate_memory, measure_memory, recommend_models
from fathom.llm.endpoint import PROVIDERS, check_url, resolve_endpoint
from fathom.llm.model_store import ModelStore
from fathom.settings import Settings

_OLLAMA = PROVIDERS["ollama"]
_PROBE_S = 0.5
_MOST_BYTES = 1 << 20
_NO_CHAT = ("embed", "bert", "rerank")
"""Words in the names and families of models that do not write replies."""


@dataclass(frozen=True, slots=True)
class AutomaticModel:
    """The outcome of looking for a model.

    Attributes:
        name: `provider:model`; empty if there is none.
        reason: One line: why this one, or what would give one.
        base_url: The address that the user set for the model; `None` for the usual one.
    """

    name: str
    reason: str
    base_url: str | None = None


def choose_model(settings: Settings) -> tuple[Settings, str]:
    """Return the settings with a model in place of `auto`, and a caution if there is none.

    Traces record the settings, so they name the model itself, and a replay looks for none.

    Raises:
        UsageError: If `llm.base_url` is malformed.
    """
    choice = find_model(settings)
    update = {"model": choice.name, "base_url": choice.base_url}
    if not choice.name.startswith("ollama:"):
        update["key_env"] = None
    llm = settings.llm.model_copy(update=update)
    caution = "" if choice.name else f"no language model: {choice.reason}"
    return settings.model_copy(update={"llm": llm}), caution


def find_model(settings: Settings, store: ModelStore | None = None) -> AutomaticModel:
    """Look for a model on this machine: the largest of Ollama that fits, else of the pulled files.

    Args:
        settings: `llm.base_url` is the address of Ollama, if it has another than the usual one.
            With `offline`, Ollama is not asked.
        store: The pulled files; by default those in the user's data folder.

    Raises:
        UsageError: If `llm.base_url` is malformed.
    """
    memory = measure_memory()
    of_ollama = _find_ollama_model(settings, memory)
    if of_ollama.name:
        return of_ollama
    stored = _find_stored_model(store or ModelStore(), memory)
    if stored.name:
        return stored
    return AutomaticModel("", f"{of_ollama.reason}, and {stored.reason}")


def _find_ollama_model(settings: Settings, memory: int) -> AutomaticModel:
    if settings.offline:
        return AutomaticModel("", "--offline asks no Ollama")
    if importlib.util.find_spec(_OLLAMA.package) is None:
        return AutomaticModel("", "Ollama needs pip install 'fathom-qa[ollama]'")
    address = settings.llm.base_url or _OLLAMA.base_url
    check_url(address, example=_OLLAMA.base_url)
    sizes = _list_ollama_models(address)
    if sizes is None:
        return AutomaticModel("", f"no Ollama answers at {address}")
    name = _choose_largest(sizes, memory)
    if not name:
        return AutomaticModel("", f"Ollama has no model for {memory / 1e9:.1f} GB of memory")
    reason = f"the largest model of Ollama at {address} that fits the memory"
    return AutomaticModel(f"ollama:{name}", reason, settings.llm.base_url)


def _find_stored_model(store: ModelStore, memory: int) -> AutomaticModel:
    sizes = {model.name: model.size for model in store.list() if model.is_whole}
    name = _choose_largest(sizes, memory)
    if not name:
        lack = (
            f"no pulled file fits {memory / 1e9:.1f} GB of memory" if sizes else "no file is pulled"
        )
        return AutomaticModel("", f"{lack}; run: {recommend_models(memory)[-1].command}")
    try:
        resolve_endpoint(f"local:{name}")
    except UsageError as error:
        return AutomaticModel("", str(error))
    return AutomaticModel(f"local:{name}", "the largest pulled file that fits the memory")


def _choose_largest(sizes: Mapping[str, int], memory: int) -> str:
    """Return the largest model that fits the memory; empty if none does."""
    fitting = {
        name: size for name, size in sizes.items() if does_fit(estimate_memory(name, size), memory)
    }
    return max(fitting, key=lambda name: (fitting[name], name), default="")


def _list_ollama_models(url: str) -> dict[str, int] | None:
    """Return the bytes of the models that can write, by name; `None` if no Ollama answers."""
    address = urlsplit(url)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.hostname or "", address.port, timeout=_PROBE_S)
    try:
        connection.request("GET", f"{address.path.rstrip('/')}/api/tags")
        reply = connection.getresponse()
        models = json.loads(reply.read(_MOST_BYTES))["models"] if reply.status == 200 else None
        return dict(_iterate_writers(models)) if isinstance(models, list) else None
    # Deeply nested JSON ends in a `RecursionError`.
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, RecursionError):
        return None  # another server listens there, or none
    finally:
        connection.close()


def _iterate_writers(models: list[Any]) -> Iterator[tuple[str, int]]:
    """Yield name and bytes of the models that write replies on this machine."""
    for model in models:
        name = str(model["name"])
        kind = f"{name} {model.get('details')}".lower()
        # A model of Ollama's cloud would send the documents there.
        is_remote = "remote_host" in model or name.endswith("cloud")
        if not is_remote and not any(word in kind for word in _NO_CHAT):
            yield name, int(model["size"])
