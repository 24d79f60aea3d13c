"""Pictures inside office files: their text is recognised, or they are only counted."""

import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fathom.documents.base import NEEDS_OCR, Builder, ParsedDocument, ParseRefusal, add_blocks
from fathom.documents.xml_members import read_member
from fathom.documents.zipguard import unpack_member
from fathom.types import Scalar

if TYPE_CHECKING:  # modules for pictures are loaded with the first picture
    from fathom.documents.formats.pdf.lines import PageLines, PrintedLine, Recogniser

FEWEST_BYTES = 4_000
"""The smallest size of a picture of text, in bytes; smaller pictures are signs and lines."""
CAPTION_CHARS = 60
"""The number of characters below which a file with large pictures is a scan with a caption."""
_BEGINNINGS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")  # PNG, JPEG, TIFF


class Pictures:
    """The pictures of a file; each is read once, even if it is shown several times.

    Args:
        archive: The zip of the file.
        folder: The part of a member's name by which pictures are recognised.
        recogniser: The recogniser that reads them; without one they are only counted.

    Raises:
        ParseRefusal: If the file has more pictures than may be read.
    """

    def __init__(
        self, archive: zipfile.ZipFile, folder: str, recogniser: "Recogniser | None"
    ) -> None:
        self._archive = archive
        self._folder = folder
        self._recogniser = recogniser
        self._remaining = dict.fromkeys(self._iter_large())
        self._may_be_scan = any(
            folder in member.filename and member.file_size >= FEWEST_BYTES
            for member in archive.infolist()
        )
        self._pages: list[PageLines] = []
        if recogniser is not None and self._remaining:
            recogniser.begin(len(self._remaining))

    def _iter_large(self) -> Iterator[str]:
        """Yield the names of pictures of a known kind that are not small, in order."""
        for member in self._archive.infolist():
            is_large = self._folder in member.filename and member.file_size >= FEWEST_BYTES
            if is_large and self._read_beginning(member).startswith(_BEGINNINGS):
                yield member.filename

    def _read_beginning(self, member: zipfile.ZipInfo) -> bytes:
        """Return the first bytes of a picture; empty if it cannot be unpacked.

        A damaged picture must not hide the text around it.
        """
        try:
            return unpack_member(self._archive, member, 8)
        except zipfile.BadZipFile:
            return b""

    def add_picture(self, builder: Builder, name: str, below: int = 0) -> None:
        """Add the text on a picture, unless it was added before.

        Args:
            builder: The builder that receives the text.
            name: The name of the picture in the zip.
            below: The level of the heading above, as for `add_blocks`.
        """
        if self._recogniser is None or name not in self._remaining:
            return
        from fathom.documents.formats.pdf.layout import add_pages
        from fathom.documents.formats.pdf.lines import PageLines

        del self._remaining[name]
        page = PageLines(number=len(self._pages) + 1, lines=self._recognise(name, self._recogniser))
        if page.lines:
            self._pages.append(page)
            inner = Builder()
            add_pages(inner, [page])
            add_blocks(builder, inner.build(), below)

    def _recognise(self, name: str, recogniser: "Recogniser") -> "tuple[PrintedLine, ...]":
        """Return the recognised lines of a picture; none if it is damaged."""
        from fathom.documents.formats.picture import recognise_lines

        try:
            return recognise_lines(read_member(self._archive, name) or b"", recogniser)
        except ParseRefusal:
            return ()  # a damaged picture must not hide the text around it

    def add_rest(self, builder: Builder) -> None:
        """Add the text on the pictures that were not added so far."""
        for name in list(self._remaining):
            self.add_picture(builder, name)

    def build_document(
        self,
        builder: Builder,
        title: str,
        metadata: Mapping[str, Scalar],
        *,
        fewest_chars: int = CAPTION_CHARS,
    ) -> ParsedDocument:
        """Build the document, with facts about its pictures.

        Args:
            builder: The builder with all the text.
            title: The title, as for `Builder.build`.
            metadata: The metadata, as for `Builder.build`.
            fewest_chars: The number of characters below which a file with large pictures that were
                not read is refused.

        Raises:
            ParseRefusal: `no_text_layer` for pictures with no text or hardly any; `empty` without
                pictures and text.
        """
        scan_refusal = None if self._pages else self._refuse_scan()
        try:
            parsed = builder.build(title, {**metadata, **self._collect_facts()})
        except ParseRefusal as refusal:
            raise scan_refusal or refusal from None
        if len(parsed.text) < fewest_chars and scan_refusal is not None and self._may_be_scan:
            raise scan_refusal
        return self._note_unread(parsed)

    def _collect_facts(self) -> dict[str, Scalar]:
        """Return the facts about recognised pictures; empty if none was recognised."""
        if not self._pages:
            return {}
        from fathom.documents.formats.pdf.lines import summarize_recognition

        return summarize_recognition(self._pages)

    def _note_unread(self, parsed: ParsedDocument) -> ParsedDocument:
        """Return the document with a note of the number of pictures that were not read."""
        if self._recogniser is not None or not self._remaining:
            return parsed
        pictures = "1 picture" if len(self._remaining) == 1 else f"{len(self._remaining)} pictures"
        return parsed.note_unread(f"{pictures} in it not looked into; {NEEDS_OCR}")

    def _refuse_scan(self) -> ParseRefusal | None:
        """Return the refusal for a file with hardly any text; `None` for one without pictures."""
        if not any(self._folder in name for name in self._archive.namelist()):
            return None
        if self._recogniser is None and self._remaining:
            return ParseRefusal("no_text_layer", f"holds pictures and hardly any text; {NEEDS_OCR}")
        return ParseRefusal(
            "no_text_layer", "holds pictures of which none can be recognised, and no text"
        )
