"""Where an index lies on a server: `postgresql://USER@HOST:PORT/DATABASE?workspace=NAME`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from fathom.errors import UsageError

SCHEMES = ("postgresql://", "postgres://")
DEFAULT = "default"
"""The workspace where none is named."""
_LEGS = "+qdrant:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_NEAR = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A workspace of a database.

    Attributes:
        host: Of the server, or the folder of its socket; empty where libpq is to choose.
        port: Likewise.
        user: Empty where libpq is to choose.
        password: Likewise; never shown.
        database: Likewise.
        workspace: Which of the indexes in the database.
        parameters: Further ones of libpq, such as `sslmode`.
        legs: The address of another engine that finds chunks; empty for PostgreSQL itself.
    """

    host: str = ""
    port: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    workspace: str = DEFAULT
    parameters: Mapping[str, str] = field(default_factory=dict)
    legs: str = ""

    @classmethod
    def of(cls, url: str) -> Self:
        """The address that a URL names.

        Raises:
            UsageError: If it is malformed; the message does not show it, as it may hold a password.
        """
        own, mark, legs = url.partition(_LEGS)
        try:
            parts = urlsplit(own)
            port = str(parts.port or "")
            given = parse_qsl(parts.query, strict_parsing=bool(parts.query))
        except ValueError as error:
            raise UsageError(f"the index's URL is malformed: {_FORM}") from error
        parameters = dict(given)
        workspace = parameters.pop("workspace", DEFAULT)
        if f"{parts.scheme}://" not in SCHEMES or (mark and not legs) or parts.fragment:
            raise UsageError(f"the index's URL is malformed: {_FORM}")
        return cls(
            host=parameters.pop("host", "") or unquote(parts.hostname or ""),
            port=parameters.pop("port", "") or port,
            user=parameters.pop("user", "") or unquote(parts.username or ""),
            password=parameters.pop("password", "") or unquote(parts.password or ""),
            database=parameters.pop("dbname", "") or unquote(parts.path.lstrip("/")),
            workspace=_checked(workspace),
            parameters=parameters,
            legs=legs,
        )

    def of_workspace(self, name: str) -> Self:
        """The same database, another workspace."""
        return replace(self, workspace=_checked(name))

    @property
    def is_near(self) -> bool:
        """Whether it is on this machine, for sure."""
        return self.host in _NEAR or self.host.startswith("/")

    @property
    def server(self) -> str:
        """Which server, as it may be shown."""
        return f"{self.host or 'the local server'}{f':{self.port}' if self.port else ''}"

    def connection(self) -> dict[str, str]:
        """What libpq takes."""
        own = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "dbname": self.database,
        }
        return {**self.parameters, **{key: value for key, value in own.items() if value}}

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        socket = self.host.startswith("/")
        host = "" if socket else self.host
        query = f"?host={self.host}&" if socket else "?"
        name = f"postgresql://{user}{host}{port}/{self.database}{query}workspace={self.workspace}"
        return f"{name}{_LEGS}{_shown(self.legs)}" if self.legs else name


_FORM = "write postgresql://USER@HOST:PORT/DATABASE?workspace=NAME"


def shown(url: str) -> str:
    """A URL as it may be shown: without its password."""
    try:
        return str(Address.of(url)) if url.startswith(SCHEMES) else url
    except UsageError:
        return "postgresql://... (malformed)"


def _shown(url: str) -> str:
    """The address of another engine without what is before its `@`, and without its query."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"


def _checked(workspace: str) -> str:
    if not _NAME.fullmatch(workspace):
        raise UsageError(
            f"workspace {workspace!r}: use letters, digits, dots, underscores and hyphens, at most "
            "100, the first a letter or a digit"
        )
    return workspace
