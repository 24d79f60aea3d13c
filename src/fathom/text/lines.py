"""Lines around a place in a text."""


def widen_to_lines(text: str, start: int, end: int, lines: int) -> tuple[int, int]:
    """Return the offsets of the whole lines of a place, with so many more before and after it."""
    start, end = text.rfind("\n", 0, start) + 1, _find_line_end(text, end)
    for _ in range(lines):
        start = text.rfind("\n", 0, max(start - 1, 0)) + 1
        end = _find_line_end(text, end + 1)
    return start, end


def _find_line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
