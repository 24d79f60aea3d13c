"""The lines around a place in a text."""


def widen_to_lines(text: str, start: int, end: int, lines: int) -> tuple[int, int]:
    """Extend a place in a text to whole lines.

    Args:
        text: The text.
        start: The offset of the place's start.
        end: The offset of its end.
        lines: The number of further lines before and after.

    Returns:
        The offsets of the start of the first line and the end of the last, without its line break.
    """
    start, end = text.rfind("\n", 0, start) + 1, _find_line_end(text, end)
    for _ in range(lines):
        start = text.rfind("\n", 0, max(start - 1, 0)) + 1
        end = _find_line_end(text, end + 1)
    return start, end


def _find_line_end(text: str, offset: int) -> int:
    """Return the offset of the end of the line at an offset, without its line break."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
