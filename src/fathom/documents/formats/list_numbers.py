"""The numbers, letters and roman numbers of list items, as they are printed."""

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


def format_number(value: int, style: str) -> str:
    """Format a number as a list prints it.

    Args:
        value: The number. Below 1 and from 4000 on, letters and roman numbers become digits.
        style: `decimal`, `decimalZero` (two digits), `lowerLetter`, `upperLetter`, `lowerRoman` or
            `upperRoman`; any other style counts as `decimal`.
    """
    if style == "decimalZero":
        return f"{value:02d}"
    if not 0 < value < 4000 or style[5:] not in {"Letter", "Roman"}:
        return str(value)
    text = _format_roman(value) if style.endswith("Roman") else _format_letters(value)
    return text.upper() if style.startswith("upper") else text


def _format_letters(value: int) -> str:
    """Return a number as letters: a to z, then aa, bb and so on."""
    # Word continues with aa, bb, cc after z, not with aa, ab, ac.
    return chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)


def _format_roman(value: int) -> str:
    """Return a number as small roman digits."""
    signs = []
    for worth, sign in _ROMAN:
        count, value = divmod(value, worth)
        signs.append(sign * count)
    return "".join(signs)
