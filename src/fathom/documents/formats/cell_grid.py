"""The columns of a table whose cells may span several columns and rows."""

import re
from collections.abc import Iterable

LONGEST_REPEATED = 60
"""The longest text, in characters, that is repeated in each row that its cell spans."""
_FIGURE = re.compile(r"\d")
_MOST_COLUMNS = 100
"""The number of columns up to which cells keep their places; a page may claim any number."""
_MOST_REPEATS = 100_000
"""The number of texts of a table that are repeated; a page may claim any number of rows."""


class CellGrid:
    """The rows of a table in order; cells of earlier rows may reach into later ones.

    Args:
        has_head: Whether rows above these name the columns.
    """

    def __init__(self, *, has_head: bool = False) -> None:
        self._covered: dict[int, tuple[str, int]] = {}
        """The text, and the number of rows, of the cells that reach into the next row."""
        # The first row may name the columns.
        self._may_name = not has_head
        self._repeats = 0

    def begin_group(self) -> "CellGrid":
        """Return the grid of the next group of rows, into which no cell of this one reaches."""
        return CellGrid(has_head=not self._may_name)

    def place_row(
        self, cells: Iterable[tuple[str | None, int, int]], *, head: bool = False
    ) -> list[str]:
        """Return the texts of a row by column.

        The text of a cell stands in the first of its columns. If it is short, it is repeated in all
        rows with other text that the cell spans, so that each row can be understood alone. Its
        other columns are empty. Columns after the last text are left out.

        Cells of a first row that may name the columns, although the file does not mark it, are not
        repeated: below it, they would make its other cells names of columns.

        Args:
            cells: For each cell the text, and the numbers of columns and rows that it spans. The
                text is `None` for a cell that the file states although others cover it.
            head: Whether the file says that the row names the columns.
        """
        covered = self._covered
        remaining = {at: (text, rows - 1) for at, (text, rows) in covered.items() if rows > 1}
        texts: list[str] = []
        spans: list[tuple[int, int, int]] = []
        for text, columns, rows in cells:
            while text is not None and len(texts) in covered:
                texts.append("")
            start = len(texts)
            texts += [text or "", *[""] * (min(columns, _MOST_COLUMNS) - 1)]
            spans.append((start, len(texts), rows))
        is_lone = self._may_name and not head and not _FIGURE.search("".join(texts))
        for start, end, rows in spans:
            for column in range(start, min(end, _MOST_COLUMNS) if rows > 1 else start):
                shown = texts[column] if not is_lone and column == start else ""
                remaining[column] = (shown, rows - 1)
        self._covered = remaining
        self._may_name = self._may_name and not any(map(str.strip, texts))
        texts = texts[: spans[-1][0] + 1 if spans else 0]
        return self._repeat_texts(texts, covered) if any(map(str.strip, texts)) else texts

    def _repeat_texts(self, texts: list[str], covered: dict[int, tuple[str, int]]) -> list[str]:
        """Return the texts of a row with those of the cells of earlier rows that reach into it."""
        for column, (text, _) in sorted(covered.items()):
            if text and len(text) <= LONGEST_REPEATED and self._repeats < _MOST_REPEATS:
                texts += [""] * (column + 1 - len(texts))
                texts[column] = texts[column].strip() or text
                self._repeats += 1
        return texts
