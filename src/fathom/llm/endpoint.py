"""The resolution of a name such as `groq:llama-3.3-70b-versatile` to a server and a key.

All checks run before a socket is opened, and no provider is imported.
"""

import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from fathom.errors import UsageError
from fathom.redaction import SECRETS

_ADDRESS = re.compile(r"@(?=https?://)")
_LOGIN = re.compile(r"//(?P<user>[^/?#:]*)(?::(?P<password>[^/?#]*))?@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of a model and the key to it.

    Attributes:
        name: `provider:model`.
        model: The model's name at the provider.
        adapter: The module with `open_model(request)`, imported when it is first needed.
        base_url: The address of the server; empty for a `local:` model that does not run yet.
        key: The key, which no message may quote; `None` if none is sent.
        key_env: The variable that holds the key, for messages; empty if no variable does.
    """

    name: str
    model: str
    adapter: str
    base_url: str
    key: SecretStr | None
    key_env: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMProvider:
    """One provider and the way to reach it.

    Attributes:
        package: The Python package that its extra installs.
        base_url: Its address; empty for models that Fathom itself runs. Their child process listens
            only on 127.0.0.1, and this is the only socket that `offline` allows.
        key_env: The variable that usually holds its key; empty if it needs none.
        extra: The name of its extra; the provider's name if this is empty.
    """

    package: str
    base_url: str
    key_env: str
    extra: str = ""


PROVIDERS: Mapping[str, LLMProvider] = {
    "openai": LLMProvider(
        package="langchain_openai",
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
    ),
    "groq": LLMProvider(
        package="langchain_groq",
        base_url="https://api.groq.com",
        key_env="GROQ_API_KEY",
    ),
    "anthropic": LLMProvider(
        package="langchain_anthropic",
        base_url="https://api.anthropic.com",
        key_env="ANTHROPIC_API_KEY",
    ),
    "ollama": LLMProvider(
        package="langchain_ollama",
        base_url="http://127.0.0.1:11434",
        key_env="",
    ),
    "local": LLMProvider(
        package="langchain_openai",
        base_url="",
        key_env="",
        extra="local-llm",
    ),
}


def resolve_endpoint(
    name: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    offline: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Return the endpoint of a model, checked without opening a socket or importing a provider.

    Args:
        name: `provider:model`. `openai:` with a `base_url` is any server of OpenAI's protocol.
            `provider:model@http://host:port/v1` holds the address of its server. `local:` needs no
            model, and has no address before `LocalServer` runs it.
        base_url: The address of the server, which an address in the name overrides; by default the
            provider's own.
        key_env: The name of the variable that holds the key. With a `base_url`, no key is sent
            unless `key_env` names one, because a key must not reach a server that did not issue it.
        offline: Whether no socket may be opened, not even to a server on this machine. Only
            `local:` models are allowed then.
        environment: The environment variables.

    Raises:
        UsageError: If the provider is unknown, its extra is missing, the key is missing or
            malformed, `base_url` is malformed, or `offline` forbids the model; one line with the
            next step.
    """
    name, named_url = split_name(name)
    base_url = named_url or base_url
    provider_name, _, model = name.partition(":")
    provider = PROVIDERS.get(provider_name)
    is_local = provider is not None and not provider.base_url
    if provider is None or not (model or is_local):
        choices = ", ".join(f"{choice}:" for choice in PROVIDERS)
        raise UsageError(f"unknown model {name!r}: write provider:model, with one of {choices}")
    if offline and not is_local:
        raise UsageError(f"{name} needs a socket and --offline allows none; drop one of the two")
    if is_local and (base_url or key_env):
        raise UsageError(f"{name} runs inside Fathom; drop llm.base_url and llm.key_env")
    if importlib.util.find_spec(provider.package) is None:
        extra = provider.extra or provider_name
        raise UsageError(f"{name} is not installed; run: pip install 'fathom-qa[{extra}]'")
    return build_endpoint(provider, name, base_url, key_env, environment)


def split_name(name: str) -> tuple[str, str | None]:
    """Split `provider:model@http://host:port/v1` into the name and the address of its server.

    Returns:
        The name without the address, and the address; `None` as the address if there is none.
    """
    match = _ADDRESS.search(name)
    return (name[: match.start()], name[match.start() + 1 :]) if match else (name, None)


def build_endpoint(
    provider: LLMProvider,
    name: str,
    base_url: str | None,
    key_env: str | None,
    environment: Mapping[str, str],
) -> Endpoint:
    """Build the endpoint of a provider's model.

    Args:
        provider: The provider.
        name: `provider:model`.
        base_url: The address of the server; `None` for the provider's own.
        key_env: The variable that holds the key; `None` for the provider's usual one, or for no key
            if there is a `base_url`.
        environment: The environment variables.

    Raises:
        UsageError: For a missing or malformed key, or a malformed `base_url`.
    """
    if base_url is not None:
        check_url(base_url)
    variable = key_env or ("" if base_url else provider.key_env)
    provider_name, _, model = name.partition(":")
    return Endpoint(
        name=name,
        model=model,
        adapter=f"fathom.llm.providers.{provider_name}",
        base_url=base_url or provider.base_url,
        key=read_key(variable, name, environment) if variable else None,
        key_env=variable,
    )


def read_key(variable: str, name: str, environment: Mapping[str, str]) -> SecretStr:
    """Return the key that an environment variable holds, and add it to `SECRETS`.

    Args:
        variable: The name of the variable.
        name: The name of the model, for messages.
        environment: The environment variables.

    Raises:
        UsageError: If the variable is missing or empty, or its value cannot be a key.
    """
    value = environment.get(variable, "").strip()
    if not value:
        raise UsageError(f"{name} needs a key; run: export {variable}=...")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise UsageError(f"{variable} does not hold a key; export it again")
    SECRETS.add(value)
    return SecretStr(value)


def check_url(url: str, *, example: str = "http://host:port/v1", name: str = "base_url") -> None:
    """Check the address of a server, and add a password in it to `SECRETS`.

    Args:
        url: The address.
        example: A valid address, for the message.
        name: The name of the address in messages.

    Raises:
        UsageError: If it is no `http` or `https` address, or holds a user name or password.
    """
    # Looked for without urlsplit, which may refuse an address that holds a password.
    login = _LOGIN.search(url)
    if login:
        SECRETS.add(login["password"] or login["user"])
        raise UsageError(f"{name} holds a user name or password; name a variable in key_env")
    try:
        # urlsplit accepts almost anything, but `port` raises ValueError if it is no number.
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(f"{name} {url!r} is not an address; write it as {example}")
