"""The choice of the model that `auto` stands for: one of Ollama's, else a pulled file."""

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
    """The model that was chosen for `auto`, or the reason why there is none.

    Attributes:
        name: `provider:model`; empty if no model was found.
        reason: The reason for the choice, or the steps that would give a model; one line.
        base_url: The address from `llm.base_url`; `None` for the provider's default address.
    """

    name: str
    reason: str
    base_url: str | None = None


def choose_model(settings: Settings) -> tuple[Settings, str]:
    """Return the settings with a real model in place of `auto`, and a caution for the user.

    Traces record these settings, so that a replay knows the model and need not choose again.

    Returns:
        The settings, with an empty `llm.model` if no model was found, and then one line that says
        why; otherwise an empty line.

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
    """Find the largest model of Ollama that fits the memory, else the largest such pulled file.

    Args:
        settings: `llm.base_url` is the address of Ollama, if that is not the default one. With
            `offline`, Ollama is not asked.
        store: The pulled files; by default those in the user's data folder.

    Returns:
        The model. Without one, the reason names both obstacles.

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
    """Return the largest model of Ollama that fits the memory in bytes, or why there is none."""
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
    """Return the largest pulled file that fits the memory in bytes, or why there is none."""
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
    """Return the name of the largest model that fits the memory; empty if none does.

    Args:
        sizes: The bytes of each model, by name.
        memory: The bytes of memory of the machine.
    """
    fitting = {
        name: size for name, size in sizes.items() if does_fit(estimate_memory(name, size), memory)
    }
    return max(fitting, key=lambda name: (fitting[name], name), default="")


def _list_ollama_models(url: str) -> dict[str, int] | None:
    """Return the bytes of Ollama's models that can chat, by name; `None` if no Ollama answers."""
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
    """Yield the name and the bytes of each model that writes replies and runs on this machine.

    Args:
        models: The entries of Ollama's list, as JSON.

    Raises:
        LookupError, TypeError, ValueError: If an entry is malformed.
    """
    for model in models:
        name = str(model["name"])
        kind = f"{name} {model.get('details')}".lower()
        # A model of Ollama's cloud would send the documents there.
        is_remote = "remote_host" in model or name.endswith("cloud")
        if not is_remote and not any(word in kind for word in _NO_CHAT):
            yield name, int(model["size"])
