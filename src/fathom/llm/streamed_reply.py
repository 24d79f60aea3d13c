"""One streamed reply: its answer, its reasoning, its token counts and its end."""

import re
from collections.abc import Iterable
from typing import Any

from fathom.llm.tokens import TokenCount, count_tokens, cut_text
from fathom.runs.reservation import ReportedUsage

_OPENING = ("<think>", "<thinking>", "<reasoning>")
_CLOSING = re.compile(r"</(?:think|thinking|reasoning)>\s*")
# A tag may be split over two chunks, so as many characters as the longest tag has are kept.
_LONGEST = len("</reasoning>")
_LENGTH = {"length", "max_tokens", "model_context_window_exceeded"}
_FILTERED = {"content_filter", "refusal", "safety"}


class AnswerText:
    """A streamed reply, split into reasoning and answer.

    Reasoning is the text between tags at the very start of the reply; the same tags further on
    belong to the answer. If the tag is never closed, the whole reply is reasoning. Some servers
    leave the opening tag out. `answer` then drops the text before the lone closing tag, although
    `add` has already returned it.
    """

    def __init__(self) -> None:
        self._state = "start"
        self._pending = ""
        self._answer: list[str] = []

    def add(self, text: str) -> str:
        """Add the next chunk of text and return the new text that surely belongs to the answer."""
        self._pending += text
        if self._state == "start":
            self._match_opening_tag()
        if self._state == "thinking":
            self._find_closing_tag()
        if self._state == "answering" and self._pending:
            self._answer.append(self._pending)
            answer, self._pending = self._pending, ""
            return answer
        return ""

    def end(self) -> str:
        """Return the text that was held back because it might become a tag.

        Call this once, at the end.
        """
        rest = self._pending if self._state == "start" else ""
        self._answer.append(rest)
        return rest

    @property
    def answer(self) -> str:
        """The whole answer, without blanks around it."""
        *_, last = _CLOSING.split("".join(self._answer), maxsplit=1)
        return last.strip()

    def _match_opening_tag(self) -> None:
        """Decide whether the reply begins with reasoning, once its beginning shows it."""
        text = self._pending.lstrip()
        for tag in _OPENING:
            if text.startswith(tag):
                self._state, self._pending = "thinking", text[len(tag) :]
                return
        if not any(tag.startswith(text) for tag in _OPENING):
            self._state = "answering"

    def _find_closing_tag(self) -> None:
        """Turn to the answer if the reasoning has ended."""
        if end := _CLOSING.search(self._pending):
            self._state, self._pending = "answering", self._pending[end.end() :]
        else:
            # The text of the reasoning is not needed, only a tag that may have begun.
            self._pending = self._pending[-_LONGEST:]


class StreamedReply:
    """The state of a reply while it arrives.

    Attributes:
        full: Whether the reply was cut at `max_tokens` by our own count; the rest is not read.
        tokens: The completion tokens by our own count, never more than `max_tokens`.
    """

    def __init__(self, max_tokens: int, *, cuts: bool = True) -> None:
        """Start with an empty reply.

        Args:
            max_tokens: The largest number of tokens, by our own count.
            cuts: Whether to cut the reply there. If not, the server must keep to the limit.
        """
        self.full = False
        self.tokens = 0
        self._max_tokens = max_tokens
        self._cuts = cuts
        self._count = TokenCount()
        self._text = AnswerText()
        self._half = ""
        self._ended = ""
        self._declined = False
        self._reported: dict[str, int] = {}

    def add(self, chunk: Any) -> str:  # noqa: ANN401 - a LangChain AIMessageChunk
        """Add a chunk and return its text that surely belongs to the answer; empty once full."""
        self._note_end(chunk)
        self._note_usage(chunk.usage_metadata)
        if self.full:
            return ""
        reasoning, answer = _split_chunk(chunk)
        total = self._count.add(reasoning + answer)
        if total > self._max_tokens and self._cuts:
            self.full = True
            answer = cut_text(answer, self._max_tokens - self.tokens)
        self.tokens = min(total, self._max_tokens)
        text = self._half + self._text.add(answer)
        # Servers may divide a surrogate pair; its first half waits for the second one.
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return make_encodable(text.removesuffix(self._half))

    def end(self) -> str:
        """Return the answer's text that was held back because it might become a tag.

        Call this once, at the end.
        """
        return make_encodable(self._half + self._text.end())

    @property
    def answer(self) -> str:
        """The answer without its reasoning."""
        return make_encodable(self._text.answer)

    @property
    def reasoning_tokens(self) -> int:
        """The number of tokens that are not in the answer."""
        return max(0, self.tokens - count_tokens(self.answer))

    @property
    def reported_usage(self) -> ReportedUsage:
        """The server's own figures of its usage."""
        return ReportedUsage(
            prompt=self._reported.get("input_tokens"),
            completion=self._reported.get("output_tokens"),
        )

    @property
    def is_complete(self) -> bool:
        """True if the server ended the reply or it was cut."""
        return self.full or bool(self._ended)

    @property
    def is_truncated(self) -> bool:
        """True if the server or this object ended the reply because of its length."""
        return self.full or self._ended in _LENGTH

    @property
    def is_declined(self) -> bool:
        """True if the model or a filter refused to answer."""
        return self._declined or self._ended in _FILTERED

    def _note_end(self, chunk: Any) -> None:  # noqa: ANN401
        """Keep the reason for the end of the reply, if the chunk has one."""
        metadata = chunk.response_metadata
        for name in ("finish_reason", "stop_reason", "done_reason"):
            self._ended = str(metadata.get(name) or self._ended)
        self._declined = self._declined or bool(chunk.additional_kwargs.get("refusal"))

    def _note_usage(self, usage: Any) -> None:  # noqa: ANN401
        """Keep the server's token counts, if the chunk has any."""
        # Servers report once, in two chunks or as a running total, so the highest count is right.
        for name in ("input_tokens", "output_tokens"):
            if usage and usage.get(name) is not None:
                self._reported[name] = max(usage[name], self._reported.get(name, usage[name]))


def make_encodable(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates replaced, for any encoding."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _split_chunk(chunk: Any) -> tuple[str, str]:  # noqa: ANN401
    """Return the text of a chunk that the provider marks as reasoning, and its other text."""
    reasoning = str(chunk.additional_kwargs.get("reasoning_content") or "")
    if isinstance(chunk.content, str):
        return reasoning, chunk.content
    blocks = [block for block in chunk.content if isinstance(block, dict)]
    return reasoning + _join_blocks(blocks, "thinking"), _join_blocks(blocks, "text")


def _join_blocks(blocks: Iterable[dict[str, Any]], kind: str) -> str:
    """Return the text of all blocks of a kind."""
    return "".join(str(block.get(kind) or "") for block in blocks if block.get("type") == kind)
