"""Printed list labels, rebuilt from the numbering definitions of office files."""

import re
from dataclasses import dataclass, field, replace

from fathom.documents.formats.list_numbers import format_number
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_value,
    iter_children,
    parse_number,
)

BULLET = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberingLevel:
    """The numbers and labels of one level of a list.

    Attributes:
        style: The style of the numbers, as for `format_number`; `bullet` or `none` without numbers.
        text: The label, in which `%1` stands for the number of the first level, and so on.
        start: The first number.
        legal: Whether the label prints the numbers of all levels as digits.
        restarts: Whether the numbers begin anew after an item of a level above.
    """

    style: str = "decimal"
    text: str = ""
    start: int = 1
    legal: bool = False
    restarts: bool = True


@dataclass(slots=True)
class _ListState:
    """A list with the last number of each of its levels in `counts`."""

    levels: dict[int, NumberingLevel]
    counts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """The lists of a word processing document; labels must be requested in document order.

    Args:
        root: The root of `numbering.xml`; `None` if the document has no lists.
    """

    def __init__(self, root: Element | None) -> None:
        self._lists: dict[str, _ListState] = {}
        self._abstract_of: dict[str, str] = {}
        self._overrides: dict[str, dict[int, NumberingLevel]] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        if root is not None:
            self._read_lists(root)
            for num in iter_children(root, "num"):
                self._read_instance(num)

    def next_label(self, num: str, level: int) -> str:
        """Count an item and return its printed label; empty if none is printed.

        Args:
            num: The `w:numId` of the item.
            level: The `w:ilvl` of the item, from 0.
        """
        state = self._lists.get(self._abstract_of.get(num, ""))
        if state is None:
            return BULLET
        levels = state.levels | self._overrides[num]
        self._count(state, levels, num, level)
        return _format_label(levels, state.counts, level)

    def _count(
        self, state: _ListState, levels: dict[int, NumberingLevel], num: str, level: int
    ) -> None:
        """Count an item of a level, and reset the counts of the levels below."""
        restart = self._restarts[num].pop(level, None)
        if restart is not None:
            state.counts.pop(level, None)
            levels[level] = replace(levels.get(level, NumberingLevel()), start=restart)
        # Word prints levels that were skipped with their first number.
        for above in range(level):
            state.counts.setdefault(above, levels.get(above, NumberingLevel()).start)
        start = levels.get(level, NumberingLevel()).start
        state.counts[level] = state.counts.get(level, start - 1) + 1
        for below in [deeper for deeper in state.counts if deeper > level]:
            if levels.get(below, NumberingLevel()).restarts:
                del state.counts[below]

    def _read_lists(self, root: Element) -> None:
        """Read the definitions of lists; a list that links to a style shares its definition."""
        names_by_style: dict[str, str] = {}
        for abstract in iter_children(root, "abstractNum"):
            name = get_attribute(abstract, "abstractNumId") or ""
            self._lists[name] = _ListState(_read_levels(abstract))
            style = find_child(abstract, "styleLink")
            if style is not None:
                names_by_style[get_attribute(style, "val") or ""] = name
        for abstract in iter_children(root, "abstractNum"):
            style = find_child(abstract, "numStyleLink")
            source = (
                names_by_style.get(get_attribute(style, "val") or "") if style is not None else None
            )
            if source is not None:
                self._lists[get_attribute(abstract, "abstractNumId") or ""] = self._lists[source]

    def _read_instance(self, num: Element) -> None:
        """Read a use of a list, which may override levels or restart their numbers."""
        name = get_attribute(num, "numId") or ""
        self._abstract_of[name] = get_value(num, "abstractNumId") or ""
        self._overrides[name] = {}
        self._restarts[name] = {}
        for override in iter_children(num, "lvlOverride"):
            self._overrides[name] |= _read_levels(override)
            start = find_child(override, "startOverride")
            if start is not None:
                level = parse_number(get_attribute(override, "ilvl"))
                self._restarts[name][level] = parse_number(get_attribute(start, "val"), 1)


def _read_levels(parent: Element) -> dict[int, NumberingLevel]:
    """Return the levels that an element defines, by number from 0."""
    return {
        parse_number(get_attribute(lvl, "ilvl")): _read_level(lvl)
        for lvl in iter_children(parent, "lvl")
    }


def _read_level(lvl: Element) -> NumberingLevel:
    return NumberingLevel(
        style=get_value(lvl, "numFmt") or "decimal",
        text=get_value(lvl, "lvlText") or "",
        start=parse_number(get_value(lvl, "start"), 1),
        legal=find_child(lvl, "isLgl") is not None,
        restarts=get_value(lvl, "lvlRestart") != "0",
    )


def _format_label(levels: dict[int, NumberingLevel], counts: dict[int, int], level: int) -> str:
    """Return the label of an item from the present counts."""
    definition = levels.get(level, NumberingLevel())
    if definition.style == "bullet":
        return BULLET
    if definition.style == "none":
        return re.sub(r"%\d", "", definition.text).strip()

    def substitute(match: re.Match[str]) -> str:
        at = int(match.group(1)) - 1
        style = "decimal" if definition.legal else levels.get(at, NumberingLevel()).style
        return format_number(counts.get(at, 1), style)

    return re.sub(r"%([1-9])", substitute, definition.text).strip()
