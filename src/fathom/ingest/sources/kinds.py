"""The kinds of sources, which are told apart by their URLs, and their names and passwords."""

import os
import re
import unicodedata
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from fathom.documents.discover import format_path, make_absolute
from fathom.errors import UsageError
from fathom.ingest.sources.base import DocumentSource, SourceOptions
from fathom.redaction import SECRETS

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""The form of the name of a source."""
LONGEST_URL = 2_000
"""The largest length of the URL of a source in characters."""
KEYRING_SERVICE = "fathom-source"
"""The service under which passwords of sources are stored in the keyring of the system."""
_SHORT_SSH = re.compile(r"[\w.-]+@[\w.-]+:[^/]")
_GIT_SCHEMES = frozenset({"git", "git+file", "git+http", "git+https", "git+ssh", "ssh"})
_REMOTE_SCHEMES = frozenset({"imaps", "s3", "sftp", "webdav", "webdavs"})
_USER_SCHEMES = ("imaps", "sftp", "ssh")
"""The ends of the schemes whose URLs may have a user name; with others it may be a token."""
_FILE_SCHEMES = frozenset({"file", "mbox"})
_SITE_SCHEMES = frozenset({"http", "https"})
_SCHEMES = "a folder, git+https://, https://, s3://, webdavs://, sftp://, imaps:// or mbox://"


def normalize_url(url: str) -> str:
    """Return the URL of a source as it is stored; a folder becomes its absolute path.

    Raises:
        UsageError: If the URL is of no known kind, is too long, or may hold a secret.
    """
    if len(url) > LONGEST_URL or not _is_legible(url):
        raise UsageError("the URL of the source is too long, or holds characters without a shape")
    if _SHORT_SSH.match(url):
        return url
    scheme, mark, rest = url.partition("://")
    if not (rest if mark else scheme).strip():  # a script with an unset variable means no folder
        raise UsageError(f"{url!r} names no source; write {_SCHEMES}")
    if not mark:
        _check_is_path(url)
    if not mark or scheme == "file":
        return _locate_folder(unquote(rest, errors="surrogateescape") if mark else url)
    if scheme == "mbox":
        return f"{scheme}://{quote(format_path(make_absolute(unquote(rest))))}"
    check_no_secret(url)
    if scheme not in _GIT_SCHEMES | _REMOTE_SCHEMES | _SITE_SCHEMES:
        raise UsageError(f"{scheme}:// names no kind of source; write {_SCHEMES}")
    return url


def _is_legible(url: str) -> bool:
    """Return whether each character of a URL has a shape; folders may hold spaces of any width."""
    is_path = "://" not in url and not _SHORT_SSH.match(url)
    return all(
        char.isprintable() or (is_path and unicodedata.category(char) == "Zs") for char in url
    )


def _check_is_path(path: str) -> None:
    """Check that a path is not meant as a URL. The message of the error does not repeat it.

    Raises:
        UsageError: If it begins with a scheme and a colon.
    """
    scheme, colon, _ = path.partition(":")
    if colon and scheme.lower() in _GIT_SCHEMES | _REMOTE_SCHEMES | _SITE_SCHEMES | _FILE_SCHEMES:
        raise UsageError(
            f"{scheme}: is not followed by // in the URL of the source; write {scheme}://, or ./ "
            "before the path of a folder"
        )


def _locate_folder(path: str) -> str:
    try:
        return format_path(make_absolute(Path(path).expanduser()))
    except RuntimeError:  # `~ana`, without such a user
        raise UsageError(
            f"{path!r} begins with the home of no user; write the whole path"
        ) from None


def check_no_secret(url: str) -> None:
    """Check that a URL holds no password or token. The message of the error does not repeat it.

    Raises:
        UsageError: If the URL is malformed, or has a password, a query, a fragment, or a user name
            that may be a token.
    """
    try:
        parts = urlsplit(url)
        password, user = parts.password, parts.username
    except ValueError:
        raise UsageError("the URL of the source is malformed; check its host and port") from None
    secret = password or (user if not parts.scheme.endswith(_USER_SCHEMES) else "") or ""
    SECRETS.add(secret)
    if secret or password is not None:
        raise UsageError(
            "the URL of the source holds a user name or password; take it out, and export "
            "SOURCE_NAME_USER and SOURCE_NAME_PASSWORD, with the source's name in place of NAME"
        )
    if parts.query or parts.fragment:
        raise UsageError(
            "the URL of the source has a part after ? or #, which may hold a secret; leave it out"
        )


def make_source_name(url: str) -> str:
    """Return a name for a source, made of the last part of its URL; `source` if that gives none."""
    last = re.split(r"[/:]", url.rstrip("/"))[-1].partition("@")[0].removesuffix(".git")
    name = re.sub(r"[^a-z0-9._-]+", "-", last.lower()).strip("-._")[:64]
    return name or "source"


def check_name(name: str) -> None:
    """Check the name of a source.

    Raises:
        UsageError: If it does not match `NAME`.
    """
    if NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} cannot name a source; take small letters, digits and - . _ (64 at most)"
        )


def read_credentials(name: str, environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the user name and the password for a source, each empty if there is none.

    They are read from the variables `SOURCE_NAME_USER` and `SOURCE_NAME_PASSWORD`, where `NAME` is
    the name in capitals, with `_` in place of all but letters and digits. If there is no such
    password, it is read from the keyring of the system, if the package `keyring` is installed.
    """
    stem = f"SOURCE_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    user = environment.get(f"{stem}_USER", "")
    password = environment.get(f"{stem}_PASSWORD", "") or _read_keyring(name)
    SECRETS.add(password)
    return user, password


def _read_keyring(name: str) -> str:
    """Return the password of a source in the keyring of the system; empty if there is none."""
    if find_spec("keyring") is None:
        return ""
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(KEYRING_SERVICE, name) or ""
    except KeyringError:  # there is no keyring, or it is locked
        return ""


def open_source(url: str, options: SourceOptions) -> DocumentSource:
    """Open the source at a URL that `normalize_url` returned; nothing is read yet.

    Raises:
        UsageError: If the source needs a missing program or package, or a connection while offline.
    """
    scheme, mark, _ = url.partition("://")
    if _SHORT_SSH.match(url) or (mark and scheme in _GIT_SCHEMES):
        from fathom.ingest.sources.git import GitSource

        return GitSource(url, options)
    if scheme == "mbox":
        from fathom.ingest.sources.mail import MailboxSource

        return MailboxSource(url, options)
    if scheme == "imaps":
        from fathom.ingest.sources.imap import ImapSource

        return ImapSource(url, options)
    if mark and scheme in _SITE_SCHEMES:
        from fathom.ingest.sources.site import SiteSource

        return SiteSource(url, options)
    if mark:
        from fathom.ingest.sources import remote

        openers = {"s3": remote.open_bucket, "sftp": remote.open_sftp}
        return openers.get(scheme, remote.open_webdav)(url, options)
    from fathom.ingest.sources.folder import FolderSource

    return FolderSource(url, options)
