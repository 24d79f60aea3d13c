"""The sign-on events that the audit log records."""

from dataclasses import dataclass
from typing import Literal

from fastapi import Request
from starlette.types import Scope

from fathom.jsonable import Json

SignOnAct = Literal["signed on", "refused", "signed out", "ended by the issuer"]
SIGN_ON_KEY = "oidc"
"""The prefix of the key ids of users who signed on at an issuer."""
REFUSALS_PER_MINUTE = 60
"""The number of refused sign-ons that are logged in a minute, because anybody can cause them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOnEvent:
    """An event of the sign-on of a user.

    Attributes:
        act: The kind of the event.
        name: The name of the user; empty if it is unknown.
        groups: The user's groups.
        reason: The reason of a refusal or of an end.
    """

    act: SignOnAct
    name: str = ""
    groups: tuple[str, ...] = ()
    reason: str = ""

    def to_json(self) -> Json:
        """Return the event as plain JSON."""
        return {"sign_on": self.act} | ({"reason": self.reason} if self.reason else {})


def note_event(request: Request, event: SignOnEvent) -> None:
    """Attach an event to a request for the audit log."""
    request.state.sign_on_event = event


def find_event(scope: Scope) -> SignOnEvent | None:
    """Return the event that was attached to a request; `None` without one."""
    event: SignOnEvent | None = scope.get("state", {}).get("sign_on_event")
    return event
