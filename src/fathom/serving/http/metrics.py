"""Metrics for Prometheus: the numbers, times and costs of requests and answers."""

import time
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.serving.http.admission import Admission
from fathom.types import Answer

SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENAI_PREFIX = "/v1"


class Metrics:
    """The metrics of one server; no label contains a workspace, a key or a question."""

    def __init__(self, admission: Admission) -> None:
        self._registry = registry = CollectorRegistry()
        count = partial(Counter, registry=registry)
        measure = partial(Histogram, buckets=SECONDS, registry=registry)
        self._requests = count("fathom_requests", "Requests.", ["method", "route", "status"])
        self._taken = measure("fathom_request_seconds", "Seconds until a reply began.")
        self._answers = count("fathom_answers", "Answers.", ["strategy", "status", "stop"])
        self._seconds = measure("fathom_answer_seconds", "Seconds of an answer.", ["strategy"])
        self._waited = measure("fathom_waited_seconds", "Seconds of waiting for a turn.")
        self._tokens = count("fathom_tokens", "Tokens of language models.", ["kind"])
        self._cost = count("fathom_cost_usd", "Cost of language models in USD.")
        for name, description, value in (
            ("fathom_running", "Questions that run.", lambda: admission.running),
            ("fathom_waiting", "Questions that wait.", lambda: admission.waiting),
            (
                "fathom_turned_away",
                "Questions that could not wait.",
                lambda: admission.refused_count,
            ),
        ):
            Gauge(name, description, registry=registry).set_function(value)

    def count_answer(self, answer: Answer, waited: float) -> None:
        """Count an answer that waited so many seconds for its turn."""
        stop = answer.stop_reason if answer.status == "abstained" else answer.status
        stop = "tentative" if answer.tentative else stop
        self._answers.labels(answer.strategy, answer.status, stop).inc()
        self._seconds.labels(answer.strategy).observe(answer.usage.seconds)
        self._waited.observe(waited)
        self._tokens.labels("prompt").inc(answer.usage.prompt_tokens)
        self._tokens.labels("completion").inc(answer.usage.completion_tokens)
        self._cost.inc(answer.usage.cost_usd or 0.0)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the pattern, `seconds` the time until the reply began."""
        self._requests.labels(method, route, str(status)).inc()
        self._taken.observe(seconds)

    def render_text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class RequestCounter:
    """An ASGI middleware that counts requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a request, and pass it on, as ASGI defines it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()

        async def count_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Clients may send any word as the method; each would be a label of its own.
                method = scope["method"] if scope["method"] in _METHODS else "other"
                seconds = time.perf_counter() - start
                self._metrics.count_request(
                    method, get_route_pattern(scope), message["status"], seconds
                )
            await send(message)

        await self._app(scope, receive, count_and_send)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def get_route_pattern(scope: Scope) -> str:
    """Return the pattern of the matched route, because paths would make too many labels."""
    route: Any = scope.get("route")
    pattern = getattr(route, "path", None)
    if pattern is None:
        return "other"
    # The pattern of a router within a router lacks the prefix of the outer router.
    prefix = OPENAI_PREFIX
    is_part = scope["path"].startswith(f"{prefix}/") and not pattern.startswith(prefix)
    return f"{prefix}{pattern}" if is_part else str(pattern)
