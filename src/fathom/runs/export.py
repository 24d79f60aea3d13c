"""The export of traces as OpenTelemetry spans, to a JSON file or to a collector over HTTP."""

import json
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.errors import RunError, UsageError
from fathom.runs.telemetry import build_spans
from fathom.runs.trace import Trace

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

TIMEOUT_S = 10.0
"""The longest wait for a collector, in seconds."""
_IDS = ("traceId", "spanId", "parentSpanId")


def export_trace(trace: Trace, target: str, *, content: bool, offline: bool) -> str:
    """Write a trace to a file, or send it to a collector.

    Args:
        trace: A sealed trace.
        target: A file, or the address of a collector, such as `http://localhost:4318/v1/traces`.
        content: Whether to export the texts too, as in `build_spans`.
        offline: Whether it is forbidden to open a socket.

    Returns:
        The outcome, in one line.

    Raises:
        UsageError: If the extra `otel` is not installed, if an address is not HTTP, or if an
            address is given while offline.
        RunError: If the file cannot be written or the collector does not accept the trace.
    """
    run_spans = build_spans(trace, content=content)
    if "://" not in target:
        _write_file(run_spans, Path(target))
        return f"{len(run_spans)} spans written to {target}"
    if not target.startswith(("http://", "https://")):
        raise UsageError(f"--otel {target!r}: give a file, or http://host:4318/v1/traces")
    if offline:
        raise UsageError(f"--otel {target} needs a socket and --offline allows none; name a file")
    _send_spans(run_spans, target)
    return f"{len(run_spans)} spans sent to {target}"


def _write_file(run_spans: "Sequence[ReadableSpan]", file: Path) -> None:
    """Write spans to a file as OTLP's JSON; raise `RunError` if that fails."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    # In OTLP's JSON enums are numbers, in protobuf's they are names.
    document = _convert_ids(MessageToDict(encode_spans(run_spans), use_integers_for_enums=True))
    try:
        file.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}; choose another place") from error


def _convert_ids(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a JSON value with its ids in hexadecimal digits, as OTLP has them, not in base64."""
    if isinstance(value, list):
        return [_convert_ids(child) for child in value]
    if not isinstance(value, dict):
        return value
    return {
        name: b64decode(child).hex() if name in _IDS else _convert_ids(child)
        for name, child in value.items()
    }


def _send_spans(run_spans: "Sequence[ReadableSpan]", endpoint: str) -> None:
    """Send spans to a collector; raise `RunError` if it does not accept them."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=TIMEOUT_S)
    try:
        outcome = exporter.export(run_spans)
    except Exception as error:
        raise RunError(f"{endpoint}: {type(error).__name__}; check that it runs") from error
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call, unused-ignore]
    if outcome is not SpanExportResult.SUCCESS:
        raise RunError(f"{endpoint} did not accept the trace; check the address and that it runs")
