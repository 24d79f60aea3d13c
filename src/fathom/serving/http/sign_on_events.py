"""The events of sign-on that the audit log names."""

from dataclasses import dataclass
from typing import Literal

from fastapi import Request
from starlette.types import Scope

from fathom.jsonable import Json

SignOnAct = Literal["signed on", "refused", "signed out", "ended by the issuer"]
SIGN_ON_KEY = "oidc"
"""The beginning of the ids of users whom an issuer signs on, in place of the id of a key."""
REFUSALS_PER_MINUTE = 60
"""The refused sign-ons that are written in a minute, as anybody can cause them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOnEvent:
    """An event of the sign-on of a user.

    Attributes:
        act: The event.
        name: The name of the user; empty if nobody is known.
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
    """Note an event of a request for the audit log."""
    request.state.sign_on_event = event


def find_event(scope: Scope) -> SignOnEvent | None:
    """Return the event that was noted for a request, as ASGI hands it on; `None` without any."""
    event: SignOnEvent | None = scope.get("state", {}).get("sign_on_event")
    return event
