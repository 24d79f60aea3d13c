"""Which line of its file each part of a text comes from.

Parsers join wrapped lines, drop marks and turn rows into sentences; the words stay, in their
order. So the words of the text are followed through the file, whatever parser made it.
"""

import html
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice

AHEAD = 400
"""So many words of the file that the text does not hold are skipped, not more."""
_WORD = re.compile(r"\w+")
_UNSEEN = re.compile(
    r"<!--.*?-->|<(?P<tag>script|style)\b.*?</(?P=tag)\s*>|<[^<>]*>", re.DOTALL | re.IGNORECASE
)


def lines_of(
    text: str, file: str, starts: Sequence[int] = (), *, patience: int = 5_000_000
) -> tuple[tuple[int, int], ...]:
    """Where lines of the file begin in the text, as (offset, line from 1), both growing.

    Args:
        text: What a parser made of the file.
        file: The whole file, decoded.
        starts: Where blocks of the text start, ascending: what a parser puts before the first
            word of one, such as the number of a list's item, belongs to the line of that word.
        patience: So many words are compared in vain, about two seconds long; then it is given up.

    Returns:
        Empty where it was given up: most lines would be told wrongly.
    """
    words = _Words(file.replace("\r\n", "\n").replace("\r", "\n"))
    found: list[tuple[int, int]] = []
    before = -1
    for word, after, offset in _pairs(text):
        line = words.line_of(word, after)
        if words.in_vain > patience:
            return ()
        if line is None:
            continue
        if not found or line > found[-1][1]:
            block = starts[at - 1] if (at := bisect_right(starts, offset)) else 0
            found.append((block if block > before else offset, line))
        before = offset
    return tuple(found)


def without_tags(markup: str) -> str:
    """HTML or XML with spaces in place of tags, comments and scripts; each line stays itself."""
    bare = _UNSEEN.sub(lambda found: " " + "\n" * found[0].count("\n"), markup)
    return "\n".join(html.unescape(line).replace("\n", " ") for line in bare.split("\n"))


def _pairs(text: str) -> Iterator[tuple[str, str, int]]:
    """Each word with the one after it and its offset."""
    word, offset = "", 0
    for found in _WORD.finditer(text):
        if word:
            yield word, found[0], offset
        word, offset = found[0], found.start()
    if word:
        yield word, "", offset


class _Words:
    """The words of a file, taken one after the other; some of them are known ahead."""

    def __init__(self, file: str) -> None:
        self._coming = (
            (found[0], number)
            for number, line in enumerate(file.split("\n"), start=1)
            for found in _WORD.finditer(line)
        )
        self._ahead: deque[tuple[str, int]] = deque()
        self._held: Counter[str] = Counter()
        self.in_vain = 0
        self._fill()

    def line_of(self, word: str, after: str) -> int | None:
        """Take the words up to this one, which `after` follows; `None` if it is not ahead."""
        skipped = self._skipped(word, after)
        if skipped is None:
            return None
        for _ in range(skipped + 1):
            taken, line = self._ahead.popleft()
            self._held[taken] -= 1
        self._fill()
        return line

    def _skipped(self, word: str, after: str) -> int | None:
        if not self._held[word]:
            return None
        if self._ahead[0][0] == word:
            return 0
        for place, (one, _) in enumerate(islice(self._ahead, AHEAD)):
            following = self._ahead[place + 1][0] if place + 1 < len(self._ahead) else ""
            if one == word and following == after:
                return place
        self.in_vain += len(self._ahead)
        return None

    def _fill(self) -> None:
        for word, line in islice(self._coming, AHEAD + 1 - len(self._ahead)):
            self._ahead.append((word, line))
            self._held[word] += 1
