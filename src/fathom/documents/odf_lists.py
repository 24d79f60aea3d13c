"""Printed list labels of OpenDocument files."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fathom.documents.markup import Element, attribute, children, descendants, local, number
from fathom.documents.numbering import BULLET, spell

_STYLES = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """How one level prints; `style` is empty for a bullet."""

    style: str = ""
    prefix: str = ""
    suffix: str = ""
    start: int = 1
    shown: int = 1


@dataclass(slots=True)
class Counter:
    """One list while it is read; `values` holds the numbers of all levels down to this one."""

    style: str
    depth: int
    levels: dict[int, _Level]
    values: list[int] = field(default_factory=list)

    def next(self, item: Element) -> str:
        """Count one item on and give its printed label."""
        if not _counts(item):
            return ""
        start = attribute(item, "start-value")
        self.values[-1] = self.values[-1] + 1 if start is None else number(start, 1)
        level = self.levels.get(self.depth, _Level())
        if not level.style:
            return BULLET
        first = max(0, self.depth - level.shown)
        spelled = [
            spell(value, self.levels.get(at + 1, _Level()).style)
            for at, value in enumerate(self.values)
            if at >= first
        ]
        return f"{level.prefix}{'.'.join(spelled)}{level.suffix}".strip()


class Lists:
    """The list styles of a document and where each list stopped counting."""

    def __init__(self, roots: Sequence[Element]) -> None:
        self._styles: dict[str, dict[int, _Level]] = {}
        self._last: dict[tuple[str, int], int] = {}
        self._open: list[Counter] = []
        for root in roots:
            for style in descendants(root, "list-style"):
                levels = {number(attribute(lvl, "level"), 1): _level(lvl) for lvl in style}
                self._styles.setdefault(attribute(style, "name") or "", levels)

    def open(self, listed: Element, inherited: str, depth: int) -> Counter:
        """Begin a list.

        Args:
            listed: The `text:list`.
            inherited: Style of the list around it.
            depth: From 1.
        """
        style = attribute(listed, "style-name") or inherited
        levels = self._styles.get(style, {})
        del self._open[depth - 1 :]
        above = self._open[-1].values if self._open else []
        start = levels.get(depth, _Level()).start - 1
        if attribute(listed, "continue-numbering") == "true":
            start = self._last_of(style, depth, start)
        counter = Counter(style, depth, levels, [*above, start])
        self._open.append(counter)
        self._remember(listed, counter, style, depth)
        return counter

    def _last_of(self, style: str, depth: int, start: int) -> int:
        return self._last.get((style, depth), start)

    def _remember(self, listed: Element, counter: Counter, style: str, depth: int) -> None:
        count = sum(_counts(item) for item in children(listed, "list-item"))
        self._last[(style, depth)] = counter.values[-1] + count


def _counts(item: Element) -> bool:
    """Whether an item has a number: one that only holds a deeper list has none."""
    return local(item) == "list-item" and any(True for _ in children(item, "p", "h"))


def _level(element: Element) -> _Level:
    if local(element) != "list-level-style-number":
        return _Level()
    kind = attribute(element, "num-format") or ""
    return _Level(
        style=_STYLES.get(kind, "decimal"),
        prefix=attribute(element, "num-prefix") or "",
        suffix=attribute(element, "num-suffix") or "",
        start=number(attribute(element, "start-value"), 1),
        shown=number(attribute(element, "display-levels"), 1),
    )
