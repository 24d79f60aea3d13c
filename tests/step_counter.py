"""A backtracking matcher that counts its steps, for patterns as `re` parses them.

It goes the way of `re`, without its shortcuts, so that the number of steps tells on any machine
how the work grows with the text.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

# Typed stubs lack what `re` parses with.
codes: Any = import_module("re._constants")
parser: Any = import_module("re._parser")
Proceed = Callable[[int], int | None]
"""A continuation: it takes a position and returns the end of the match, or nothing."""
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_SINGLES = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
# As plain numbers, because an operation of flags takes as long as the rest of a step.
_ASCII, _DOTALL = int(re.ASCII), int(re.DOTALL)
_IGNORECASE, _MULTILINE = int(re.IGNORECASE), int(re.MULTILINE)
_WORD, _DIGIT, _SPACE = "WORD", "DIGIT", "SPACE"


class TooManySteps(Exception):
    """More steps than the counter allows."""


class StepCounter:
    """A matcher for one pattern; `steps` has the number of its steps so far."""

    def __init__(self, pattern: str, flags: int = 0, *, most: int = 1_000_000) -> None:
        """Parse the pattern.

        Args:
            pattern: A regular expression.
            flags: Flags of `re`.
            most: The number of steps from which on counting stops.
        """
        self.tree = parser.parse(pattern, flags)
        self._flags = int(self.tree.state.flags)
        self._most = most
        self._text = ""
        self._groups: dict[int, tuple[int, int]] = {}
        self._verdicts: dict[tuple[int, str, int], bool] = {}
        self.steps = 0

    def search(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the place of each match, as `finditer` does."""
        start = least = 0
        while start <= len(text):
            end = self.match(text, start, least=least)
            if end is None:
                start = least = start + 1
                continue
            yield start, end
            # Where an empty match was, another one may begin that is not empty.
            least = end + (end == start)
            start = end

    def match(
        self, text: str, start: int = 0, *, least: int = 0, whole: bool = False
    ) -> int | None:
        """Return the end of a match that begins at a position.

        Args:
            text: The text.
            start: The place at which the match begins.
            least: The first place at which it may end.
            whole: Whether it has to end with the text.
        """
        self._text, self._groups = text, {}
        return self._walk(
            self.tree,
            0,
            start,
            self._flags,
            lambda end: end if end >= least and _ends(end, text, whole) else None,
        )

    def _walk(self, seq: Any, index: int, at: int, flags: int, proceed: Proceed) -> int | None:
        nodes = getattr(seq, "data", seq)  # those of a parsed pattern, which finds them slowly
        for place in range(index, len(nodes)):
            self._count()
            node = nodes[place]
            code, value = node
            if code not in _SINGLES:
                after = partial(self._walk_on, nodes, place + 1, flags, proceed)
                return self._step(code, value, at, flags, after)
            if not self._fits(node, at, flags):
                return None
            at += 1
        return proceed(at)

    def _walk_on(self, seq: Any, index: int, flags: int, proceed: Proceed, at: int) -> int | None:
        return self._walk(seq, index, at, flags, proceed)

    def _count(self) -> None:
        self.steps += 1
        if self.steps > self._most:
            raise TooManySteps

    def _fits(self, node: Any, at: int, flags: int) -> bool:
        if at >= len(self._text):
            return False
        key = (id(node), self._text[at], flags)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = accepts_char(node, self._text[at], flags)
        return verdict

    def _step(self, code: Any, value: Any, at: int, flags: int, after: Proceed) -> int | None:
        if code in _REPEATS:
            return self._repeat(code, value, at, flags, after)
        if code is codes.GROUPREF_EXISTS:
            value = (None, [value[1] if value[0] in self._groups else value[2] or ()])
        if code in {codes.BRANCH, codes.GROUPREF_EXISTS}:
            for branch in value[1]:
                if (end := self._walk(branch, 0, at, flags, after)) is not None:
                    return end
            return None
        if code is codes.SUBPATTERN:
            return self._group(value, at, flags, after)
        if code is codes.ATOMIC_GROUP:
            end = self._walk(value, 0, at, flags, _stay)
            return None if end is None else after(end)
        return after(self._jump(code, value, at)) if self._holds(code, value, at, flags) else None

    def _repeat(self, code: Any, value: Any, at: int, flags: int, after: Proceed) -> int | None:
        body = value[2]
        if len(body) == 1 and body[0][0] in _SINGLES:
            return self._repeat_single(code, value, at, flags, after)
        if code is codes.POSSESSIVE_REPEAT:
            return self._repeat_possessively(value, at, flags, after)
        return self._repeat_group(code, value, at, flags, after)

    def _repeat_group(
        self, code: Any, value: Any, at: int, flags: int, after: Proceed
    ) -> int | None:
        least, most, body = value

        def try_more(count: int, begin: int) -> int | None:
            if count >= most:
                return None
            return self._walk(
                body, 0, begin, flags,
                lambda end: None if end == begin and count >= least else try_next(count + 1, end),
            )  # fmt: skip

        def try_next(count: int, begin: int) -> int | None:
            if count < least:
                return try_more(count, begin)

            def go_on() -> int | None:
                return try_more(count, begin)

            def finish() -> int | None:
                return after(begin)

            is_lazy = code is codes.MIN_REPEAT
            first, second = (finish, go_on) if is_lazy else (go_on, finish)
            end = first()
            return second() if end is None else end

        return try_next(0, at)

    def _repeat_possessively(self, value: Any, at: int, flags: int, after: Proceed) -> int | None:
        least, most, body = value
        count = 0
        while count < most and (end := self._walk(body, 0, at, flags, _stay)) is not None:
            count += 1
            if end == at:
                break
            at = end
        return after(at) if count >= least else None

    def _repeat_single(
        self, code: Any, value: Any, at: int, flags: int, after: Proceed
    ) -> int | None:
        least, most, body = value
        end: int | None
        if code is codes.MIN_REPEAT:
            count = 0
            while True:
                if count >= least and (end := after(at + count)) is not None:
                    return end
                self._count()
                if count == most or not self._fits(body[0], at + count, flags):
                    return None
                count += 1
        count = 0
        while count < most and self._fits(body[0], at + count, flags):
            self._count()
            count += 1
        for length in range(count, least - 1, -1):
            self._count()
            if (end := after(at + length)) is not None or code is codes.POSSESSIVE_REPEAT:
                return end
        return None

    def _group(self, value: Any, at: int, flags: int, after: Proceed) -> int | None:
        number, added, removed, body = value
        before = self._groups.get(number)

        def close(end: int) -> int | None:
            if number is not None:
                self._groups[number] = (at, end)
            return after(end)

        end = self._walk(body, 0, at, (flags | added) & ~removed, close)
        if end is None and before is not None:
            self._groups[number] = before
        return end

    def _jump(self, code: Any, value: Any, at: int) -> int:
        """Return the position after a reference to a group; other conditions take no room."""
        begin, end = self._groups.get(value, (0, 0)) if code is codes.GROUPREF else (0, 0)
        return at + end - begin

    def _holds(self, code: Any, value: Any, at: int, flags: int) -> bool:
        if code is codes.GROUPREF:
            begin, end = self._groups.get(value, (0, -1))
            return end >= 0 and self._text.startswith(self._text[begin:end], at)
        if code is codes.AT:
            return self._stands(value, at, flags)
        if code not in {codes.ASSERT, codes.ASSERT_NOT}:
            raise NotImplementedError(str(code))
        direction, body = value
        start = at if direction > 0 else at - body.getwidth()[0]
        goal = None if direction > 0 else at

        def reach(end: int) -> int | None:
            return end if goal in {None, end} else None

        holds = start >= 0 and self._walk(body, 0, start, flags, reach) is not None
        return holds == (code is codes.ASSERT)

    def _stands(self, where: Any, at: int, flags: int) -> bool:
        text = self._text
        if where in {codes.AT_BOUNDARY, codes.AT_NON_BOUNDARY}:
            sides = [0 <= side < len(text) and _is_word(text[side]) for side in (at - 1, at)]
            return (sides[0] != sides[1]) == (where is codes.AT_BOUNDARY)
        by_line = flags & _MULTILINE
        if where in {codes.AT_BEGINNING, codes.AT_BEGINNING_STRING}:
            is_line = where is codes.AT_BEGINNING and by_line
            return at == 0 or bool(is_line and text[at - 1] == "\n")
        if where is codes.AT_END_STRING:
            return at == len(text)
        return at == len(text) or (text[at] == "\n" and bool(by_line or at == len(text) - 1))


def _stay(end: int) -> int | None:
    return end


def _ends(end: int, text: str, whole: bool) -> bool:
    return end == len(text) or not whole


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def accepts_char(node: Any, char: str, flags: int) -> bool:
    """Return whether a parsed part of a pattern that takes one character takes this one."""
    code, value = node
    if code is codes.ANY:
        return bool(flags & _DOTALL) or char != "\n"
    cases = (char, char.lower(), char.upper()) if flags & _IGNORECASE else (char,)
    variants = {case for case in cases if len(case) == 1}
    if code is codes.IN:
        is_negated = value[0][0] is codes.NEGATE
        return is_negated != any(_is_among(value, variant, flags) for variant in variants)
    return (chr(value) in variants) == (code is codes.LITERAL)


def _is_among(members: Any, char: str, flags: int) -> bool:
    for code, value in members:
        if code is codes.LITERAL and value == ord(char):
            return True
        if code is codes.RANGE and value[0] <= ord(char) <= value[1]:
            return True
        if code is codes.CATEGORY and _is_of_category(str(value), char, flags):
            return True
    return False


def _is_of_category(category: str, char: str, flags: int) -> bool:
    is_near = not flags & _ASCII or char.isascii()
    kinds = {_WORD: _is_word(char), _DIGIT: char.isdecimal(), _SPACE: char.isspace()}
    kind = category.rpartition("_")[2]
    return (kinds[kind] and is_near) != ("_NOT_" in category)
