"""PDF: read by PDFium, or by pypdf if PDFium fails; paragraphs come from positions of lines."""

import contextlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as native

from fathom.documents.base import NEEDS_OCR, Builder, ParsedDocument, ParseRefusal, is_title
from fathom.documents.formats.pdf.layout import add_pages, find_opening_title
from fathom.documents.formats.pdf.lines import (
    PageLines,
    PrintedLine,
    Recogniser,
    read_lines,
    split_lines,
    summarize_recognition,
)
from fathom.documents.formats.pdf.scans import draw_pixels, is_scan
from fathom.documents.formats.pdf.sight import PageSight
from fathom.types import Scalar

_MOST_PAGES = 20_000
_MOST_BOOKMARKS = 2_000
_NO_TITLE = re.compile(r"[\W\d_]*|.{1,3}")  # such as the numbers that programs write
_DATE = re.compile(r"D:(\d{4})(\d{2})(\d{2})")
_MOST_NAMED = 5
_LOCKED = "protected by a password; save it without one"


def parse(data: bytes, recogniser: Recogniser | None = None) -> ParsedDocument:
    """Parse a PDF; the recogniser, if given, reads its pages that are pictures.

    A file that the empty password opens is read; a file with another password is refused.
    Permission bits that forbid copying are not enforced, because the file is read on its owner's
    own machine, for search.

    Raises:
        ParseRefusal: `encrypted` for a protected file, `no_text_layer` for a file of pictures only,
            `empty` without text, `failed` for a damaged file or one of too many pages.
    """
    try:
        pages, title, facts = _read_with_pdfium(data, recogniser)
    except pdfium.PdfiumError as error:
        pages, title, facts = _read_with_pypdf(data, str(error))
    unread = _describe_unread(pages)
    if unread and not any(page.lines for page in pages):
        raise ParseRefusal("no_text_layer", unread)
    builder = Builder()
    builder.skip_hidden(sum(page.hidden for page in pages))
    add_pages(builder, pages)
    if not is_title(title) or _NO_TITLE.fullmatch(title.strip()):
        title = find_opening_title(pages[0])
    parsed = builder.build(title, {**facts, **summarize_recognition(pages)}, opening=False)
    return parsed.note_unread(unread)


def _describe_unread(pages: Sequence[PageLines]) -> str:
    """Describe the pages that are pictures, in one line; empty without any."""
    unread = [page.number for page in pages if page.is_scan]
    if not unread:
        return ""
    if len(unread) == len(pages):
        return f"pages are pictures without text; {NEEDS_OCR}"
    numbers = ", ".join(map(str, unread[:_MOST_NAMED])) + (", ..." if unread[_MOST_NAMED:] else "")
    pages_word = "pages" if unread[1:] else "page"
    return f"{pages_word} {numbers} of {len(pages)} without text of its own; {NEEDS_OCR}"


def _read_with_pdfium(
    data: bytes, recogniser: Recogniser | None
) -> tuple[list[PageLines], str, dict[str, Scalar]]:
    """Return the pages, the title (or `""`) and the facts of a file.

    Raises:
        ParseRefusal: As `parse`, except for `no_text_layer`.
        PdfiumError: If PDFium cannot read the file.
    """
    with contextlib.closing(_open_document(data)) as document:
        if len(document) > _MOST_PAGES:
            raise ParseRefusal("failed", f"claims more than {_MOST_PAGES} pages")
        titles = _read_outline(document)
        pages = list(_read_pages(document, titles))
        if recogniser is not None:
            pages = list(_recognise_scans(document, pages, recogniser))
        if not any(page.lines or page.is_scan for page in pages):
            raise _refuse_textless(document)
        metadata = document.get_metadata_dict()
        return pages, metadata.get("Title", ""), _read_facts(metadata)


def _open_document(data: bytes) -> Any:  # noqa: ANN401
    """Open the document.

    Raises:
        ParseRefusal: `encrypted` if it has another password than the empty one.
        PdfiumError: If it is damaged.
    """
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) != native.FPDF_ERR_PASSWORD:
            raise
    # PDFium reports a wrong password also for files that mix kinds of encryption.
    return pdfium.PdfDocument(_remove_encryption(data))


def _remove_encryption(data: bytes) -> bytes:
    """Return the file without its encryption.

    Raises:
        ParseRefusal: `encrypted` if the empty password does not open it.
    """
    from pypdf import PdfReader, PdfWriter

    bare = io.BytesIO()
    # pypdf raises a dozen unrelated kinds of errors, also for a cipher that it does not know.
    with contextlib.suppress(Exception):
        reader = PdfReader(io.BytesIO(data))
        if reader.decrypt(""):
            PdfWriter(clone_from=reader).write(bare)
    if not bare.tell():
        raise ParseRefusal("encrypted", _LOCKED)
    return bare.getvalue()


def _read_pages(document: Any, titles: dict[int, list[tuple[int, str]]]) -> Iterator[PageLines]:  # noqa: ANN401
    """Yield the pages with their lines; a page that cannot be read has none."""
    for index in range(len(document)):
        lines: tuple[PrintedLine, ...] = ()
        scan, hidden = False, 0
        # A broken page must not hide the others.
        with contextlib.suppress(pdfium.PdfiumError):
            page = document[index]
            with contextlib.closing(page), contextlib.closing(page.get_textpage()) as text_page:
                lines, hidden = read_lines(text_page, PageSight(page, text_page).sees)
                scan = is_scan(page, lines)
        page_titles = tuple(titles.get(index, ()))
        yield PageLines(
            number=index + 1, lines=lines, titles=page_titles, is_scan=scan, hidden=hidden
        )


def _recognise_scans(
    document: Any,  # noqa: ANN401
    pages: Sequence[PageLines],
    recogniser: Recogniser,
) -> Iterator[PageLines]:
    """Yield the pages; a page that is a picture gets its recognised lines."""
    recogniser.begin(sum(page.is_scan for page in pages))
    for page in pages:
        if not page.is_scan:
            yield page
            continue
        with contextlib.closing(document[page.number - 1]) as drawn_page:
            lines = recogniser.read(draw_pixels(drawn_page))
        # The file may have a few words over a picture on which nothing is recognised.
        fuller = max(page.lines, lines, key=lambda some: sum(len(line.text) for line in some))
        yield replace(page, lines=fuller, is_scan=False)


def _read_outline(document: Any) -> dict[int, list[tuple[int, str]]]:  # noqa: ANN401
    """Return the bookmarks, as (level from 1, title), by the index of the page from 0."""
    titles: dict[int, list[tuple[int, str]]] = {}
    with contextlib.suppress(pdfium.PdfiumError, ValueError):
        for count, mark in enumerate(document.get_toc(max_depth=6)):
            if count >= _MOST_BOOKMARKS:
                break
            target = mark.get_dest()
            index = target.get_index() if target else None
            if index is not None:
                titles.setdefault(index, []).append((mark.level + 1, mark.get_title()))
    return titles


def _refuse_textless(document: Any) -> ParseRefusal:  # noqa: ANN401
    """Return the refusal of a file without text: `empty`, or `failed` if no page can be read."""
    for index in range(len(document)):
        with contextlib.suppress(pdfium.PdfiumError), contextlib.closing(document[index]):
            return ParseRefusal("empty", "no page holds text")
    return ParseRefusal("failed", "damaged PDF: no page can be read")


def _read_with_pypdf(data: bytes, trouble: str) -> tuple[list[PageLines], str, dict[str, Scalar]]:
    """Return the pages, the title (or `""`) and the facts of a file that PDFium cannot read.

    Args:
        data: The bytes of the file.
        trouble: The message of PDFium, for a refusal.

    Raises:
        ParseRefusal: `encrypted` for a protected file, `failed` for a damaged one.
    """
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [
            PageLines(number=number, lines=split_lines(page.extract_text()))
            for number, page in enumerate([] if locked else reader.pages, start=1)
        ]
        metadata = {key.strip("/"): str(value) for key, value in (reader.metadata or {}).items()}
    except MemoryError:
        raise
    except Exception as error:  # pypdf raises a dozen unrelated kinds of errors
        raise ParseRefusal("failed", f"damaged PDF: {trouble.rstrip('.')}; {error}") from error
    if locked:
        raise ParseRefusal("encrypted", _LOCKED)
    if not any(page.lines for page in pages):
        raise ParseRefusal("failed", f"damaged PDF: {trouble}")
    return pages, metadata.get("Title", ""), _read_facts(metadata)


def _read_facts(metadata: dict[str, str]) -> dict[str, Scalar]:
    """Return the author and the date of creation, as far as the metadata state them."""
    facts: dict[str, Scalar] = {}
    author = " ".join(metadata.get("Author", "").split())
    if author:
        facts["author"] = author[:500]
    created = _DATE.match(metadata.get("CreationDate", ""))
    if created:
        facts["created"] = "-".join(created.groups())
    return facts
