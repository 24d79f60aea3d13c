"""The conversion of an issuer's claims to a user of this server."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fathom.serving.http import keys
from fathom.serving.http.keys import GROUP, Scope
from fathom.serving.http.openid import OFFLINE_SCOPE, IssuerAddresses, TokenRefusal
from fathom.serving.http.sign_on_options import SignOnOptions

_USER = re.compile(r"[^,*\x00-\x1f\x7f]{1,255}")
SCOPES = ("openid", "profile", "email")
"""The scopes that a sign-on asks for by default."""
ROLES: Mapping[str, frozenset[Scope]] = {
    "reader": frozenset({"read"}),
    "editor": frozenset({"read", "ingest"}),
    "admin": frozenset(keys.SCOPES),
}
"""The scopes of each role."""
_LABELS = ("preferred_username", "name", "email")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOnUser:
    """A user as an issuer's claims describe them.

    Attributes:
        name: The name that rules and owned traces use.
        label: The display name.
        groups: The names of the user's groups, sorted.
        scopes: The scopes of the user, sorted.
    """

    name: str
    label: str
    groups: tuple[str, ...]
    scopes: tuple[Scope, ...]

    def has_same_rights(self, other: "SignedOnUser") -> bool:
        """Return whether both have the same name, groups and scopes."""
        return (self.name, self.groups, self.scopes) == (other.name, other.groups, other.scopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOnPlan(SignOnOptions):
    """The conversion of an issuer's claims to a user.

    Without `scopes`, a sign-on requests `SCOPES`, and `OFFLINE_SCOPE` if the issuer names it.
    """

    def choose_scopes(self, addresses: IssuerAddresses) -> str:
        """Return the scopes to request from an issuer, separated by spaces."""
        offline = (OFFLINE_SCOPE,) if OFFLINE_SCOPE in addresses.scopes else ()
        return " ".join(dict.fromkeys(("openid", *(self.scopes or (*SCOPES, *offline)))))

    def parse_user(self, claims: Mapping[str, Any]) -> SignedOnUser:
        """Return the user whom claims describe.

        Raises:
            TokenRefusal: If they name no user, or no role although roles are required.
        """
        claim = self.user_claim
        name = find_claim(claims, claim)
        if not isinstance(name, str) or not _USER.fullmatch(name):
            raise TokenRefusal(
                f"{claims.get('iss', 'the issuer')} names no user in the claim {claim!r}"
                + (" that it has verified" if claim == "email" else "")
                + "; let the issuer send the claim, or name another one with --oidc-user"
            )
        labels = (claims.get(label) for label in _LABELS)
        label = next((text for text in labels if isinstance(text, str) and text), name)
        groups = parse_groups(find_claim(claims, self.groups_claim))
        return SignedOnUser(
            name=name,
            label=label[:100],
            groups=tuple(sorted(groups)),
            scopes=tuple(sorted(self._parse_scopes(claims))),
        )

    def _parse_scopes(self, claims: Mapping[str, Any]) -> frozenset[Scope]:
        """Return the scopes of all roles of a user."""
        if not self.roles_claim:
            return ROLES["reader"]
        roles = parse_groups(find_claim(claims, self.roles_claim)) & ROLES.keys()
        if not roles:
            raise TokenRefusal(
                f"{claims.get('iss', 'the issuer')} names no role in the claim "
                f"{self.roles_claim!r}; let the issuer give the user one of {', '.join(ROLES)}"
            )
        return frozenset().union(*(ROLES[role] for role in roles))


def find_claim(claims: Mapping[str, Any], name: str) -> object:
    """Return a claim by its name, or by a path such as `realm_access.roles`; `None` without one.

    The claim `email` counts only if the issuer has verified it, because users can enter any
    address.

    Args:
        claims: The claims of a token.
        name: The name or the path. A claim whose whole name is `name` comes first.
    """
    if name == "email" and claims.get("email_verified") is not True:
        return None
    if name in claims:
        return claims[name]
    value: object = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def parse_groups(claim: object) -> frozenset[str]:
    """Return the valid names of groups in a claim.

    Args:
        claim: The value of the claim: a list of names or one name. Any other value has no groups.
    """
    names = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return frozenset(name for name in names if isinstance(name, str) and GROUP.fullmatch(name))
