"""A trace as OpenTelemetry spans, with the attributes of both families in use.

`gen_ai.*` are OpenTelemetry's conventions for generative models (still marked "Development"),
the others are those of OpenInference, which Phoenix and others read. Made after the run from
what was recorded, so that a run costs nothing for it. Needs the extra `otel`.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fathom.errors import UsageError
from fathom.jsonable import Json, canonical
from fathom.runs.trace import Step, Trace
from fathom.usage import Usage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

Attributes = dict[str, str | int | float]

_KINDS = {"retriever": "RETRIEVER", "reranker": "RERANKER", "embedder": "EMBEDDING"}


def spans(trace: Trace, *, content: bool = False) -> "list[ReadableSpan]":
    """One span for the run and one for each step; any span exporter takes them.

    Args:
        trace: A sealed trace; its id is that of the spans too.
        content: Also export the question, the inputs and outputs of steps and the answer, which
            may hold text of the documents.

    Raises:
        UsageError: If the extra is not installed.
    """
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags
    except ImportError:
        raise UsageError(
            "OpenTelemetry is not installed; run `pip install 'fathom-qa[otel]'`"
        ) from None
    resource = Resource({"service.name": "fathom"})

    def context(step_id: str) -> Any:  # noqa: ANN401 - a class of a package that may be missing
        number = int(sha256(f"{trace.id}/{step_id}".encode()).hexdigest()[:16], 16)
        return SpanContext(int(trace.id, 16), number, False, TraceFlags(TraceFlags.SAMPLED))

    made = [
        ReadableSpan(
            name=f"invoke_workflow {trace.origin.strategy}",
            context=context(""),
            resource=resource,
            attributes=_of_run(trace, content=content),
            start_time=_nanoseconds(trace, 0.0),
            end_time=_nanoseconds(trace, trace.seconds),
        )
    ]
    for step in trace.steps:
        status = Status(StatusCode.ERROR, step.error) if step.error else Status(StatusCode.OK)
        span = ReadableSpan(
            name=f"{_operation(step)} {step.name}",
            context=context(step.id),
            parent=context(step.parent),
            resource=resource,
            attributes=_of_step(step, content=content),
            status=status,
            start_time=_nanoseconds(trace, step.started_at),
            end_time=_nanoseconds(trace, step.started_at + step.seconds),
        )
        made.append(span)
    return made


def _of_run(trace: Trace, *, content: bool) -> Attributes:
    found: Attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "openinference.span.kind": "CHAIN",
        "fathom.strategy": trace.origin.strategy,
        "fathom.index_revision": trace.origin.index_revision,
        "fathom.settings_hash": trace.origin.settings_hash,
    }
    found |= _of_usage(trace.usage)
    if content:
        found["input.value"] = trace.origin.question
        found |= _value("output", trace.answer)
    return found


def _of_step(step: Step, *, content: bool) -> Attributes:
    kind = "LLM" if step.usage.llm_calls else _KINDS.get(step.agent, "CHAIN")
    found: Attributes = {
        "gen_ai.operation.name": _operation(step),
        "openinference.span.kind": kind,
        "gen_ai.agent.name": step.agent,
        "fathom.verdict": step.verdict,
        "fathom.reason": step.reason,
        "error.type": step.error.partition(": ")[0],
    }
    found = {name: value for name, value in found.items() if value} | _of_usage(step.usage)
    if content:
        found |= _value("input", dict(step.inputs)) | _value("output", dict(step.outputs))
    return found


def _operation(step: Step) -> str:
    if step.usage.llm_calls:
        return "chat"
    return "retrieval" if step.usage.retrievals else "invoke_agent"


def _of_usage(usage: Usage) -> Attributes:
    if not usage.llm_calls:
        return {}
    found: Attributes = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "llm.token_count.prompt": usage.prompt_tokens,
        "llm.token_count.completion": usage.completion_tokens,
        "llm.token_count.total": usage.tokens,
    }
    return found if usage.cost_usd is None else found | {"llm.cost.total": usage.cost_usd}


def _value(side: str, value: Json) -> Attributes:
    return {f"{side}.value": canonical(value), f"{side}.mime_type": "application/json"}


def _nanoseconds(trace: Trace, after_s: float) -> int:
    begun = datetime.fromisoformat(trace.started_at)
    microseconds = (begun + timedelta(seconds=after_s)).timestamp() * 1_000_000
    return round(microseconds) * 1_000
