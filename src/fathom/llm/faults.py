"""The typed errors of a model call, made from the errors of the providers' SDKs.

Messages never quote the text of an SDK, because it may hold headers, keys and prompts. They quote
the server's own message in one short line, without the key.
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
# Classes are recognised by their names, because the SDKs' HTTP libraries are not imported here.
_NOT_SENT = {"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol"}
_TRANSPORT = {"APIConnectionError", "RequestError", "TransportError", "TimeoutException"}
_LONGEST_QUOTE = 160
# Keys under which FastAPI and Groq repeat the request or the reply.
_QUOTED = frozenset({"input", "ctx", "failed_generation"})


class CallFailure(RunError):
    """A call that gave no usable reply, with the usage that the provider may charge.

    Attributes:
        usage: The usage, failed tries included; wrappers add theirs to it.
    """

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


class ModelDeclined(CallFailure, ModelRefused):
    """A refusal of the model or its server; another try would not help."""


class ReplyGarbled(CallFailure, MalformedReply):
    """A reply that cannot be used."""


class ModelFault(CallFailure, ModelUnavailable):
    """A failure of the server or of the connection to it.

    Attributes:
        retriable: Whether another try may help.
        retry_after_s: The seconds that the server asks us to wait; `None` if it names no time.
        at_once: Whether the next try sends a different request, so that no wait is needed.
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
        error: The exception; any but a cancellation.
        endpoint: The endpoint to name in the message.
        received: The usage so far, by our own count. If the request was declined or never sent, the
            error has only its calls, because nothing was generated.
    """
    unbilled = Usage(llm_calls=received.llm_calls)
    name = endpoint.name
    status = get_http_status(error)
    if status is not None:
        return _classify_status(error, status, endpoint, unbilled)
    # SDKs wrap the errors of their HTTP library, so the whole chain of causes counts.
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
    """Return the HTTP status, from 300, of a declined request; `None` for another error."""
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
    """Return all texts of a server's error body, except those that repeat request or reply."""
    return " ".join(iterate_texts(_get_body(error), without=_QUOTED))


def _get_body(error: BaseException) -> object:
    """Return the body of the server's error reply; `None` if the error has none."""
    body = getattr(error, "body", None)
    # Ollama's client calls the body `error`.
    return getattr(error, "error", None) if body is None else body


def redact_key(text: str, key: SecretStr | None) -> str:
    """Return `text` with `***` in place of the key, if there is one."""
    secret = key.get_secret_value() if key else ""
    return text.replace(secret, "***") if secret else text


def _classify_status(
    error: Exception, status: int, endpoint: Endpoint, usage: Usage
) -> CallFailure:
    """Return the error of a reply with an HTTP status from 300, with its next step."""
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
    """Return the seconds, at least 0, that the server asks us to wait; `None` without a time."""
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
    """Return the seconds since the epoch of an HTTP date, in any of its forms.

    Raises:
        ValueError: If the text is no date.
        OverflowError: If the date is out of range.
    """
    moment = parsedate_to_datetime(text)
    # HTTP dates are in UTC even if they name no zone; Python would read those as local time.
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).timestamp()


def _iterate_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, then its cause, then the cause of that, and so on; at most 20 errors."""
    cause: BaseException | None = error
    # Bounded, because a chain of causes may be a ring.
    for _ in range(20):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
