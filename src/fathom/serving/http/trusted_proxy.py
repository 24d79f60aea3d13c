"""Sign-on by a reverse proxy, which names the user and the user's groups in headers.

Anybody can send such headers. They count only in a request from the address of the proxy, with a
secret that only the proxy and this server have.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hmac import compare_digest
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from starlette.types import Scope

from fathom.errors import UsageError
from fathom.redaction import SECRETS
from fathom.serving.http.access import Caller, build_unauthorized_problem
from fathom.serving.http.keys import GROUP, Key

SECRET_HEADER = "X-Fathom-Proxy-Secret"  # noqa: S105 - a name
LEAST_SECRET_CHARS = 16
IpAddress = IPv4Address | IPv6Address
LOOPBACK: frozenset[IpAddress] = frozenset({ip_address("127.0.0.1"), ip_address("::1")})
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_USER = re.compile(r"[^,*\x00-\x1f\x7f]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedProxy:
    """A reverse proxy that has signed its users on.

    Attributes:
        user_header: The header with the name of the user.
        groups_header: The header with the user's groups, separated by commas; empty for none.
        secret: The secret of the proxy, which it sends as `SECRET_HEADER`.
        addresses: The addresses from which the proxy connects.
    """

    user_header: str
    groups_header: str = ""
    secret: str = field(repr=False)
    addresses: frozenset[IpAddress] = LOOPBACK

    def identify_user(self, scope: Scope) -> Caller | None:
        """Return the user that the headers of a request name; `None` if it has no such headers.

        Args:
            scope: The request, whose `client` is the other end of its connection.

        Raises:
            Problem: 401 if the request has one of the headers and is not from the proxy, or its
                headers do not name one user.
        """
        users = _read_header(scope, self.user_header)
        groups = _read_header(scope, self.groups_header)
        secrets = _read_header(scope, SECRET_HEADER)
        if not (users or groups or secrets):
            return None
        is_sent_by_proxy = self._is_known_peer(scope) and self._has_secret(secrets)
        # Of two equal headers, one may be from the user and one from the proxy.
        if not is_sent_by_proxy or len(users) != 1 or len(groups) > 1:
            raise build_unauthorized_problem(
                "the sign-on headers are not from the proxy", "send the request through the proxy"
            )
        name = users[0].strip()
        if not _USER.fullmatch(name):
            raise build_unauthorized_problem(
                "the proxy names no user", "check the headers that the proxy sends"
            )
        return Caller(
            key=Key(id=f"proxy:{name}", name=name, groups=_split_groups(groups)),
            scopes=frozenset({"read"}),
        )

    def _is_known_peer(self, scope: Scope) -> bool:
        host = (scope.get("client") or ("",))[0]
        try:
            return _parse_address(host) in self.addresses
        except ValueError:  # such as a path of a socket
            return False

    def _has_secret(self, secrets: Sequence[str]) -> bool:
        return len(secrets) == 1 and compare_digest(secrets[0].encode(), self.secret.encode())


def build_proxy(
    user_header: str, groups_header: str, secret_file: Path | None, addresses: Iterable[str]
) -> TrustedProxy:
    """Build a proxy from the options of the command line.

    Args:
        user_header: The header with the name of the user.
        groups_header: The header with the user's groups; empty for none.
        secret_file: The file with the secret.
        addresses: The addresses from which the proxy connects; by default those of loopback.

    Raises:
        UsageError: If the name of a header or an address is invalid, or there is no secret.
    """
    for option, name in (("user", user_header), ("groups", groups_header or "none")):
        if not _HEADER.fullmatch(name):
            raise UsageError(f"--proxy-{option}-header {name!r}: use letters, digits and hyphens")
    return TrustedProxy(
        user_header=user_header,
        groups_header=groups_header,
        secret=_load_secret(secret_file),
        addresses=frozenset(map(_check_address, addresses)) or LOOPBACK,
    )


def _load_secret(file: Path | None) -> str:
    if file is None:
        raise UsageError(
            "--proxy-user-header: anybody could send this header; give --proxy-secret FILE with a "
            f"secret, and let the proxy send it as {SECRET_HEADER}"
        )
    try:
        secret = file.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--proxy-secret {file}: {error}; write a secret into it") from None
    if len(secret) < LEAST_SECRET_CHARS or not (secret.isascii() and secret.isprintable()):
        raise UsageError(
            f"--proxy-secret {file}: give at least {LEAST_SECRET_CHARS} ASCII characters in one "
            "line, such as `openssl rand -hex 32` prints"
        )
    SECRETS.add(secret)
    return secret


def _check_address(text: str) -> IpAddress:
    try:
        return _parse_address(text)
    except ValueError:
        raise UsageError(
            f"--proxy-address {text!r}: give the IP address from which the proxy connects"
        ) from None


def _parse_address(text: str) -> IpAddress:
    """Return an address; convert an IPv4 address that is mapped into IPv6 to IPv4."""
    address = ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


def _read_header(scope: Scope, name: str) -> list[str]:
    """Return the values of all headers of a name; other bytes than UTF-8 are replaced."""
    wanted = name.lower().encode("ascii")
    return [value.decode("utf-8", "replace") for key, value in scope["headers"] if key == wanted]


def _split_groups(values: Sequence[str]) -> frozenset[str]:
    """Return the groups in a header without invalid names; `*` is invalid too."""
    names = (name.strip() for value in values for name in value.split(","))
    return frozenset(name for name in names if GROUP.fullmatch(name))
