"""The progress of a question as server-sent events: its steps, their hits, and the answer."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.runs.events import StepEnd, StepEvent, StreamEvent, TextEvent
from fathom.runs.trace import Step
from fathom.serving.http.event_stream import ServerEvent, encode_json
from fathom.serving.shapes import replace_invisible, serialize_hits
from fathom.types import Answer, Hit

SHORT_CHARS = 280
"""The length of a hit's text in an event, in characters."""
MOST_HITS = 20
"""The number of hits of one step in an event."""
STANDALONE_STEP = "stand alone"
SHORT_OUTPUTS = ("action", "answer", "answers", "margin", "score", "share", "to", "workflow")
"""The outputs of steps that an event includes: short ones, with an agent's opinion or decision."""


def build_answer_json(answer: Answer) -> Json:
    """Convert an answer to the JSON that every interface sends, streamed or stored."""
    return replace_invisible(asdict(answer))


def encode_answer(answer: Answer) -> str:
    """Encode an answer as JSON; the same bytes each time."""
    return encode_json(build_answer_json(answer))


class EventBuilder:
    """A builder of server-sent events from the progress of one question."""

    def __init__(self, plan: Json, engine: Engine) -> None:
        """Create the builder; `plan` is the data of the first event."""
        self._plan = plan
        self._engine = engine
        self._has_text = False

    def build_events(self, event: StreamEvent) -> list[ServerEvent]:
        """Build the server-sent events of one event of the run."""
        if isinstance(event, StepEvent):
            events = [_build_step_event(event)]
            return events + self._build_outcome_events(event.step)
        if isinstance(event, TextEvent):
            self._has_text = True
            return [_build_event("text", {"text": event.text})]
        return self._build_final_events(event.answer)

    def _build_outcome_events(self, step: Step) -> list[ServerEvent]:
        """Build the events of a step's outputs; a step that has just begun has none."""
        events = []
        if step.name == STANDALONE_STEP and isinstance(step.outputs.get("question"), str):
            plan = {**self._plan, "standalone": step.outputs["question"]}
            events.append(_build_event("plan", plan))
        if hits := self._collect_hits(step):
            events.append(_build_event("hits", {"step": step.id, "hits": hits}))
        return events

    def _collect_hits(self, step: Step) -> list[Json]:
        """Return the hits of a step with their texts, which its record does not include."""
        scored = dict(_iterate_scored_chunks(step.outputs.get("hits")))
        if not scored:
            return []
        try:
            chunks = self._engine.reader(checked=False).chunks([*scored])
            ranked = [
                Hit(chunk=chunk, score=scored[chunk.id], rank=rank, retriever=step.agent)
                for rank, chunk in enumerate(chunks, start=1)
            ]
            hits = serialize_hits("", ranked, self._engine.documents.locate(ranked))["hits"]
        except FathomError:
            return []  # the index was replaced meanwhile; the answer does not depend on it
        return [{**hit, "text": _shorten_text(hit["text"])} for hit in hits]

    def _build_final_events(self, answer: Answer) -> list[ServerEvent]:
        data = build_answer_json(answer)
        text = [_build_event("text", {"text": data["answer"]})]
        # Without a stream of sentences the whole answer is the only text.
        events = text if data["answer"] and not self._has_text else []
        events += [_build_event("citation", citation) for citation in data["citations"]]
        return [
            *events,
            _build_event("usage", data["usage"]),
            ServerEvent("final", encode_json(data)),
        ]


def _build_step_event(event: StepEvent) -> ServerEvent:
    step = event.step
    data: dict[str, Any] = {
        "id": step.id,
        "name": step.name,
        "agent": step.agent,
        "chunk": step.inputs.get("chunk"),
        "parent": step.parent,
        "state": "began",
        "news": event.news,
    }
    if isinstance(event, StepEnd):
        data |= {
            "state": "ended",
            "verdict": step.verdict,
            "seconds": step.seconds,
            "error": step.error,
            "outputs": {name: step.outputs[name] for name in SHORT_OUTPUTS if name in step.outputs},
        }
    return _build_event("step", data)


def _iterate_scored_chunks(entries: Json) -> Iterable[tuple[str, float]]:
    """Yield the chunk ids and scores of a step's hits; a shortened list ends with another entry."""
    for entry in (entries if isinstance(entries, list) else [])[:MOST_HITS]:
        match entry:
            case [str(chunk), int() | float() as score]:
                yield chunk, float(score)


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT_CHARS else f"{line[: SHORT_CHARS - 1]}…"


def _build_event(name: str, data: Json) -> ServerEvent:
    return ServerEvent(name, encode_json(replace_invisible(data)))
