"""Replies in the wire formats of the providers that do not speak OpenAI's."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.scripted_acts import Act, ReceivedRequest, Wire, encode_head, says, status


@dataclass(frozen=True, slots=True)
class Dialect:
    """The wire format of a provider.

    Attributes:
        path: Where its requests arrive.
        reports: Whether usage comes through its LangChain class.
        seeded: Whether it knows a seed.
    """

    provider: str
    path: str
    reports: bool = True
    seeded: bool = True

    def stream_reply(self, *parts: str, finish: str = "stop", silent: bool = False) -> Act:
        """Stream a reply of these parts; `silent` keeps the connection open instead of ending
        it.
        """
        if self.provider == "groq":
            whole: Act = says(*parts, finish=None if silent else finish, done=not silent)
            return _hold_open(whole) if silent else whole
        lines = (
            _encode_ollama(parts, finish)
            if self.provider == "ollama"
            else _encode_anthropic(parts, finish)
        )
        sent = lines[: len(lines) - self._end] if silent else lines
        kind = "application/x-ndjson" if self.provider == "ollama" else "text/event-stream"
        return _hold_open(_send_lines(sent, kind)) if silent else _send_lines(sent, kind)

    @property
    def _end(self) -> int:
        """The number of lines that end a reply."""
        return 1 if self.provider == "ollama" else 3

    def decline(self, code: int, message: str, headers: Mapping[str, str] = {}) -> Act:
        """Send an error in the provider's form."""
        if self.provider == "ollama":
            return _fail(code, {"error": message}, headers)
        if self.provider == "anthropic":
            error = {"type": "api_error", "message": message}
            return _fail(code, {"type": "error", "error": error}, headers)
        return status(code, message, headers=headers)


DIALECTS = (
    Dialect("groq", "/openai/v1/chat/completions", reports=False),
    Dialect("ollama", "/api/chat"),
    Dialect("anthropic", "/v1/messages", seeded=False),
)


def _encode_ollama(parts: Sequence[str], finish: str) -> list[str]:
    frame = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    lines = [
        frame | {"message": {"role": "assistant", "content": part}, "done": False} for part in parts
    ]
    end = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": finish}
    counts = {"prompt_eval_count": 12, "eval_count": 3}
    return [f"{json.dumps(line)}\n" for line in [*lines, frame | end | counts]]


def _encode_anthropic(parts: Sequence[str], finish: str) -> list[str]:
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(finish, finish)
    message: dict[str, object] = {
        "id": "1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 1},
    }  # fmt: skip
    block = {"type": "text", "text": ""}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": part},
            }
            for part in parts
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"input_tokens": 12, "output_tokens": 3},
        },
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def _send_lines(lines: Sequence[str], kind: str) -> Act:
    async def act(request: ReceivedRequest, wire: Wire) -> None:
        await wire.send(encode_head(200, {"Content-Type": kind}))
        await wire.send("".join(lines).encode())

    return act


def _hold_open(act: Act) -> Act:
    async def hold_connection(request: ReceivedRequest, wire: Wire) -> None:
        await act(request, wire)
        await asyncio.Event().wait()

    return hold_connection


def _fail(code: int, body: Mapping[str, object], headers: Mapping[str, str]) -> Act:
    async def act(request: ReceivedRequest, wire: Wire) -> None:
        data = json.dumps(body).encode()
        about = {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
        await wire.send(encode_head(code, about) + data)

    return act
