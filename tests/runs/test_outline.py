import json

from fathom.runs.outline import format_tree, to_json
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin, TraceLimits
from fathom.usage import Usage


def make_clock() -> float:
    return 0.0


def test_a_run_is_shown_as_a_tree() -> None:
    origin = Origin(question="Who?", strategy="naive", index_revision="7", seed=1)
    recorder = Recorder(origin, clock=make_clock)
    with recorder.step("retrieve", agent="retriever", inputs={"query": "Who?"}) as step:
        step.set_outcome(outputs={"hits": ["a#1"]}, usage=Usage(retrievals=1))
    with recorder.step("answer") as outer:
        with outer.step("read", agent="reader") as step:
            step.set_outcome(
                verdict="accept",
                reason="0.91 is above 0.50",
                usage=Usage(llm_calls=1, prompt_tokens=90, completion_tokens=10, cost_usd=0.002),
            )
        outer.set_outcome(outputs={"n": 1})
    trace = recorder.seal({"status": "answered", "answer": "Ada [1]"})

    assert format_tree(trace).split("\n")[1:] == [
        "question: Who?",
        f"strategy naive, index 7, settings {origin.settings_hash[:12]}, seed 1",
        "spent 0.000 s, 1 calls, 100 tokens, $0.002000, 1 retrievals, events 0",
        "├─ retrieve (retriever)  0.000 s, 1 retrievals",
        "│     in  query: Who?",
        '│     out hits: ["a#1"]',
        "└─ answer  0.000 s",
        "   │  out n: 1",
        "   └─ read (reader) -> accept  0.000 s, 1 calls, 100 tokens, $0.002000",
        "         because 0.91 is above 0.50",
        "answered: Ada [1]",
    ]


def test_control_characters_in_a_trace_are_shown_harmless() -> None:
    evil = "\x1b[31mred\x07 \u202egnirts\u202c \x9b2J a\rb \u2028 \u200b\u0000"
    recorder = Recorder(Origin(question=evil, strategy=evil, index_revision=evil))
    with recorder.step(evil, agent=evil, inputs={evil: evil}) as step:
        step.set_outcome(outputs={evil: [evil]}, verdict=evil, reason=evil)

    text = format_tree(recorder.seal({"status": evil, "answer": evil}))

    assert not {"\x1b", "\x07", "\u202e", "\x9b", "\r", "\u2028", "\u200b", "\x00"} & set(text)
    assert "[31mred" in text


def test_a_trace_that_cannot_be_replayed_says_so() -> None:
    recorder = Recorder(Origin(question="q", strategy="s"), limits=TraceLimits(event_bytes=1))
    recorder.observe("llm", "a", lambda: "long")

    assert "not replayable" in format_tree(recorder.seal(None))


def test_the_json_holds_every_record() -> None:
    recorder = Recorder(Origin(question="q", strategy="s"))
    recorder.observe("seed", None, lambda: 5)
    trace = recorder.seal({"answer": "a"})

    payload = json.loads(to_json(trace))

    assert payload["id"] == trace.id
    assert [line["record"] for line in payload["lines"]] == ["run", "event", "end"]
