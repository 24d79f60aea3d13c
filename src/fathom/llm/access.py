"""The address of a server and the key to it, checked before any socket is opened."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import SecretStr

from fathom.errors import UsageError


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


def check_url(url: str, *, example: str = "http://host:port/v1") -> None:
    """Accept the address of a server.

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
        raise UsageError("base_url holds a user name or password; name a variable in key_env")
    if not fine:
        raise UsageError(f"base_url {url!r} is no address; write it as {example}")
