"""The address of a Qdrant cluster and the layout of its collections, from one URL."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from fathom.errors import UsageError
from fathom.llm.endpoint import check_url, read_key

EXAMPLE = "https://host:6333/collection?shards=6&replicas=2"
COLLECTION = "fathom"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantAddress:
    """The address of a cluster, and the layout of new collections on it.

    Attributes:
        url: The URL of any node, without a path.
        collection: The beginning of the names of collections; the dimension of the vectors follows.
        shards: The number of shards of a new collection; `None` leaves it to the cluster.
        replicas: The number of replicas of each shard of a new collection; most of them must
            acknowledge a write. `None` leaves it to the cluster.
        key: The API key, which no message may show.
    """

    url: str
    collection: str = COLLECTION
    shards: int | None = None
    replicas: int | None = None
    key: SecretStr | None = field(default=None, repr=False)


def parse_qdrant_address(
    url: str,
    *,
    key_env: str = "",
    offline: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> QdrantAddress:
    """Return the address that a URL names, checked as far as possible without a socket.

    Args:
        url: `https://host:6333[/collection][?shards=N&replicas=N]`.
        key_env: The name of the environment variable that holds the API key; no key is sent if it
            is empty.
        offline: Whether to refuse every address, even one on this machine, because no socket may be
            opened.
        environment: The environment variables.

    Raises:
        UsageError: For a malformed address, a missing or malformed key, a key that would travel
            unencrypted to another machine, or when offline.
    """
    if offline:
        raise UsageError("an index on Qdrant needs a socket and --offline allows none; drop one")
    check_url(url, example=EXAMPLE, name="the address of Qdrant")
    parts = urlsplit(url)
    collection = parts.path.strip("/") or COLLECTION
    if not _NAME.fullmatch(collection) or parts.fragment:
        raise UsageError(f"the address of Qdrant {url!r} is none; write it as {EXAMPLE}")
    key = read_key(key_env, "Qdrant", environment) if key_env else None
    if key is not None and parts.scheme == "http" and parts.hostname not in _LOCAL_HOSTS:
        raise UsageError(f"{key_env} would travel unencrypted to {parts.hostname}; use https://")
    return QdrantAddress(
        url=f"{parts.scheme}://{parts.netloc}",
        collection=collection,
        key=key,
        **_parse_counts(parts.query),
    )


_LOCAL_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})


def _parse_counts(query: str) -> dict[str, int]:
    """Return the numbers of shards and replicas in the query of a URL, as far as it has them.

    Raises:
        UsageError: If the query has another field, or a value is no number from 1 to 10,000.
    """
    fields = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in fields.items():
        if name not in {"shards", "replicas"}:
            raise UsageError(f"the address of Qdrant has no {name!r}; write it as {EXAMPLE}")
        # `isdigit` accepts digits of other scripts, such as superscripts, which `int` refuses.
        if not (value.isascii() and value.isdigit() and 1 <= int(value) <= 10_000):
            raise UsageError(f"the address of Qdrant: {name} = {value!r} is no number from 1")
    return {name: int(value) for name, value in fields.items()}
