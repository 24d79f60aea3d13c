"""A trace as OpenTelemetry spans, with attributes of two conventions.

`gen_ai.*` are OpenTelemetry's conventions for generative models (still marked "Development").
`openinference.*`, `input.*`, `output.*` and `llm.*` are those of OpenInference, which Phoenix and
others read. The spans are made from the trace after the run, so they do not slow it down. The extra
`otel` is needed.
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
    """Build one span for the run and one for each step, which any span exporter accepts.

    Args:
        trace: A sealed trace; the spans have its id.
        content: Whether to include the question, the inputs and outputs of steps and the answer,
            which may contain text of the documents.

    Returns:
        The span of the run, then those of the steps in the order in which they ended.

    Raises:
        UsageError: If the extra `otel` is not installed.
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
        # Ids are derived from the trace, so that a second export gives the same spans.
        number = int(sha256(f"{trace.id}/{step_id}".encode()).hexdigest()[:16], 16)
        return SpanContext(int(trace.id, 16), number, False, TraceFlags(TraceFlags.SAMPLED))

    # Built directly, because a tracer of the SDK would set its own ids and times.
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
    """Return the attributes of the span of a run."""
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
    """Return the attributes of the span of a step, without empty ones."""
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
    """Return the name of a step's operation in OpenTelemetry's conventions."""
    if step.usage.llm_calls:
        return "chat"
    return "retrieval" if step.usage.retrievals else "invoke_agent"


def _describe_usage(usage: Usage) -> Attributes:
    """Return the attributes for tokens and cost; none without a call of a language model."""
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
    """Return the attributes for an input or an output as JSON."""
    return {f"{side}.value": dump_canonical(value), f"{side}.mime_type": "application/json"}


def _to_nanoseconds(trace: Trace, after_s: float) -> int:
    """Return the instant some seconds after a trace's start, in nanoseconds since 1970 (UTC)."""
    started_at = datetime.fromisoformat(trace.started_at)
    # Rounded to microseconds, because a float has no more digits of a time since 1970.
    microseconds = (started_at + timedelta(seconds=after_s)).timestamp() * 1_000_000
    return round(microseconds) * 1_000
