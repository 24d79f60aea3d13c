r"""Conditions of roff (`.if`, `.ie`, `.el`), decided as a formatter for terminals decides them.

The source of a manual page has lines for printers and lines for other tools. Conditions decide
which lines `man` shows: `n` and `t`, strings (`'a'b'`), numbers with registers (`\n(.g>0`), names
that are defined (`d`, `r`), and `!` before any of them. A condition that cannot be read is false.
"""

import re
from collections.abc import Iterator

_COMMENT = re.compile(r"\\[\"#].*")
_CONDITION = re.compile(r"[.'][ \t]*(?P<name>if|ie|el|while)(?![A-Za-z])[ \t]*")
_DEFINITION = re.compile(
    r"[.'][ \t]*(?:(?:de|am)[1i]?[ \t]+(?P<name>\S+)|ig(?!\S))[ \t]*(?P<end>\S*)"
)
_STRING = re.compile(r"[.'][ \t]*ds1?[ \t]+(?P<name>\S+)(?:[ \t]+\"?(?P<value>.*))?")
_REGISTER = re.compile(r"[.'][ \t]*nr[ \t]+(?P<name>\S+)[ \t]+(?P<value>\S+)")
_BLOCK = re.compile(r"[ \t]*\\\{[ \t]*(?:\\$)?")
_END = r"\}"
_MODE = re.compile(r"[noetv](?![A-Za-z0-9])[ \t]*")
_DEFINED = re.compile(r"(?P<kind>[dr])[ \t]*(?P<name>[^\s\\]+)[ \t]*")
_CHARACTER = re.compile(r"c[ \t]*(?:\\\[[^]]*\]|\\\(..|\S)[ \t]*")
_COMPARISON = re.compile(
    r"(?P<mark>[^\sA-Za-z0-9\\(+.-])(?P<one>.*?)(?P=mark)(?P<other>.*?)(?P=mark)"
)
_STRING_USE = re.compile(r"\\\*(?:\((..)|\[([^]]*)\]|(.))")
_REGISTER_USE = re.compile(r"\\n[+-]?(?:\((..)|\[([^]]*)\]|(.))")
_NUMBER = re.compile(r"(?P<digits>\d{1,9})(?:\.\d*)?[cfimMnpPsuvz]?")
_OPERATOR = re.compile(r"<=|>=|==|[-+*/%<>=&:]")
_MOST_CONDITIONS = 20
_MOST_CHARS = 200
_MOST_PARENTHESES = 20
_MOST_VALUE = 2**31
_TRUE_MODES = "no"
"""The modes that are true: the formatter is `nroff`, and the page is the first, an odd one."""
_MACROS = frozenset({
    "TH", "SH", "SS", "PP", "P", "LP", "TP", "TQ", "IP", "HP", "RS", "RE", "B", "I", "BR", "RB",
    "BI", "IB", "IR", "RI", "SM", "SB", "UR", "UE", "MT", "ME", "SY", "YS", "OP", "EX", "EE",
})  # fmt: skip
_REGISTERS = {".g": 1, ".x": 1, ".y": 23, "%": 1}
"""The registers of GNU's formatter that manual pages ask for; all others are 0."""


def list_printed_lines(text: str) -> Iterator[str]:
    """Yield the lines of a page that a terminal shows, without conditions and definitions.

    Args:
        text: The source of a page.
    """
    page = _Page()
    lines = [_COMMENT.sub("", line) for line in text.split("\n")]
    last_places = {_tighten(line): place for place, line in enumerate(lines)}
    end = ""
    for place, line in enumerate(lines):
        if end:
            end = "" if _tighten(line) == end else end
            continue
        printed = page.choose(line)
        if printed is None:
            continue
        definition = _DEFINITION.match(printed)
        if definition is None:
            page.note(printed)
            yield printed
            continue
        page.macros.add(definition["name"] or "")
        closing = f".{definition['end'] or '.'}"
        # A definition without an end would hide the rest of the page.
        end = closing if last_places.get(closing, 0) > place else ""


def _tighten(line: str) -> str:
    """Return a line without the blanks after its first dot and at its end."""
    return f".{line[1:].strip()}" if line[:1] in {".", "'"} else line


class _Page:
    """The macros, strings, registers and open conditions of a page up to a line."""

    def __init__(self) -> None:
        self.macros = set(_MACROS)
        self._strings = {".T": "utf8"}
        self._registers = dict(_REGISTERS)
        self._blocks: list[bool] = []  # of each open block, whether its lines are shown
        self._alternatives: list[bool] = []  # of each `.ie` without its `.el`, whether that holds

    def note(self, line: str) -> None:
        """Note the string or number that a line sets."""
        if string := _STRING.match(line):
            self._strings[string["name"]] = string["value"] or ""
        elif register := _REGISTER.match(line):
            value, _ = self._read_number(register["value"], 0)
            if value is not None:
                self._registers[register["name"]] = value

    def choose(self, line: str) -> str | None:
        """Return the part of a line that is shown, without conditions; `None` if nothing is."""
        shown = all(self._blocks)
        is_plain = True
        for _ in range(_MOST_CONDITIONS):
            condition = _CONDITION.match(line)
            if condition is None:
                break
            is_plain = False
            holds, at = self._decide(condition["name"], line, condition.end(), shown)
            shown = shown and holds
            if block := _BLOCK.match(line, at):
                self._blocks.append(shown)
                at = block.end()
            line = line[at:].lstrip(" \t")
        if ends := line.count(_END):
            is_plain = False
            self._blocks = self._blocks[: max(0, len(self._blocks) - ends)]
            line = line.replace(_END, "").rstrip()
        return line if shown and (is_plain or line.strip(".' \t")) else None

    def _decide(self, name: str, line: str, at: int, shown: bool) -> tuple[bool, int]:
        """Return whether a condition holds, and the place in the line where it ends.

        Args:
            name: The request: `if`, `ie`, `el` or `while`.
            line: The line.
            at: The place in the line after the request.
            shown: Whether the conditions around this one hold.
        """
        if name == "el":
            return bool(shown and self._alternatives and self._alternatives.pop()), at
        holds, end = self._test(line, at)
        if name == "ie" and shown:
            self._alternatives.append(not holds)
        return holds and name != "while", end

    def _test(self, line: str, at: int) -> tuple[bool, int]:
        """Return whether the condition at a place of a line is true, and its end."""
        start = at
        while line.startswith("!", start):
            start += 1
        holds, end = self._test_plain(line, start)
        if holds is None:
            block = line.find(r"\{", start)
            return False, block if block >= 0 else len(line)
        return holds != bool((start - at) % 2), end

    def _test_plain(self, line: str, at: int) -> tuple[bool | None, int]:
        """Return whether a condition without `!` is true, and its end.

        The first value is `None` if the condition cannot be read.
        """
        if mode := _MODE.match(line, at):
            return mode[0][0] in _TRUE_MODES, mode.end()
        if defined := _DEFINED.match(line, at):
            names = self._registers if defined["kind"] == "r" else {*self.macros, *self._strings}
            return defined["name"] in names, defined.end()
        if character := _CHARACTER.match(line, at):
            return True, character.end()
        if comparison := _COMPARISON.match(line, at):
            one, other = self._fill_in(comparison["one"]), self._fill_in(comparison["other"])
            return one == other, comparison.end()
        number, end = self._read_number(line, at)
        return (None if number is None else number > 0), end

    def _fill_in(self, text: str) -> str:
        """Return a text with the values of the strings and registers that it uses."""
        text = _STRING_USE.sub(lambda use: self._strings.get(_get_name(use), ""), text)
        return _REGISTER_USE.sub(lambda use: str(self._registers.get(_get_name(use), 0)), text)

    def _read_number(self, line: str, at: int) -> tuple[int | None, int]:
        """Return the value of the expression at a place (`None` without one), and its end."""
        expression = _Expression(line, at, self._registers)
        try:
            return expression.compute(), expression.at
        except ValueError:
            return None, at


class _Expression:
    """An expression of numbers, computed from left to right: all operators are of equal rank.

    Attributes:
        at: The place up to which the expression is read.
    """

    def __init__(self, line: str, at: int, registers: dict[str, int]) -> None:
        self.at = at
        self._line = line[: at + _MOST_CHARS]
        self._registers = registers
        self._depth = 0

    def compute(self) -> int:
        """Return the value.

        Raises:
            ValueError: If the expression is malformed or its value too large.
        """
        value = self._read_operand()
        while operator := self._take(_OPERATOR):
            value = _apply(operator[0], value, self._read_operand())
            if abs(value) >= _MOST_VALUE:
                raise ValueError("too large")
        return value

    def _read_operand(self) -> int:
        """Read a number, a register, a group in parentheses, or one of these with a sign."""
        if number := self._take(_NUMBER):
            return int(number["digits"])
        if register := self._take(_REGISTER_USE):
            return self._registers.get(_get_name(register), 0)
        sign, self.at = self._line[self.at : self.at + 1], self.at + 1
        if sign not in {"(", "-", "+", "!"} or self._depth >= _MOST_PARENTHESES:
            raise ValueError(sign)
        self._depth += 1
        value = self._read_group() if sign == "(" else self._read_operand()
        self._depth -= 1
        return {"-": -value, "!": int(value <= 0)}.get(sign, value)

    def _read_group(self) -> int:
        """Read the rest of a group whose opening parenthesis was read."""
        value = self.compute()
        if self._line[self.at : self.at + 1] != ")":
            raise ValueError("no end")
        self.at += 1
        return value

    def _take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        """Read a part of a form at the present place; `None` if there is none.

        Blanks before it are skipped within parentheses only.
        """
        while self._depth and self._line[self.at : self.at + 1] in {" ", "\t"}:
            self.at += 1
        match = form.match(self._line, self.at)
        self.at = match.end() if match else self.at
        return match


def _apply(operator: str, one: int, other: int) -> int:
    """Return the value of an operation; comparisons give 1 or 0."""
    if operator in {"/", "%"} and not other:
        raise ValueError("division by 0")
    return {
        "+": lambda: one + other,
        "-": lambda: one - other,
        "*": lambda: one * other,
        "/": lambda: one // other,
        "%": lambda: one % other,
        "<": lambda: int(one < other),
        ">": lambda: int(one > other),
        "<=": lambda: int(one <= other),
        ">=": lambda: int(one >= other),
        "=": lambda: int(one == other),
        "==": lambda: int(one == other),
        "&": lambda: int(one > 0 and other > 0),
        ":": lambda: int(one > 0 or other > 0),
    }[operator]()


def _get_name(use: re.Match[str]) -> str:
    """Return the name in the use of a string or a register."""
    return use[1] or use[2] or use[3] or ""
