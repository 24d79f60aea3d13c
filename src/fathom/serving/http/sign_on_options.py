"""The options of a sign-on at an issuer, with their default values.

The command line shows these values in its help, so this file imports nothing of the server.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOnOptions:
    """The claims that a sign-on reads, the scopes that it requests, and the length of a session.

    Attributes:
        scopes: The scopes that a sign-on requests; if empty, the default ones of `SignOnPlan`.
        user_claim: The claim with the user's name.
        groups_claim: The claim with the user's groups.
        roles_claim: The claim with the user's roles; if empty, every user is a reader.
        hours: The hours until a session ends.
    """

    scopes: tuple[str, ...] = ()
    user_claim: str = "sub"
    groups_claim: str = "groups"
    roles_claim: str = ""
    hours: float = 1.0
