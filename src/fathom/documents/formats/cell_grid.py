"""The columns of a table whose cells may span several columns and rows."""

from collections.abc import Iterable

_MOST_COLUMNS = 100
"""The number of columns up to which cells keep their places; a page may claim any number."""


class CellGrid:
    """The rows of a table in order; cells of earlier rows may reach into later ones."""

    def __init__(self) -> None:
        self._covered: dict[int, int] = {}

    def place_row(self, cells: Iterable[tuple[str, int, int]]) -> list[str]:
        """Return the texts of a row by column.

        The text of a cell stands in the first of its columns; its other columns, and those that
        cells of earlier rows span, are empty. Columns after the last cell are left out.

        Args:
            cells: For each cell the text, and the numbers of columns and rows that it spans.
        """
        remaining = {column: rows - 1 for column, rows in self._covered.items() if rows > 1}
        texts: list[str] = []
        end = 0
        for text, columns, rows in cells:
            while len(texts) in self._covered:
                texts.append("")
            start = len(texts)
            texts += [text, *[""] * (min(columns, _MOST_COLUMNS) - 1)]
            end = start + 1
            if rows > 1:
                for column in range(start, min(len(texts), _MOST_COLUMNS)):
                    remaining[column] = rows - 1
        self._covered = remaining
        return texts[:end]
