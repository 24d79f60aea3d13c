"""Traces for others: as OpenTelemetry's JSON in a file, or to a collector over HTTP."""

import json
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.errors import RunError, UsageError
from fathom.runs.telemetry import spans
from fathom.runs.trace import Trace

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

TIMEOUT_S = 10.0
_IDS = ("traceId", "spanId", "parentSpanId")


def export(trace: Trace, target: str, *, content: bool, offline: bool) -> str:
    """Write a trace to a file, or send it to a collector.

    Args:
        trace: A sealed trace.
        target: A file, or the address of a collector, such as
            `http://localhost:4318/v1/traces`.
        content: Also the texts; see `spans`.
        offline: Whether no socket may be opened.

    Returns:
        What was done, in one line.

    Raises:
        UsageError: If the extra `otel` is not installed, or an address is given while offline.
        RunError: If the file cannot be written or the collector did not take it.
    """
    made = spans(trace, content=content)
    if "://" not in target:
        _write(made, Path(target))
        return f"{len(made)} spans written to {target}"
    if not target.startswith(("http://", "https://")):
        raise UsageError(f"--otel {target!r}: give a file, or http://host:4318/v1/traces")
    if offline:
        raise UsageError(f"--otel {target} needs a socket and offline allows none; name a file")
    _send(made, target)
    return f"{len(made)} spans sent to {target}"


def _write(made: "Sequence[ReadableSpan]", file: Path) -> None:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    whole = _with_hex_ids(MessageToDict(encode_spans(made), use_integers_for_enums=True))
    try:
        file.write_text(json.dumps(whole, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}; choose another place") from error


def _with_hex_ids(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """OTLP's own JSON, which writes ids as hexadecimal digits where protobuf writes base64."""
    if isinstance(value, list):
        return [_with_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: b64decode(each).hex() if name in _IDS else _with_hex_ids(each)
        for name, each in value.items()
    }


def _send(made: "Sequence[ReadableSpan]", endpoint: str) -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=TIMEOUT_S)
    try:
        done = exporter.export(made)
    except Exception as error:
        raise RunError(f"{endpoint}: {type(error).__name__}; check that it runs") from error
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call, unused-ignore]
    if done is not SpanExportResult.SUCCESS:
        raise RunError(f"{endpoint} did not take the trace; check the address and that it runs")
