from typing import Any

import pytest

from fathom.runs.recorder import Recorder
from fathom.runs.telemetry import build_spans
from fathom.runs.trace import Origin, Trace
from fathom.usage import Usage

sdk = pytest.importorskip("opentelemetry.sdk.trace.export", reason="the extra otel is missing")


def make_trace() -> Trace:
    recorder = Recorder(Origin(question="a question", strategy="naive", index_revision="7"))
    with recorder.step("retrieve", agent="retriever", inputs={"query": "a question"}) as step:
        step.set_outcome(outputs={"hits": ["some text"]}, usage=Usage(retrievals=1))
    with recorder.step("answer") as outer:
        with outer.step("read", agent="reader") as step:
            step.set_outcome(
                verdict="accept",
                usage=Usage(llm_calls=1, prompt_tokens=9, completion_tokens=3, cost_usd=0.5),
            )
        with pytest.raises(LookupError), outer.step("fail"):
            raise LookupError("nothing there")
    return recorder.seal({"answer": "an answer"})


def test_steps_become_spans_of_both_families() -> None:
    trace = make_trace()

    spans: list[Any] = list(build_spans(trace))
    run, retrieve, read, fail, answer = spans

    assert {span.context.trace_id for span in (run, retrieve, read)} == {int(trace.id, 16)}
    assert run.parent is None
    assert retrieve.parent == answer.parent == run.context
    assert read.parent == fail.parent == answer.context
    assert run.name == "invoke_workflow naive"
    assert retrieve.attributes["openinference.span.kind"] == "RETRIEVER"
    assert retrieve.attributes["gen_ai.operation.name"] == "retrieval"
    assert read.attributes["gen_ai.usage.input_tokens"] == 9
    assert read.attributes["llm.token_count.total"] == 12
    assert read.attributes["llm.cost.total"] == 0.5
    assert read.attributes["fathom.verdict"] == "accept"
    assert fail.status.description == "LookupError: nothing there"
    assert fail.attributes["error.type"] == "LookupError"
    assert run.start_time <= retrieve.start_time <= retrieve.end_time <= run.end_time


def test_content_is_exported_only_when_asked() -> None:
    trace = make_trace()
    without = "".join(span.to_json() for span in build_spans(trace))
    with_content = "".join(span.to_json() for span in build_spans(trace, content=True))

    for text in ("a question", "some text", "an answer"):
        assert text not in without
        assert text in with_content


def test_an_exporter_accepts_the_spans() -> None:
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()

    assert exporter.export(build_spans(make_trace())) is sdk.SpanExportResult.SUCCESS
    assert len(exporter.get_finished_spans()) == 5
