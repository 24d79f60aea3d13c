"""The lines of a file from which the parts of its text come.

Parsers join wrapped lines, drop marks and turn rows into sentences, but they keep the words in
their order. So the words of the text are followed through the file, whatever its format.
"""

import html
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice

LOOK_AHEAD = 400
"""The largest number of words of the file to skip because the text does not have them."""
_SOFT_HYPHEN = "\u00ad"
_WORD = re.compile(r"\w+")
_UNSEEN = re.compile(
    r"<!--.*?-->|<(?P<tag>script|style)\b.*?</(?P=tag)\s*>|<[^<>]*>", re.DOTALL | re.IGNORECASE
)


def map_lines(
    text: str, file: str, starts: Sequence[int] = (), *, patience: int = 5_000_000
) -> tuple[tuple[int, int], ...]:
    """Return the places in a text at which lines of its file begin.

    Args:
        text: The text that a parser made of the file.
        file: The whole file, decoded.
        starts: The offsets of the blocks of the text, ascending. Characters that a parser puts
            before the first word of a block, such as the number of a list item, belong to the line
            of that word.
        patience: The number of comparisons without a match after which the search is given up; the
            default takes about two seconds.

    Returns:
        Pairs of offset and line number (from 1), both growing; empty if the search was given up,
        because most lines would be wrong.
    """
    if _SOFT_HYPHEN not in text:  # the parser has dropped them and so joined the parts of a word
        file = file.replace(_SOFT_HYPHEN, "")
    words = _WordStream(file.replace("\r\n", "\n").replace("\r", "\n"))
    lines: list[tuple[int, int]] = []
    last_offset = -1
    for word, following, offset in _pair_words(text):
        line = words.find_line(word, following)
        if words.failed_comparisons > patience:
            return ()
        if line is None:
            continue
        if not lines or line > lines[-1][1]:
            block = starts[at - 1] if (at := bisect_right(starts, offset)) else 0
            # The line may not begin before a word of an earlier line.
            lines.append((block if block > last_offset else offset, line))
        last_offset = offset
    return tuple(lines)


def strip_tags(markup: str) -> str:
    """Replace tags, comments and scripts of HTML or XML by spaces; the lines keep their numbers."""
    bare = _UNSEEN.sub(lambda match: " " + "\n" * match[0].count("\n"), markup)
    return "\n".join(html.unescape(line).replace("\n", " ") for line in bare.split("\n"))


def _pair_words(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each word with the next one and its offset."""
    word, offset = "", 0
    for match in _WORD.finditer(text):
        if word:
            yield word, match[0], offset
        word, offset = match[0], match.start()
    if word:
        yield word, "", offset


class _WordStream:
    """The words of a file in order, with a limited look-ahead."""

    def __init__(self, file: str) -> None:
        self._remaining = (
            (match[0], number)
            for number, line in enumerate(file.split("\n"), start=1)
            for match in _WORD.finditer(line)
        )
        self._ahead: deque[tuple[str, int]] = deque()
        self._counts: Counter[str] = Counter()
        self.failed_comparisons = 0
        self._fill()

    def find_line(self, word: str, after: str) -> int | None:
        """Consume the words up to a word, and return the line of that word.

        Args:
            word: The word.
            after: The word that follows it, by which it is recognised among equal ones.

        Returns:
            The number of the line; `None` if the word is not within the look-ahead, and then no
            word is consumed.
        """
        skipped = self._count_skipped(word, after)
        if skipped is None:
            return None
        for _ in range(skipped + 1):
            dropped, line = self._ahead.popleft()
            self._counts[dropped] -= 1
        self._fill()
        return line

    def _count_skipped(self, word: str, after: str) -> int | None:
        """Return the number of words before a word; `None` if it is not within the look-ahead."""
        # The counter answers for most words without a walk over those ahead.
        if not self._counts[word]:
            return None
        if self._ahead[0][0] == word:
            return 0
        for index, (candidate, _) in enumerate(islice(self._ahead, LOOK_AHEAD)):
            following = self._ahead[index + 1][0] if index + 1 < len(self._ahead) else ""
            if candidate == word and following == after:
                return index
        self.failed_comparisons += len(self._ahead)
        return None

    def _fill(self) -> None:
        """Read words of the file until the look-ahead is full."""
        for word, line in islice(self._remaining, LOOK_AHEAD + 1 - len(self._ahead)):
            self._ahead.append((word, line))
            self._counts[word] += 1
