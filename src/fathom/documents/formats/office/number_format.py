"""Number formats of spreadsheets and charts: what they print around a number, at which scale."""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import groupby

from openpyxl.styles.numbers import is_date_format, is_timedelta_format
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

from fathom.documents.formats.office.cells import format_value

_LONGEST = 255
"""The longest number format, in characters, that a spreadsheet program writes."""
_MOST_PARTS = 3
"""The number of parts of a format that are for numbers; a fourth one is for texts."""
_MOST_ZEROS = 40
_PART = re.compile(r'(?:"[^"]*"?|[\\_*].|\[[^][]*\]|[^;])*', re.DOTALL)
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<gap>.)|\*(?P<fill>.)|\[(?P<bracket>[^][]*)\]'
    r"|(?P<digit>(?i:General)|[0#?]|E[+-])|(?P<sign>[.,%@])|(?P<plain>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<>": operator.ne,
    "<": operator.lt, ">": operator.gt, "=": operator.eq,
}  # fmt: skip
_USUAL_TESTS = {1: ("",), 2: (">=", ""), 3: (">", "<", "")}
"""The comparisons with zero of the parts that state none, by the number of parts."""
_Token = tuple[str, str]
"""The kind of a piece of a format (`text`, `digit`, or a sign such as `%`), and its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a number format.

    Attributes:
        is_amount: Whether it has a place for digits.
        before: The text before the digits.
        after: The text behind the digits.
        groups: The numbers of digits and the texts between them of a code such as a postal code,
            which is printed with leading zeros; empty for other numbers.
        shift: The power of ten by which the number is multiplied.
        words: The words in place of the number, if it has no place for digits.
        shows_minus: Whether it prints a sign of its own for numbers below zero.
        condition: The comparison that it states.
    """

    is_amount: bool = False
    before: str = ""
    after: str = ""
    groups: tuple[int | str, ...] = ()
    shift: int = 0
    words: str = ""
    shows_minus: bool = False
    condition: tuple[str, float] | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether it prints nothing but the number."""
        return not (self.before or self.after or self.groups or self.shift or self.words)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A number format.

    Attributes:
        is_date: Whether it prints a number as a date or a time.
        is_duration: Whether it prints a number as hours, minutes or seconds.
        parts: Its parts for numbers; empty if they print nothing but the number.
        around: The words before and behind a text.
        hides_numbers: Whether it prints nothing for any number.
        hides_texts: Whether it prints nothing at all, neither for numbers nor for texts.
    """

    is_date: bool = False
    is_duration: bool = False
    parts: tuple[_Part, ...] = ()
    around: tuple[str, str] = ("", "")
    hides_numbers: bool = False
    hides_texts: bool = False


@lru_cache
def read_format(form: str) -> NumberFormat:
    """Return what a number format says, such as `#,##0.00 "USD"`."""
    stated = _split_parts(form) if len(form) <= _LONGEST else []
    parts = [_read_part(part, at) for at, part in enumerate(stated[:_MOST_PARTS])]
    hides_numbers = len(stated) > 1 and not any(map(_prints, stated[:_MOST_PARTS]))
    return NumberFormat(
        is_date_format(form),
        is_timedelta_format(form),
        () if all(part.is_plain for part in parts) else tuple(parts),
        _read_around(stated[-1] if stated else ""),
        hides_numbers,
        # A part for texts that is empty beside others is rather a stray semicolon.
        hides_numbers and len(stated) > _MOST_PARTS and not _prints(stated[_MOST_PARTS]),
    )


def _prints(part: str) -> bool:
    """Return whether a part of a format prints anything but spaces."""
    return any(kind != "text" or text.strip() for kind, text in _list_tokens(part)[0])


def _read_around(part: str) -> tuple[str, str]:
    """Return the words before and behind the text that the last part of a format prints."""
    tokens, _ = _list_tokens(part)
    if ("@", "@") not in tokens:
        return "", ""
    at = tokens.index(("@", "@"))
    return _join_texts(tokens[:at]).lstrip(), _join_texts(tokens[at + 1 :]).rstrip()


def print_number(value: float, form: NumberFormat) -> str:
    """Return a number with the unit, the scale and the leading zeros that its format prints.

    It keeps all its digits, also those that the format rounds away, and has no marks between
    thousands. A number below zero has a minus sign, unless its part of the format has words of its
    own instead, such as "loss".
    """
    text = format_value(value)
    if not form.parts:
        return text
    part = _choose_part(value, form.parts)
    if part.words:
        return part.words
    if part.shift:
        text = format_value(float(Decimal(text).scaleb(part.shift)))
    digits = text.removeprefix("-")
    sign = "" if digits == text or _says_minus(part, form.parts) else "-"
    return f"{sign}{part.before}{_print_code(digits, part.groups)}{part.after}"


def print_text(text: str, form: NumberFormat) -> str:
    """Return a text with the words that its format prints around it, such as a unit."""
    before, after = form.around
    return f"{before}{text}{after}" if text else text


def read_date(value: float, form: NumberFormat, *, from_1904: bool) -> object:
    """Return the date, the time or the duration that a number stands for.

    Args:
        value: The number of days.
        form: The format, which prints a date.
        from_1904: Whether days count from 1904, as in files of old Macs, and not from 1900.
    """
    epoch = MAC_EPOCH if from_1904 else WINDOWS_EPOCH
    try:
        return from_excel(value, epoch, timedelta=form.is_duration)
    except (OverflowError, ValueError):
        return "#VALUE!"


def _choose_part(value: float, parts: Sequence[_Part]) -> _Part:
    """Return the part that prints a number; the first one in place of a part without any print."""
    for part, usual in zip(parts, _USUAL_TESTS[len(parts)], strict=True):
        test, bound = part.condition or (usual, 0.0)
        if not test or _TESTS[test](value, bound):
            return part if part.is_amount or part.words else parts[0]
    return parts[0]


def _says_minus(part: _Part, parts: Sequence[_Part]) -> bool:
    """Return whether words of a part say that the number is below zero, in place of a sign."""
    if part is parts[0] or part.shows_minus or any(other.condition for other in parts):
        return False
    around, usual = part.before + part.after, parts[0].before + parts[0].after
    return around != usual and any(map(str.isalpha, around))


def _print_code(digits: str, groups: Sequence[int | str]) -> str:
    """Return the digits of a code with leading zeros and with the texts between them.

    A number with a point has none, because the format would round it.
    """
    if not groups or not digits.isdigit():
        return digits
    pieces: list[str] = []
    rest = digits.zfill(sum(group for group in groups if isinstance(group, int)))
    for group in reversed(groups[1:]):
        if isinstance(group, int):
            pieces.append(rest[-group:])
            rest = rest[:-group]
        else:
            pieces.append(group)
    return "".join([rest, *reversed(pieces)])


def _split_parts(form: str) -> list[str]:
    """Return the parts of a format, which semicolons separate."""
    parts: list[str] = []
    at = 0
    while at <= len(form):
        match = _PART.match(form, at)
        end = match.end() if match else len(form)
        parts.append(form[at:end])
        at = end + 1
    return parts


def _read_part(form: str, at: int) -> _Part:
    """Read a part of a format; the first one (`at` is 0) is not only for numbers below zero."""
    tokens, condition = _list_tokens(form)
    places = [place for place, (kind, _) in enumerate(tokens) if kind == "digit"]
    if not places or ("@", "@") in tokens:
        words = _join_texts(tokens)
        is_text = ("@", "@") in tokens or not any(map(str.isalpha, words))
        return _Part(words="" if is_text else words, condition=condition)
    first, last = places[0], places[-1] + 1
    before = _join_texts(tokens[:first])
    inner = _join_texts(tokens[first:last])
    bare = _strip_sign(before, inner, is_first=at == 0)
    behind = tokens[last:]
    after = _join_texts(behind).rstrip()
    is_percent = ("%", "%") in tokens
    if ("%", "%") in behind:
        after = _join_texts(behind[behind.index(("%", "%")) + 1 :]).rstrip()
    return _Part(
        is_amount=True,
        before=bare,
        after=("%" if is_percent else "") + _strip_bracket(after, inner),
        groups=_read_groups(tokens[first:last]),
        shift=2 * is_percent - 3 * _count_scales(tokens[first:]),
        shows_minus="-" in before.replace(bare, "") or "(" in before.replace(bare, ""),
        condition=condition,
    )


def _list_tokens(form: str) -> tuple[list[_Token], tuple[str, float] | None]:
    """Return the pieces of a part of a format that are printed, and its condition."""
    tokens: list[_Token] = []
    condition = None
    for match in _TOKEN.finditer(form):
        kind, text = match.lastgroup or "quoted", match[match.lastgroup or "quoted"]
        if kind == "bracket":
            stated = _CONDITION.fullmatch(text)
            condition = (stated[1], float(stated[2])) if stated else condition
            # A currency, such as `$EUR-407` with the language of its numbers.
            text = text[1:].partition("-")[0] if text.startswith("$") else ""
        elif kind in {"gap", "fill"}:
            is_sign = kind == "fill" and tokens and not tokens[-1][1][-1:].isalnum()
            text = "" if is_sign else " "
        names = {"digit": "digit", "sign": text}
        tokens.append((names.get(kind, "text"), text))
    return tokens, condition


def _join_texts(tokens: Iterable[_Token]) -> str:
    """Return the text of the pieces that are texts, with single spaces."""
    text = re.sub(r"\s+", " ", "".join(text for kind, text in tokens if kind == "text"))
    return text.replace(" %", "%").lstrip() if text.startswith(" %") else text


def _strip_sign(before: str, inner: str, *, is_first: bool) -> str:
    """Return the text before the digits without signs, which the number itself has.

    A dash behind a letter belongs to a code such as `A-007`, but in a part that is only for numbers
    below zero it is a minus.
    """
    bare = before.lstrip(" +-\u2212")
    if "(" in bare and ")" not in bare + inner:
        bare = bare.replace("(", "", 1)
    return bare if is_first else bare.rstrip("-\u2212")


def _strip_bracket(after: str, inner: str) -> str:
    """Return the text behind the digits without a minus or the end of a bracket around them."""
    bare = after if "(" in inner + after else after.replace(")", "", 1)
    return bare.rstrip() if bare.strip(" -\u2212") else ""


def _read_groups(tokens: Sequence[_Token]) -> tuple[int | str, ...]:
    """Return the groups of digits of a code; none for other numbers, such as amounts."""
    zeros = sum(token == ("digit", "0") for token in tokens)
    others = [token for token in tokens if token[0] not in {"digit", "text"}]
    digits = sum(kind == "digit" for kind, _ in tokens)
    if others or zeros != digits or not 1 < zeros <= _MOST_ZEROS:
        return ()
    return tuple(
        len(list(group)) if kind == "digit" else _join_texts(group)
        for kind, group in groupby(tokens, key=lambda token: token[0])
    )


def _count_scales(tokens: Sequence[_Token]) -> int:
    """Return the number of commas behind the digits before the point; each divides by 1,000."""
    kinds = [kind for kind, _ in tokens if kind != "text"]
    point = kinds.index(".") if "." in kinds else len(kinds)
    count = 0
    for side in (kinds[:point], kinds[point:]):
        while side and side[-1] in {",", "%"}:
            count += side.pop() == ","
    return count
