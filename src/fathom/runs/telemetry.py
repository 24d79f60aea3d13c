"""A trace as OpenTelemetry spans, with the attributes of both families in use.

`gen_ai.*` are OpenTelemetry's conventions for generative models (still marked "Development"). The
others are those of OpenInference, which Phoenix and others read. The spans are made after the run
from its record, so they cost a run nothing. They need the extra `otel`.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fathom.errors import UsageError
from fathom.jsonable import Json, dump_canonical
from fathom.runs.trace import Step, Trace
from fathom.usage import Usage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

Attributes = dict[str, str | int | float]

_KINDS = {"retriever": "RETRIEVER", "reranker": "RERANKER", "embedder": "EMBEDDING"}


def build_spans(trace: Trace, *, content: bool = False) -> "list[ReadableSpan]":
    """Build one span for the run and one for each step; any span exporter accepts them.

    Args:
        trace: A sealed trace; the spans get its id.
        content: Whether to export the question, the inputs and outputs of steps and the answer too,
            which may hold text of the documents.

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

    def build_context(step_id: str) -> Any:  # noqa: ANN401 - a class of a package that may be missing
        # Derived from the trace, so that a second export gives the same spans.
        number = int(sha256(f"{trace.id}/{step_id}".encode()).hexdigest()[:16], 16)
        return SpanContext(int(trace.id, 16), number, False, TraceFlags(TraceFlags.SAMPLED))

    # Built directly: a tracer of the SDK would stamp ids and times of its own.
    built = [
        ReadableSpan(
            name=f"invoke_workflow {trace.origin.strategy}",
            context=build_context(""),
            resource=resource,
            attributes=_describe_run(trace, content=content),
            start_time=_to_nanoseconds(trace, 0.0),
            end_time=_to_nanoseconds(trace, trace.seconds),
        )
    ]
    for step in trace.steps:
        status = Status(StatusCode.ERROR, step.error) if step.error else Status(StatusCode.OK)
        span = ReadableSpan(
            name=f"{_name_operation(step)} {step.name}",
            context=build_context(step.id),
            parent=build_context(step.parent),
            resource=resource,
            attributes=_describe_step(step, content=content),
            status=status,
            start_time=_to_nanoseconds(trace, step.started_at),
            end_time=_to_nanoseconds(trace, step.started_at + step.seconds),
        )
        built.append(span)
    return built


def _describe_run(trace: Trace, *, content: bool) -> Attributes:
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "openinference.span.kind": "CHAIN",
        "fathom.strategy": trace.origin.strategy,
        "fathom.index_revision": trace.origin.index_revision,
        "fathom.settings_hash": trace.origin.settings_hash,
    }
    attributes |= _describe_usage(trace.usage)
    if content:
        attributes["input.value"] = trace.origin.question
        attributes |= _format_value("output", trace.answer)
    return attributes


def _describe_step(step: Step, *, content: bool) -> Attributes:
    kind = "LLM" if step.usage.llm_calls else _KINDS.get(step.agent, "CHAIN")
    attributes: Attributes = {
        "gen_ai.operation.name": _name_operation(step),
        "openinference.span.kind": kind,
        "gen_ai.agent.name": step.agent,
        "fathom.verdict": step.verdict,
        "fathom.reason": step.reason,
        "error.type": step.error.partition(": ")[0],
    }
    attributes = {name: value for name, value in attributes.items() if value} | _describe_usage(
        step.usage
    )
    if content:
        attributes |= _format_value("input", dict(step.inputs)) | _format_value(
            "output", dict(step.outputs)
        )
    return attributes


def _name_operation(step: Step) -> str:
    if step.usage.llm_calls:
        return "chat"
    return "retrieval" if step.usage.retrievals else "invoke_agent"


def _describe_usage(usage: Usage) -> Attributes:
    if not usage.llm_calls:
        return {}
    attributes: Attributes = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "llm.token_count.prompt": usage.prompt_tokens,
        "llm.token_count.completion": usage.completion_tokens,
        "llm.token_count.total": usage.tokens,
    }
    return attributes if usage.cost_usd is None else attributes | {"llm.cost.total": usage.cost_usd}


def _format_value(side: str, value: Json) -> Attributes:
    return {f"{side}.value": dump_canonical(value), f"{side}.mime_type": "application/json"}


def _to_nanoseconds(trace: Trace, after_s: float) -> int:
    started_at = datetime.fromisoformat(trace.started_at)
    # Rounded to microseconds, the precision of datetime; a float cannot hold more digits.
    microseconds = (started_at + timedelta(seconds=after_s)).timestamp() * 1_000_000
    return round(microseconds) * 1_000
