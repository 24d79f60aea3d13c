"""Errors in the form that OpenAI's clients expect."""

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


def build_error_json(problem: Problem, param: str | None = None) -> dict[str, Any]:
    """Build the error as the body of a reply, or as the last chunk of a stream."""
    default_type = "server_error" if problem.status >= 500 else "invalid_request_error"
    return {
        "error": {
            "message": problem.build_message(),
            "type": _TYPES.get(problem.status, default_type),
            "param": param,
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
    return Problem(400, "unsupported_parameter", f"{param}: {reason}")


def build_openai_response(problem: Problem, param: str | None = None) -> Response:
    """Build the reply with an error, which also says whether OpenAI's clients may retry."""
    # Without this header OpenAI's clients retry every 409, 429 and 5xx.
    should_retry = "true" if problem.retry_after is not None else "false"
    headers = {**problem.build_headers(), "x-should-retry": should_retry}
    return JSONResponse(
        build_error_json(problem, param), status_code=problem.status, headers=headers
    )


def _build_validation_response(error: RequestValidationError) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":  # its place is a character of the body, and no parameter
        reason = build_validation_problem(error).detail
        return build_openai_response(Problem(400, "invalid_request", reason))
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    problem = Problem(400, "invalid_request", f"{place or 'the body'}: {first['msg']}")
    return build_openai_response(problem, place or None)
