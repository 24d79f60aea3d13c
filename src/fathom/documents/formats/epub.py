"""Electronic books: the chapters in the order of the spine, read as HTML."""

import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal, add_blocks
from fathom.documents.formats.html import parse as parse_html
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_text,
    iter_children,
    iter_descendants,
    read_facts,
    read_member,
    read_xml_member,
)
from fathom.documents.zipguard import open_zip

_PAGES = (".xhtml", ".html", ".htm")
_METADATA = {"date": "created", "publisher": "publisher"}


def parse(data: bytes) -> ParsedDocument:
    """Parse an EPUB file.

    Raises:
        ParseRefusal: `encrypted` for protected chapters, `failed` for a damaged file, `empty`
            without text.
    """
    archive = open_zip(data)
    _refuse_protected(archive)
    name, package = _find_package(archive)
    builder = Builder()
    for chapter in _list_chapters(package, posixpath.dirname(name)):
        page = read_member(archive, chapter)
        if page is not None:
            with suppress(_BlankPage):
                add_blocks(builder, _parse_page(page))
    metadata = find_child(package, "metadata")
    # Backwards, because the last fact of a name counts, but of several dates the first should.
    title, facts = read_facts(() if metadata is None else reversed(metadata), _METADATA)
    creators = [] if metadata is None else list(iter_children(metadata, "creator"))
    names = dict.fromkeys(filter(None, (get_text(name).strip() for name in creators)))
    return builder.build(title, {**facts, **({"author": "; ".join(names)} if names else {})})


class _BlankPage(Exception):
    """A page that has no text."""


def _parse_page(page: bytes) -> ParsedDocument:
    """Parse a chapter.

    Raises:
        _BlankPage: If it has no text.
        ParseRefusal: If it cannot be read.
    """
    try:
        return parse_html(page)
    except ParseRefusal as refusal:
        if refusal.outcome in {"empty", "no_text_layer"}:
            raise _BlankPage from refusal
        raise


def _refuse_protected(archive: zipfile.ZipFile) -> None:
    """Check that no chapter is encrypted.

    Raises:
        ParseRefusal: `encrypted` if one is.
    """
    rules = read_xml_member(archive, "META-INF/encryption.xml")
    references = [] if rules is None else list(iter_descendants(rules, "CipherReference"))
    # Fonts are often scrambled in books that anyone may read.
    if any((link.get("URI") or "").lower().endswith(_PAGES) for link in references):
        raise ParseRefusal("encrypted", "chapters are protected (DRM); use an unprotected copy")


def _find_package(archive: zipfile.ZipFile) -> tuple[str, Element]:
    """Return the name and the root of the package file, which lists the chapters.

    Raises:
        ParseRefusal: `failed` if there is none.
    """
    container = read_xml_member(archive, "META-INF/container.xml")
    files = [] if container is None else list(iter_descendants(container, "rootfile"))
    declared = [file.get("full-path") or "" for file in files]
    candidates = [name for name in archive.namelist() if name.endswith(".opf")]
    for name in (*declared, *candidates):
        root = read_xml_member(archive, name)
        if root is not None:
            return name, root
    raise ParseRefusal("failed", "no package file (.opf); not a complete EPUB")


def _list_chapters(package: Element, folder: str) -> Iterator[str]:
    """Yield the names of the chapters in the order of the spine, without the contents page."""
    manifest, spine = find_child(package, "manifest"), find_child(package, "spine")
    items = (
        {}
        if manifest is None
        else {entry.get("id"): entry for entry in iter_children(manifest, "item")}
    )
    for reference in [] if spine is None else iter_children(spine, "itemref"):
        item = items.get(reference.get("idref"))
        # The contents page repeats every heading.
        if item is not None and "nav" not in (item.get("properties") or "").split():
            target = unquote((item.get("href") or "").partition("#")[0])
            yield posixpath.normpath(posixpath.join(folder, target))
