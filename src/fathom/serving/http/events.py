"""The progress of a question as events: its steps, their hits, and at last the answer."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from typing_extensions import override

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.runs.concurrency import FinalEvent, TextEvent
from fathom.runs.context import Listener
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
"""The short outputs of steps that show an agent's opinion or decision."""


def build_answer_json(answer: Answer) -> Json:
    """Convert an answer to the JSON of every interface: streamed, stored and reloaded alike."""
    return replace_invisible(asdict(answer))


def encode_answer(answer: Answer) -> str:
    """Encode an answer as JSON; the same bytes each time."""
    return encode_json(build_answer_json(answer))


class StepBegin:
    """The begin of a step."""

    __slots__ = ("step",)

    def __init__(self, step: Step) -> None:
        self.step = step


class StepEnd:
    """The end of a step."""

    __slots__ = ("step",)

    def __init__(self, step: Step) -> None:
        self.step = step


ProgressEvent = StepBegin | StepEnd | TextEvent


class ProgressListener(Listener):
    """A listener that passes on each event, from any thread."""

    wants_text = True

    def __init__(self, pass_on: Callable[[ProgressEvent], None]) -> None:
        self._pass_on = pass_on

    @override
    def on_step_begin(self, step: Step) -> None:
        self._pass_on(StepBegin(step))

    @override
    def on_step_end(self, step: Step) -> None:
        self._pass_on(StepEnd(step))

    @override
    def on_text(self, words: str) -> None:
        self._pass_on(TextEvent(words))


class EventBuilder:
    """A builder of server-sent events from the progress of one question."""

    def __init__(self, plan: Json, engine: Engine) -> None:
        """Create the builder.

        Args:
            plan: The data of the `plan` event.
            engine: The engine, which looks up the texts of hits.
        """
        self._plan = plan
        self._engine = engine
        self._numbers: dict[str, int] = {}
        self._has_text = False

    def build_events(self, event: ProgressEvent | FinalEvent) -> list[ServerEvent]:
        """Build the events of one progress event."""
        if isinstance(event, StepBegin):
            return [self._build_step_event(event.step, "began")]
        if isinstance(event, StepEnd):
            return self._build_end_events(event.step)
        if isinstance(event, TextEvent):
            self._has_text = True
            return [_build_event("text", {"text": event.text})]
        return self._build_final_events(event.answer)

    def _build_step_event(self, step: Step, state: str) -> ServerEvent:
        number = self._numbers.setdefault(step.id, len(self._numbers) + 1)
        data: dict[str, Any] = {
            "id": number,
            "path": step.id,
            "name": step.name,
            "agent": step.agent,
            "chunk": step.inputs.get("chunk"),
            "parent": self._numbers.get(step.parent),
            "state": state,
            "news": "",
        }
        if state == "ended":
            data["news"] = step.reason or step.verdict or step.error or "done"
            data |= {"verdict": step.verdict, "seconds": step.seconds, "error": step.error}
            data["outputs"] = {
                name: step.outputs[name] for name in SHORT_OUTPUTS if name in step.outputs
            }
        return _build_event("step", data)

    def _build_end_events(self, step: Step) -> list[ServerEvent]:
        events = [self._build_step_event(step, "ended")]
        if step.name == STANDALONE_STEP and isinstance(step.outputs.get("question"), str):
            events.append(
                _build_event("plan", {**self._plan, "standalone": step.outputs["question"]})
            )
        hits = self._collect_hits(step)
        if hits:
            events.append(_build_event("hits", {"step": self._numbers[step.id], "hits": hits}))
        return events

    def _collect_hits(self, step: Step) -> list[Json]:
        """Return the hits of a step, with the texts that its record leaves out."""
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


def _iterate_scored_chunks(entries: Json) -> Iterable[tuple[str, float]]:
    """Yield the chunks and scores of a step's list; the end of a shortened list is no pair."""
    for entry in (entries if isinstance(entries, list) else [])[:MOST_HITS]:
        match entry:
            case [str(chunk), int() | float() as score]:
                yield chunk, float(score)


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT_CHARS else f"{line[: SHORT_CHARS - 1]}…"


def _build_event(name: str, data: Json) -> ServerEvent:
    return ServerEvent(name, encode_json(replace_invisible(data)))
