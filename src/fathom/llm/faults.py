"""The typed errors of a model call, derived from whatever a provider's SDK raises.

Messages hold no text of an SDK's own, because it may quote headers, keys and prompts. The server's
own message is quoted in one short line, with the key removed.
"""

import time
from collections.abc import Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite

from pydantic import SecretStr

from fathom.errors import MalformedReply, ModelRefused, ModelUnavailable, RunError
from fathom.jsonable import iterate_texts
from fathom.llm.endpoint import Endpoint
from fathom.usage import Usage

_RETRIABLE = {408, 409, 425, 429}
# Names of classes, because the SDKs' own libraries are not imported here.
_NOT_SENT = {"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol"}
_TRANSPORT = {"APIConnectionError", "RequestError", "TransportError", "TimeoutException"}
_LONGEST_QUOTE = 160
# Keys under which FastAPI and Groq repeat the request or the reply.
_QUOTED = frozenset({"input", "ctx", "failed_generation"})


class CallFailure(RunError):
    """A call that gave no usable reply, and its possible cost.

    Attributes:
        usage: The cost by our own count, failed tries included.
    """

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


class ModelDeclined(CallFailure, ModelRefused):
    """The model or its server declined. Another try would not help."""


class ReplyGarbled(CallFailure, MalformedReply):
    """The reply cannot be used."""


class ModelFault(CallFailure, ModelUnavailable):
    """A failure of the server or of the connection to it.

    Attributes:
        retriable: Whether another try may help.
        retry_after_s: The seconds that the server asks us to wait; `None` if it asks for none.
        at_once: Whether the next try is a different request, so that no wait is needed.
    """

    def __init__(
        self,
        message: str,
        usage: Usage,
        *,
        retriable: bool = True,
        retry_after_s: float | None = None,
        at_once: bool = False,
    ) -> None:
        super().__init__(message, usage)
        self.retriable = retriable
        self.retry_after_s = retry_after_s
        self.at_once = at_once


def classify_error(error: Exception, endpoint: Endpoint, received: Usage) -> CallFailure:
    """Return the typed error for an exception that an SDK raised.

    Args:
        error: Any exception but a cancellation.
        endpoint: The endpoint to name in the message.
        received: What was sent and received, by our own count. A request that was declined or never
            sent generated nothing and costs one call.
    """
    unbilled = Usage(llm_calls=received.llm_calls)
    name = endpoint.name
    status = get_http_status(error)
    if status is not None:
        return _classify_status(error, status, endpoint, unbilled)
    # SDKs wrap the errors of their HTTP library, so the whole chain of causes is looked through.
    kinds = {base.__name__ for cause in _iterate_causes(error) for base in type(cause).__mro__}
    if kinds & _NOT_SENT:
        return ModelFault(
            f"{name} cannot be reached; check its base_url and that it runs", unbilled
        )
    if kinds & _TRANSPORT or isinstance(error, OSError):
        return ModelFault(f"{name}: the connection broke before the reply was whole", received)
    if "APIError" in kinds:
        return ModelFault(f"{name}: the server reported an error inside its reply", received)
    reason = f"{name} sent what is not a chat reply ({type(error).__name__}); try another model"
    return ReplyGarbled(reason, received)


def get_http_status(error: BaseException) -> int | None:
    """Return the HTTP status of a declined request; `None` for another error."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 300 else None


def extract_message(error: BaseException) -> str:
    """Return the server's own message; empty if there is none."""
    body = _get_body(error)
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        return (
            message if isinstance(message, str) else " ".join(iterate_texts(inner, without=_QUOTED))
        )
    return body if isinstance(body, str) else ""


def collect_server_text(error: BaseException) -> str:
    """Return all texts of a server's error body, except those that repeat our request."""
    return " ".join(iterate_texts(_get_body(error), without=_QUOTED))


def _get_body(error: BaseException) -> object:
    body = getattr(error, "body", None)
    # Ollama's client calls the body `error`.
    return getattr(error, "error", None) if body is None else body


def redact_key(text: str, key: SecretStr | None) -> str:
    """Return `text` with the key replaced by ***."""
    secret = key.get_secret_value() if key else ""
    return text.replace(secret, "***") if secret else text


def _classify_status(
    error: Exception, status: int, endpoint: Endpoint, usage: Usage
) -> CallFailure:
    reason = " ".join(redact_key(extract_message(error), endpoint.key).split())[:_LONGEST_QUOTE]
    reason = reason or "no reason given"
    if status in _RETRIABLE or status >= 500:
        return ModelFault(
            f"{endpoint.name} answered {status}: {reason}",
            usage,
            retry_after_s=_parse_retry_after(error),
        )
    steps = {
        401: f"; check the key in {endpoint.key_env or 'key_env'}",
        403: f"; check what the key in {endpoint.key_env or 'key_env'} may do",
        404: "; check the model's name and the base_url",
    }
    step = steps.get(status, "")
    return ModelDeclined(f"{endpoint.name} declined with {status}: {reason}{step}", usage)


def _parse_retry_after(error: Exception) -> float | None:
    header = getattr(getattr(error, "response", None), "headers", {}).get("retry-after")
    if not isinstance(header, str):
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            # The header is either a number of seconds or a date.
            seconds = _parse_http_date(header) - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if isfinite(seconds) else None


def _parse_http_date(text: str) -> float:
    """Return the seconds since the epoch of a date of HTTP, in any of its forms.

    Raises:
        ValueError: If the text is no date.
        OverflowError: If the date is too far away.
    """
    moment = parsedate_to_datetime(text)
    # Dates of HTTP are in UTC, also those that name no zone; Python would read these as local time.
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).timestamp()


def _iterate_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    # Bounded, as a chain of causes may be a ring.
    for _ in range(20):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
