"""Keeps a model's thinking out of its answer, also while it streams."""

import re

_OPENING = ("<think>", "<thinking>", "<reasoning>")
_CLOSING = re.compile(r"</(?:think|thinking|reasoning)>\s*")
_LONGEST = len("</reasoning>")


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
