"""Where a Qdrant cluster is and how its collections are laid out, from one URL."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from fathom.errors import UsageError
from fathom.llm.endpoint import check_url, key_in

EXAMPLE = "https://host:6333/collection?shards=6&replicas=2"
COLLECTION = "fathom"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantAddress:
    """A cluster, and what new collections on it are like.

    Attributes:
        url: Of any node, without a path.
        collection: How the names of collections begin; the dimension of the vectors follows.
        shards: Of a new collection; the cluster's own default where it is `None`.
        replicas: Of each shard of a new collection; a write is acknowledged by most of them.
        key: Must be quoted nowhere.
    """

    url: str
    collection: str = COLLECTION
    shards: int | None = None
    replicas: int | None = None
    key: SecretStr | None = field(default=None, repr=False)


def qdrant_address(
    url: str,
    *,
    key_env: str = "",
    offline: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> QdrantAddress:
    """What a URL names, checked as far as it can be without a socket.

    Args:
        url: `https://host:6333[/collection][?shards=N&replicas=N]`.
        key_env: Name of the variable that holds the API key; none is sent without it.
        offline: Refuse, also for a server on this machine: offline means no socket at all.
        environment: Where the key is.

    Raises:
        UsageError: For a malformed address, a missing or malformed key, a key that would travel
            unencrypted to another machine, or when offline; one line.
    """
    if offline:
        raise UsageError("an index on Qdrant needs a socket and --offline allows none; drop one")
    check_url(url, example=EXAMPLE, name="the address of Qdrant")
    parts = urlsplit(url)
    collection = parts.path.strip("/") or COLLECTION
    if not _NAME.fullmatch(collection) or parts.fragment:
        raise UsageError(f"the address of Qdrant {url!r} is none; write it as {EXAMPLE}")
    key = key_in(key_env, "Qdrant", environment) if key_env else None
    if key is not None and parts.scheme == "http" and parts.hostname not in _OWN:
        raise UsageError(f"{key_env} would travel unencrypted to {parts.hostname}; use https://")
    return QdrantAddress(
        url=f"{parts.scheme}://{parts.netloc}",
        collection=collection,
        key=key,
        **_counts(parts.query),
    )


_OWN = frozenset({"127.0.0.1", "::1", "localhost"})


def _counts(query: str) -> dict[str, int]:
    given = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in given.items():
        if name not in {"shards", "replicas"}:
            raise UsageError(f"the address of Qdrant has no {name!r}; write it as {EXAMPLE}")
        if not (value.isascii() and value.isdigit() and 1 <= int(value) <= 10_000):
            raise UsageError(f"the address of Qdrant: {name} = {value!r} is no number from 1")
    return {name: int(value) for name, value in given.items()}
