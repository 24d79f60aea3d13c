"""What is told of a question at work: its steps, what they found, and at last the answer."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.runs.concurrency import FinalEvent, TextEvent
from fathom.runs.context import Listener
from fathom.runs.trace import Step
from fathom.serving.http.streams import Event, json_text
from fathom.serving.shapes import harmless, hits_json
from fathom.types import Answer, Hit

SHORT_CHARS = 280
"""Of the text of a hit, in an event."""
MOST_HITS = 20
"""Of one step, in an event."""
STAND_ALONE = "stand alone"
TOLD = ("action", "answer", "answers", "margin", "score", "share", "to", "workflow")
"""Outputs of steps that say what an agent holds or decides; they are short."""


def answer_json(answer: Answer) -> Json:
    """An answer as every interface gives it, streamed, stored and reloaded alike."""
    return harmless(asdict(answer))


def answer_text(answer: Answer) -> str:
    """The JSON of an answer; the same bytes whenever it is given."""
    return json_text(answer_json(answer))


class Began:
    """A step begins."""

    __slots__ = ("step",)

    def __init__(self, step: Step) -> None:
        self.step = step


class Ended:
    """A step is over."""

    __slots__ = ("step",)

    def __init__(self, step: Step) -> None:
        self.step = step


Told = Began | Ended | TextEvent


class Ear(Listener):
    """Passes on what it is told, from whatever thread."""

    wants_text = True

    def __init__(self, tell: Callable[[Told], None]) -> None:
        self._tell = tell

    def on_step_begin(self, step: Step) -> None:
        """See `Listener`."""
        self._tell(Began(step))

    def on_step_end(self, step: Step) -> None:
        """See `Listener`."""
        self._tell(Ended(step))

    def on_text(self, words: str) -> None:
        """See `Listener`."""
        self._tell(TextEvent(words))


class Teller:
    """Puts what happens into events."""

    def __init__(self, plan: Json, engine: Engine) -> None:
        """Nothing is told yet.

        Args:
            plan: What was told of the question.
            engine: Looks up the texts of what was found.
        """
        self._plan = plan
        self._engine = engine
        self._numbers: dict[str, int] = {}
        self._has_text = False

    def told(self, event: Told | FinalEvent) -> list[Event]:
        """The events that tell of what happened."""
        if isinstance(event, Began):
            return [self._step(event.step, "began")]
        if isinstance(event, Ended):
            return self._ended(event.step)
        if isinstance(event, TextEvent):
            self._has_text = True
            return [_event("text", {"text": event.text})]
        return self._final(event.answer)

    def _step(self, step: Step, state: str) -> Event:
        number = self._numbers.setdefault(step.id, len(self._numbers) + 1)
        told: dict[str, Any] = {
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
            told["news"] = step.reason or step.verdict or step.error or "done"
            told |= {"verdict": step.verdict, "seconds": step.seconds, "error": step.error}
            told["outputs"] = {name: step.outputs[name] for name in TOLD if name in step.outputs}
        return _event("step", told)

    def _ended(self, step: Step) -> list[Event]:
        events = [self._step(step, "ended")]
        if step.name == STAND_ALONE and isinstance(step.outputs.get("question"), str):
            events.append(_event("plan", {**self._plan, "standalone": step.outputs["question"]}))
        hits = self._hits(step)
        if hits:
            events.append(_event("hits", {"step": self._numbers[step.id], "hits": hits}))
        return events

    def _hits(self, step: Step) -> list[Json]:
        """What a step found, with the texts that the record of it leaves out."""
        scored = dict(_scored(step.outputs.get("hits")))
        if not scored:
            return []
        try:
            chunks = self._engine.reader(checked=False).chunks([*scored])
            ranked = [
                Hit(chunk=chunk, score=scored[chunk.id], rank=rank, retriever=step.agent)
                for rank, chunk in enumerate(chunks, start=1)
            ]
            found = hits_json("", ranked, self._engine.documents.locate(ranked))["hits"]
        except FathomError:
            return []  # the index was replaced meanwhile; the answer does not hang on it
        return [{**each, "text": _short(each["text"])} for each in found]

    def _final(self, answer: Answer) -> list[Event]:
        told = answer_json(answer)
        text = [_event("text", {"text": told["answer"]})]
        events = text if told["answer"] and not self._has_text else []
        events += [_event("citation", each) for each in told["citations"]]
        return [*events, _event("usage", told["usage"]), Event("final", json_text(told))]


def _scored(listed: Json) -> Iterable[tuple[str, float]]:
    """The chunks that a step lists with their scores; a list that was cut ends with a word."""
    for each in (listed if isinstance(listed, list) else [])[:MOST_HITS]:
        match each:
            case [str(chunk), int() | float() as score]:
                yield chunk, float(score)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= SHORT_CHARS else f"{words[: SHORT_CHARS - 1]}…"


def _event(name: str, told: Json) -> Event:
    return Event(name, json_text(harmless(told)))
