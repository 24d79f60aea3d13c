"""Collects one streamed reply: answer, reasoning, counts, and how it ended."""

import re
from collections.abc import Iterable
from typing import Any

from fathom.llm.tokens import TokenCount, count_tokens, cut
from fathom.runs.reservation import Reported

_OPENING = ("<think>", "<thinking>", "<reasoning>")
_CLOSING = re.compile(r"</(?:think|thinking|reasoning)>\s*")
_LONGEST = len("</reasoning>")
_LENGTH = {"length", "max_tokens", "model_context_window_exceeded"}
_FILTERED = {"content_filter", "refusal", "safety"}


class AnswerText:
    """Splits a streamed reply into reasoning and answer.

    Reasoning is what stands between tags at the reply's very start; the same tags further on are
    part of the answer. A tag that never closes makes all of it reasoning. Some servers swallow
    the opening tag: `answer` drops what precedes a lonely closing one, though `add` has already
    given it out.
    """

    def __init__(self) -> None:
        self._state = "start"
        self._held = ""
        self._answer: list[str] = []

    def add(self, part: str) -> str:
        """Add the next part; returns the part of the answer that is sure by now."""
        self._held += part
        if self._state == "start":
            self._begin()
        if self._state == "thinking":
            self._look_for_end()
        if self._state == "answering" and self._held:
            self._answer.append(self._held)
            sure, self._held = self._held, ""
            return sure
        return ""

    def end(self) -> str:
        """What was held back in case it became a tag; to be called once, last."""
        rest = self._held if self._state == "start" else ""
        self._answer.append(rest)
        return rest

    @property
    def answer(self) -> str:
        """The whole answer, without space around it."""
        *_, last = _CLOSING.split("".join(self._answer), maxsplit=1)
        return last.strip()

    def _begin(self) -> None:
        text = self._held.lstrip()
        for tag in _OPENING:
            if text.startswith(tag):
                self._state, self._held = "thinking", text[len(tag) :]
                return
        if not any(tag.startswith(text) for tag in _OPENING):
            self._state = "answering"

    def _look_for_end(self) -> None:
        if end := _CLOSING.search(self._held):
            self._state, self._held = "answering", self._held[end.end() :]
        else:
            # What is thought is counted elsewhere; only a tag's beginning must be kept.
            self._held = self._held[-_LONGEST:]


class StreamedReply:
    """What has come of a reply so far.

    Attributes:
        full: Whether it has reached `max_tokens` by our own count; the rest is not read.
        tokens: Completion tokens by our own count, never more than `max_tokens`.
    """

    def __init__(self, max_tokens: int, *, cuts: bool = True) -> None:
        """Nothing has come yet.

        Args:
            max_tokens: By our own count.
            cuts: Whether it is cut there; else whoever sends it is known to hold the limit.
        """
        self.full = False
        self.tokens = 0
        self._max_tokens = max_tokens
        self._cuts = cuts
        self._count = TokenCount()
        self._text = AnswerText()
        self._ended = ""
        self._declined = False
        self._reported: dict[str, int] = {}

    def add(self, chunk: Any) -> str:  # noqa: ANN401 - a LangChain AIMessageChunk
        """Add a chunk; returns the part of the answer that is sure by now."""
        self._note_end(chunk)
        self._note_usage(chunk.usage_metadata)
        if self.full:
            return ""
        thought, answer = _parts(chunk)
        total = self._count.add(thought + answer)
        if total > self._max_tokens and self._cuts:
            self.full = True
            answer = cut(answer, self._max_tokens - self.tokens)
        self.tokens = min(total, self._max_tokens)
        return encodable(self._text.add(answer))

    def end(self) -> str:
        """The part of the answer that was held back; to be called once, last."""
        return encodable(self._text.end())

    @property
    def answer(self) -> str:
        """The answer without its reasoning."""
        return encodable(self._text.answer)

    @property
    def reasoning_tokens(self) -> int:
        """How many of the tokens are not in the answer."""
        return max(0, self.tokens - count_tokens(self.answer))

    @property
    def reported(self) -> Reported:
        """What the server says it used."""
        return Reported(
            prompt=self._reported.get("input_tokens"),
            completion=self._reported.get("output_tokens"),
        )

    @property
    def whole(self) -> bool:
        """Whether the server, or we, said that it ends here."""
        return self.full or bool(self._ended)

    @property
    def cut(self) -> bool:
        """Whether it ended for its length."""
        return self.full or self._ended in _LENGTH

    @property
    def declined(self) -> bool:
        """Whether the model or a filter refused to answer."""
        return self._declined or self._ended in _FILTERED

    def _note_end(self, chunk: Any) -> None:  # noqa: ANN401
        said = chunk.response_metadata
        for name in ("finish_reason", "stop_reason", "done_reason"):
            self._ended = str(said.get(name) or self._ended)
        self._declined = self._declined or bool(chunk.additional_kwargs.get("refusal"))

    def _note_usage(self, usage: Any) -> None:  # noqa: ANN401
        # Some servers report once, some in two parts, some a running total: the most is right.
        for name in ("input_tokens", "output_tokens"):
            if usage and usage.get(name) is not None:
                self._reported[name] = max(usage[name], self._reported.get(name, usage[name]))


def encodable(text: str) -> str:
    """`text` with halves of surrogate pairs joined or replaced, so that it can be encoded."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _parts(chunk: Any) -> tuple[str, str]:  # noqa: ANN401
    thought = str(chunk.additional_kwargs.get("reasoning_content") or "")
    if isinstance(chunk.content, str):
        return thought, chunk.content
    blocks = [block for block in chunk.content if isinstance(block, dict)]
    return thought + _join(blocks, "thinking"), _join(blocks, "text")


def _join(blocks: Iterable[dict[str, Any]], kind: str) -> str:
    return "".join(str(block.get(kind) or "") for block in blocks if block.get("type") == kind)
