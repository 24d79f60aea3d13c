"""The address of an index on a server: `postgresql://USER@HOST:PORT/DATABASE?workspace=NAME`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from fathom.errors import UsageError
from fathom.redaction import SECRETS

SCHEMES = ("postgresql://", "postgres://")
DEFAULT_WORKSPACE = "default"
"""The workspace of a URL that names none."""
_BACKEND_MARK = "+qdrant:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a workspace in a database.

    Attributes:
        host: The server's name, or the folder of its socket; empty lets libpq choose.
        port: The server's port; empty lets libpq choose.
        user: The user's name; empty lets libpq choose.
        password: The user's password, which no message shows; empty lets libpq choose.
        database: The database's name; empty lets libpq choose.
        workspace: The name of one of the indexes in the database.
        parameters: Further parameters of libpq, such as `sslmode`.
        backend_url: The address of another engine that searches the chunks; empty if PostgreSQL
            itself searches them.
    """

    host: str = ""
    port: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    workspace: str = DEFAULT_WORKSPACE
    parameters: Mapping[str, str] = field(default_factory=dict)
    backend_url: str = ""

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Return the address that a URL names.

        Raises:
            UsageError: If the URL is malformed; the message does not show the URL, which may
                contain a password.
        """
        server_url, mark, backend = url.partition(_BACKEND_MARK)
        try:
            parts = urlsplit(server_url)
            port = str(parts.port or "")
            # Strict parsing refuses a mistyped query, but it refuses an empty one too.
            pairs = parse_qsl(parts.query, strict_parsing=bool(parts.query))
        except ValueError as error:
            raise UsageError(f"the index's URL is malformed: {_EXPECTED_FORM}") from error
        parameters = dict(pairs)
        workspace = parameters.pop("workspace", DEFAULT_WORKSPACE)
        if f"{parts.scheme}://" not in SCHEMES or (mark and not backend) or parts.fragment:
            raise UsageError(f"the index's URL is malformed: {_EXPECTED_FORM}")
        password = parameters.pop("password", "") or unquote(parts.password or "")
        SECRETS.add(password)
        return cls(
            # libpq takes these values from the query too, and prefers them.
            host=parameters.pop("host", "") or unquote(parts.hostname or ""),
            port=parameters.pop("port", "") or port,
            user=parameters.pop("user", "") or unquote(parts.username or ""),
            password=password,
            database=parameters.pop("dbname", "") or unquote(parts.path.lstrip("/")),
            workspace=_check_workspace(workspace),
            parameters=parameters,
            backend_url=backend,
        )

    def switch_workspace(self, name: str) -> Self:
        """Return the address of another workspace of the same database.

        Raises:
            UsageError: If the name of the workspace is malformed.
        """
        return replace(self, workspace=_check_workspace(name))

    @property
    def is_near(self) -> bool:
        """True if the host is certainly this machine: a loopback address or a socket."""
        return self.host in _LOCAL_HOSTS or self.host.startswith("/")

    @property
    def server(self) -> str:
        """The server's host and port, as messages show them."""
        return f"{self.host or 'the local server'}{f':{self.port}' if self.port else ''}"

    def build_connection_parameters(self) -> dict[str, str]:
        """Return the parameters that libpq connects with."""
        fields = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "dbname": self.database,
        }
        return {**self.parameters, **{key: value for key, value in fields.items() if value}}

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        socket = self.host.startswith("/")
        host = "" if socket else self.host
        query = f"?host={self.host}&" if socket else "?"
        name = f"postgresql://{user}{host}{port}/{self.database}{query}workspace={self.workspace}"
        return (
            f"{name}{_BACKEND_MARK}{_redact_backend_url(self.backend_url)}"
            if self.backend_url
            else name
        )


_EXPECTED_FORM = "write postgresql://USER@HOST:PORT/DATABASE?workspace=NAME"


def redact_url(url: str) -> str:
    """Return the URL of an index without its password, as messages show it.

    The URLs of other engines are returned unchanged.
    """
    try:
        return str(Address.from_url(url)) if url.startswith(SCHEMES) else url
    except UsageError:
        return "postgresql://... (malformed)"


def _redact_backend_url(url: str) -> str:
    """Return the address of another engine without its credentials and its query."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"


def _check_workspace(workspace: str) -> str:
    """Return the name of a workspace if it is well-formed.

    Raises:
        UsageError: If it is not.
    """
    if not _NAME.fullmatch(workspace):
        raise UsageError(
            f"workspace {workspace!r}: use letters, digits, dots, underscores and hyphens, at most "
            "100, the first a letter or a digit"
        )
    return workspace
