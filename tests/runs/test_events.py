import pytest

from fathom.runs.context import RunContext
from fathom.runs.events import Listener, RunEvent, StepEnd, StepEvent, StepStart
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Step, Trace
from fathom.testing.doubles import run_context


def seal_trace(context: RunContext) -> Trace:
    assert isinstance(context.scope, Recorder)
    return context.scope.seal(None)


class RecordingListener(Listener):
    def __init__(self) -> None:
        self.events: list[RunEvent] = []

    def on_event(self, event: RunEvent) -> None:
        self.events.append(event)


def test_a_listener_gets_each_step_as_the_trace_holds_it_under_the_same_id() -> None:
    def read(run: RunContext) -> None:
        with run.step("read", inputs={"chunk": "a#0"}) as step:
            with step.step("speak", agent="debater") as inner:
                inner.set_outcome(outputs={"answer": "48"}, verdict="opens", reason="48")
            with step.step("speak", agent="debater"):
                raise LookupError("nobody foresaw this")

    listener = RecordingListener()
    with run_context() as quiet:
        run = RunContext(
            ledger=quiet.ledger, scope=quiet.scope, executor=quiet.executor, listener=listener
        )
        with pytest.raises(LookupError):
            read(run)
        steps = seal_trace(run).steps
    ends = [event.step for event in listener.events if isinstance(event, StepEnd)]
    assert tuple(ends) == steps
    assert [
        (type(event), event.id, event.name, event.news)
        for event in listener.events
        if isinstance(event, StepEvent)
    ] == [
        (StepStart, "read", "read", ""),
        (StepStart, "read/speak", "speak", ""),
        (StepEnd, "read/speak", "speak", "48"),
        (StepStart, "read/speak#2", "speak", ""),
        (StepEnd, "read/speak#2", "speak", "LookupError: nobody foresaw this"),
        (StepEnd, "read", "read", "LookupError: nobody foresaw this"),
    ]
    assert ends[0].outputs == {"answer": "48"}


@pytest.mark.parametrize(
    ("step", "news"),
    [
        (Step(id="a", name="a", reason="why", verdict="what", error="E: broken"), "why"),
        (Step(id="a", name="a", verdict="what", error="E: broken"), "what"),
        (Step(id="a", name="a", error="E: broken"), "E: broken"),
        (Step(id="a", name="a"), "done"),
    ],
)
def test_the_news_of_a_step_come_with_its_end_only(step: Step, news: str) -> None:
    assert (StepStart(step).news, StepEnd(step).news) == ("", news)
