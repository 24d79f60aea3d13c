"""Errors in the form that OpenAI's clients expect."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from typing_extensions import override

from fathom.serving.http.dependencies import Handler, KeyFirstRoute
from fathom.serving.http.event_stream import ServerEvent, encode_json
from fathom.serving.http.problems import (
    Problem,
    build_http_problem,
    build_problem,
    build_validation_problem,
)
from fathom.types import Answer

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


class OpenAIRoute(KeyFirstRoute):
    """A route whose errors, including those of its dependencies, have OpenAI's form."""

    @override
    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handle_request(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return _build_validation_response(error)
            except HTTPException as error:
                return build_openai_response(build_http_problem(error))
            except Exception as error:  # noqa: BLE001 - every error becomes a reply
                return build_openai_response(build_problem(error))

        return handle_request


class ParameterProblem(Problem):
    """A failure for which one parameter of the request is to blame.

    Attributes:
        param: The parameter in OpenAI's form, such as `messages[0].role`.
    """

    def __init__(self, param: str, status: int, kind: str, detail: str, *, next: str = "") -> None:  # noqa: A002 - as in `Problem`
        super().__init__(status, kind, detail, next=next)
        self.param = param


def build_error_json(problem: Problem) -> dict[str, Any]:
    """Build the error as the body of a reply, or as the last chunk of a stream."""
    default_type = "server_error" if problem.status >= 500 else "invalid_request_error"
    return {
        "error": {
            "message": problem.build_message(),
            "type": _TYPES.get(problem.status, default_type),
            "param": problem.param if isinstance(problem, ParameterProblem) else None,
            "code": problem.kind,
        }
    }


def build_error_chunk(problem: Problem) -> ServerEvent:
    """Build the event that ends a failed stream."""
    return ServerEvent("", encode_json(build_error_json(problem)))


def require_finished_answer(answer: Answer) -> None:
    """Refuse a failed run; answers and abstentions pass.

    Raises:
        Problem: If the run failed.
    """
    if answer.status == "failed":
        raise Problem(502, "answer_failed", f"no answer: {answer.stop_reason}")


def build_parameter_problem(param: str, reason: str) -> Problem:
    """Build the problem of a parameter that cannot be satisfied."""
    return ParameterProblem(param, 400, "unsupported_parameter", f"{param}: {reason}")


def build_openai_response(problem: Problem) -> Response:
    """Build the reply with an error, which also says whether OpenAI's clients may retry."""
    # Without this header OpenAI's clients retry every 409, 429 and 5xx.
    should_retry = "true" if problem.retry_after is not None else "false"
    headers = {**problem.build_headers(), "x-should-retry": should_retry}
    return JSONResponse(build_error_json(problem), status_code=problem.status, headers=headers)


def _build_validation_response(error: RequestValidationError) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":  # its place is a character of the body, and no parameter
        reason = build_validation_problem(error).detail
        return build_openai_response(Problem(400, "invalid_request", reason))
    param, reason = _locate_fault(error)
    if not param:
        return build_openai_response(Problem(400, "invalid_request", f"the body: {reason}"))
    problem = ParameterProblem(param, 400, "invalid_request", f"{param}: {reason}")
    return build_openai_response(problem)


def _locate_fault(error: RequestValidationError) -> tuple[str, str]:
    """Return the parameter of the first fault, and what is wrong with it.

    A value that fits no member of a union has a fault for each; the deepest names it best.
    """
    faults = error.errors()
    top = faults[0]["loc"][:2]
    alike = [fault for fault in faults if fault["loc"][:2] == top]
    located = [(_list_parts(fault, error.body), fault["msg"]) for fault in alike]
    parts, reason = max(located, key=lambda entry: len(entry[0]))
    return "".join(parts).removeprefix("."), reason


def _list_parts(fault: Mapping[str, Any], body: object) -> list[str]:
    """Return the parts of the path to a fault in OpenAI's form, without the members of unions."""
    source, *rest = fault["loc"]
    if source != "body":
        return [f".{part}" for part in rest]
    parts: list[str] = []
    for number, part in enumerate(rest, start=1):
        is_missing = fault["type"] == "missing" and number == len(rest)
        if isinstance(part, int) and isinstance(body, list):
            parts.append(f"[{part}]")
            body = body[part] if part < len(body) else None
        elif is_missing or (isinstance(body, Mapping) and part in body):
            parts.append(f".{part}")
            body = body.get(part) if isinstance(body, Mapping) else None
    return parts
