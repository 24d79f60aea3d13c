"""From a name such as `groq:llama-3.3-70b-versatile` to a model; no provider is imported."""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass

from fathom.errors import UsageError
from fathom.llm.access import check_url, key_in
from fathom.llm.chat import Endpoint, LangChainChat, Limits
from fathom.llm.faults import Culprit


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """How one provider is reached.

    Attributes:
        package: What its extra installs; the extra has the provider's name.
        adapter: Our module for it.
        key_env: The variable its key is usually in; empty when it needs none.
    """

    package: str
    adapter: str
    base_url: str
    key_env: str


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        package="langchain_openai",
        adapter="fathom.llm.openai_chat",
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
    ),
    "groq": Provider(
        package="langchain_groq",
        adapter="fathom.llm.groq_chat",
        base_url="https://api.groq.com",
        key_env="GROQ_API_KEY",
    ),
    "anthropic": Provider(
        package="langchain_anthropic",
        adapter="fathom.llm.anthropic_chat",
        base_url="https://api.anthropic.com",
        key_env="ANTHROPIC_API_KEY",
    ),
    "ollama": Provider(
        package="langchain_ollama",
        adapter="fathom.llm.ollama_chat",
        base_url="http://127.0.0.1:11434",
        key_env="",
    ),
}


def load_chat(
    name: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    offline: bool = False,
    limits: Limits | None = None,
    environment: Mapping[str, str] = os.environ,
) -> LangChainChat:
    """The model called `name`, checked as far as it can be without a socket or an import.

    Args:
        name: `provider:model`; `openai:` with a `base_url` is any server of OpenAI's protocol.
        base_url: Where the server is; the provider's own by default.
        key_env: Name of the variable that holds the key. With a `base_url` of one's own, no key
            is sent unless this names one: a key must not go to a server it was not made for.
        offline: Refuse, also for a server on this machine: offline means no socket at all.
        limits: How long it may be silent, how much it may send.
        environment: Where keys are.

    Raises:
        UsageError: For an unknown provider, a missing extra, a missing or malformed key, a
            malformed `base_url`, or when offline; one line with the next step.
    """
    provider_name, _, model = name.partition(":")
    provider = PROVIDERS.get(provider_name)
    if provider is None or not model:
        known = ", ".join(f"{known}:" for known in PROVIDERS)
        raise UsageError(f"unknown model {name!r}: write provider:model, with one of {known}")
    if offline:
        raise UsageError(f"{name} needs a socket and --offline allows none; drop one of the two")
    if importlib.util.find_spec(provider.package) is None:
        raise UsageError(f"{name} is not installed; run: pip install 'fathom[{provider_name}]'")
    if base_url is not None:
        check_url(base_url)
    variable = key_env or ("" if base_url else provider.key_env)
    key = key_in(variable, name, environment) if variable else None
    culprit = Culprit(name=name, key=key, key_env=variable)
    url = base_url or provider.base_url
    return LangChainChat(
        Endpoint(adapter=provider.adapter, model=model, base_url=url, culprit=culprit), limits
    )
