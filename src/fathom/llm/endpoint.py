"""From a name such as `groq:llama-3.3-70b-versatile` to the server it is on and the key to it.

All is checked before a socket is opened, and no provider is imported.
"""

import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from fathom.errors import UsageError

_ADDRESS = re.compile(r"@(?=https?://)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is and how it is reached.

    Attributes:
        name: `provider:model`.
        model: Its name at the provider.
        adapter: Module with `opened(request)`, imported when first needed.
        key: Must be quoted nowhere.
        key_env: The variable the key came from, for the next step.
    """

    name: str
    model: str
    adapter: str
    base_url: str
    key: SecretStr | None
    key_env: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMProvider:
    """How one provider is reached.

    Attributes:
        package: What its extra installs.
        adapter: Our module for it.
        base_url: Where it is; empty for what Fathom itself runs, in a child that listens on
            127.0.0.1 alone: the one exception that offline makes.
        key_env: The variable its key is usually in; empty when it needs none.
        extra: Its extra; by default of the provider's name.
    """

    package: str
    adapter: str
    base_url: str
    key_env: str
    extra: str = ""


PROVIDERS: Mapping[str, LLMProvider] = {
    "openai": LLMProvider(
        package="langchain_openai",
        adapter="fathom.llm.providers.openai",
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
    ),
    "groq": LLMProvider(
        package="langchain_groq",
        adapter="fathom.llm.providers.groq",
        base_url="https://api.groq.com",
        key_env="GROQ_API_KEY",
    ),
    "anthropic": LLMProvider(
        package="langchain_anthropic",
        adapter="fathom.llm.providers.anthropic",
        base_url="https://api.anthropic.com",
        key_env="ANTHROPIC_API_KEY",
    ),
    "ollama": LLMProvider(
        package="langchain_ollama",
        adapter="fathom.llm.providers.ollama",
        base_url="http://127.0.0.1:11434",
        key_env="",
    ),
    "local": LLMProvider(
        package="langchain_openai",
        adapter="fathom.llm.providers.local",
        base_url="",
        key_env="",
        extra="local-llm",
    ),
}


def endpoint_of(
    name: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    offline: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Where the model called `name` is, checked as far as it can be without socket or import.

    Args:
        name: `provider:model`; `openai:` with a `base_url` is any server of OpenAI's protocol;
            `provider:model@http://host:port/v1` says itself where its server is. `local:` needs
            no model and is not at any address before `LocalServer` runs it.
        base_url: Where the server is, unless the name says it; the provider's own by default.
        key_env: Name of the variable that holds the key. With a `base_url` of one's own, no key
            is sent unless this names one: a key must not go to a server it was not made for.
        offline: Refuse, also for a server on this machine: offline means no socket at all, but
            the one to a `local:` model.
        environment: Where keys are.

    Raises:
        UsageError: For an unknown provider, a missing extra, a missing or malformed key, a
            malformed `base_url`, or when offline; one line with the next step.
    """
    name, own_url = split_name(name)
    base_url = own_url or base_url
    provider_name, _, model = name.partition(":")
    provider = PROVIDERS.get(provider_name)
    own = provider is not None and not provider.base_url
    if provider is None or not (model or own):
        known = ", ".join(f"{known}:" for known in PROVIDERS)
        raise UsageError(f"unknown model {name!r}: write provider:model, with one of {known}")
    if offline and not own:
        raise UsageError(f"{name} needs a socket and --offline allows none; drop one of the two")
    if own and (base_url or key_env):
        raise UsageError(f"{name} runs inside Fathom; drop llm.base_url and llm.key_env")
    if importlib.util.find_spec(provider.package) is None:
        extra = provider.extra or provider_name
        raise UsageError(f"{name} is not installed; run: pip install 'fathom-qa[{extra}]'")
    return endpoint_at(provider, name, base_url, key_env, environment)


def split_name(name: str) -> tuple[str, str | None]:
    """`provider:model` and the address of its server, of `provider:model@http://host:port/v1`."""
    found = _ADDRESS.search(name)
    return (name[: found.start()], name[found.start() + 1 :]) if found else (name, None)


def endpoint_at(
    provider: LLMProvider,
    name: str,
    base_url: str | None,
    key_env: str | None,
    environment: Mapping[str, str],
) -> Endpoint:
    """Where `provider:model` is asked; a server of one's own needs no key unless one is named.

    Raises:
        UsageError: For a missing or malformed key, or a malformed `base_url`.
    """
    if base_url is not None:
        check_url(base_url)
    variable = key_env or ("" if base_url else provider.key_env)
    return Endpoint(
        name=name,
        model=name.partition(":")[2],
        adapter=provider.adapter,
        base_url=base_url or provider.base_url,
        key=key_in(variable, name, environment) if variable else None,
        key_env=variable,
    )


def key_in(variable: str, name: str, environment: Mapping[str, str]) -> SecretStr:
    """The key for `name` that this variable of the environment holds.

    Raises:
        UsageError: If there is none, or it cannot be one.
    """
    value = environment.get(variable, "").strip()
    if not value:
        raise UsageError(f"{name} needs a key; run: export {variable}=...")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise UsageError(f"{variable} holds something that is no key; export it again")
    return SecretStr(value)


def check_url(url: str, *, example: str = "http://host:port/v1", name: str = "base_url") -> None:
    """Accept the address of a server; `name` is what it is called in messages.

    Raises:
        UsageError: If it is none, or holds a user name or password.
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        secret = parts.username is not None or parts.password is not None
    except ValueError:
        fine, secret = False, False
    if secret:
        raise UsageError(f"{name} holds a user name or password; name a variable in key_env")
    if not fine:
        raise UsageError(f"{name} {url!r} is no address; write it as {example}")
