"""The site that a document comes from, as its metadata or its address names it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

_NAMING = ("domain", "site", "host", "url")
"""The metadata keys that may name the site, in the order of precedence."""


def find_site(document_id: str, path: str, metadata: Mapping[str, object]) -> str:
    """Return the site of a document in small letters; empty if nothing names one.

    Args:
        document_id: The id of the document, which may be a web address.
        path: The path of the document, which may be a web address.
        metadata: The metadata of the document.
    """
    named = (metadata.get(key) for key in _NAMING)
    texts = [text.strip() for text in named if isinstance(text, str)]
    hosts = (read_host(text) or ("" if "/" in text else text.casefold()) for text in texts)
    return next(filter(None, hosts), "") or read_host(document_id) or read_host(path)


def read_host(address: str) -> str:
    """Return the host of a web address; empty for any other text."""
    try:
        parts = urlsplit(address)
    # Raised for unbalanced brackets, which a file name may have.
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in {"http", "https"} else ""
