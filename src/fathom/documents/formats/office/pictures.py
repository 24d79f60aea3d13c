"""Pictures inside office files: their text is recognised where somebody can, else it is told."""

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.documents.base import NEEDS_OCR, Builder, Parsed, Refused, add_parsed
from fathom.documents.formats.office.package import Package
from fathom.types import Scalar

if TYPE_CHECKING:  # what reads pictures is loaded where there is one
    from fathom.documents.formats.pdf.lines import Line, PageLines, Recogniser

FEWEST_BYTES = 4_000
"""Smaller ones are signs and lines, no pictures of text."""
_BEGINNINGS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")  # PNG, JPEG, TIFF


class Pictures:
    """The pictures of one package; each is read once, however often it is shown.

    Args:
        package: Where they are.
        recogniser: Reads them; without one they are only counted.

    Raises:
        Refused: If they are more than may be read of a file.
    """

    def __init__(self, package: Package, recogniser: "Recogniser | None") -> None:
        self._package = package
        self._recogniser = recogniser
        self._left = dict.fromkeys(package.pictures(_BEGINNINGS, FEWEST_BYTES))
        self._pages: list[PageLines] = []
        if recogniser is not None and self._left:
            recogniser.begin(len(self._left))

    def add(self, builder: Builder, name: str, below: int = 0) -> None:
        """The text on a picture, where it has not been added yet.

        Args:
            builder: Where to.
            name: The picture's part.
            below: See `add_parsed`.
        """
        if self._recogniser is None or name not in self._left:
            return
        from fathom.documents.formats.pdf.layout import add_pages
        from fathom.documents.formats.pdf.lines import PageLines

        del self._left[name]
        page = PageLines(number=len(self._pages) + 1, lines=self._lines(name, self._recogniser))
        if page.lines:
            self._pages.append(page)
            inner = Builder()
            add_pages(inner, [page])
            add_parsed(builder, inner.build(), below)

    def _lines(self, name: str, recogniser: "Recogniser") -> "tuple[Line, ...]":
        from fathom.documents.formats.picture import lines_on

        try:
            return lines_on(self._package.bytes_of(name), recogniser)
        except Refused:
            return ()  # a broken picture does not keep the text around it away

    def add_rest(self, builder: Builder) -> None:
        """The text on those that nothing showed so far."""
        for name in list(self._left):
            self.add(builder, name)

    def facts(self) -> dict[str, Scalar]:
        """What is known of recognised pictures; see `recognised_facts`."""
        if not self._pages:
            return {}
        from fathom.documents.formats.pdf.lines import recognised_facts

        return recognised_facts(self._pages)

    def told(self, parsed: Parsed) -> Parsed:
        """The document, which tells how many pictures were not read."""
        if self._recogniser is not None or not self._left:
            return parsed
        pictures = "1 picture" if len(self._left) == 1 else f"{len(self._left)} pictures"
        return replace(parsed, unread=f"{pictures} in it not looked into; {NEEDS_OCR}")

    def only(self, package: Package) -> Refused | None:
        """Why a package without text, or with hardly any, gives none; `None` without a picture."""
        if not package.has_pictures():
            return None
        if self._recogniser is None and self._left:
            return Refused("no_text_layer", f"holds pictures and hardly any text; {NEEDS_OCR}")
        return Refused(
            "no_text_layer", "holds pictures of which none can be recognised, and no text"
        )
