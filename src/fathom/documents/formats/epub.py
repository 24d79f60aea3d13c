"""Electronic books: the chapters in the order of the spine, read as HTML."""

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import unquote

from fathom.documents.base import Builder, Parsed, Refused, add_parsed
from fathom.documents.formats.html import parse as parse_html
from fathom.documents.xml_members import (
    Element,
    child,
    children,
    descendants,
    local,
    member_xml,
    read_member,
    text_of,
)
from fathom.documents.zipguard import open_zip
from fathom.types import Scalar

_PAGES = (".xhtml", ".html", ".htm")
_METADATA = {"creator": "author", "date": "created", "publisher": "publisher"}


def parse(data: bytes) -> Parsed:
    """Parse an EPUB file.

    Raises:
        Refused: `encrypted` for protected chapters, `failed`, `empty`.
    """
    archive = open_zip(data)
    _refuse_protected(archive)
    name, package = _package(archive)
    builder = Builder()
    for chapter in _chapters(package, posixpath.dirname(name)):
        page = read_member(archive, chapter)
        if page is not None:
            with suppress(_Blank):
                add_parsed(builder, _parse_page(page))
    title, metadata = _properties(package)
    return builder.build(title, metadata)


class _Blank(Exception):
    """Raised for a page that holds no text."""


def _parse_page(page: bytes) -> Parsed:
    try:
        return parse_html(page)
    except Refused as refusal:
        if refusal.outcome in {"empty", "no_text_layer"}:
            raise _Blank from refusal
        raise


def _refuse_protected(archive: zipfile.ZipFile) -> None:
    rules = member_xml(archive, "META-INF/encryption.xml")
    references = [] if rules is None else list(descendants(rules, "CipherReference"))
    # Fonts are often scrambled in books that anyone may read.
    if any((link.get("URI") or "").lower().endswith(_PAGES) for link in references):
        raise Refused("encrypted", "chapters are protected (DRM); use an unprotected copy")


def _package(archive: zipfile.ZipFile) -> tuple[str, Element]:
    container = member_xml(archive, "META-INF/container.xml")
    files = [] if container is None else list(descendants(container, "rootfile"))
    declared = [file.get("full-path") or "" for file in files]
    candidates = [name for name in archive.namelist() if name.endswith(".opf")]
    for name in (*declared, *candidates):
        root = member_xml(archive, name)
        if root is not None:
            return name, root
    raise Refused("failed", "no package file (.opf); not a complete EPUB")


def _chapters(package: Element, folder: str) -> Iterator[str]:
    manifest, spine = child(package, "manifest"), child(package, "spine")
    items = (
        {} if manifest is None else {entry.get("id"): entry for entry in children(manifest, "item")}
    )
    for reference in [] if spine is None else children(spine, "itemref"):
        item = items.get(reference.get("idref"))
        # The contents page repeats every heading.
        if item is not None and "nav" not in (item.get("properties") or "").split():
            target = unquote((item.get("href") or "").partition("#")[0])
            yield posixpath.normpath(posixpath.join(folder, target))


def _properties(package: Element) -> tuple[str, Mapping[str, Scalar]]:
    metadata = child(package, "metadata")
    values: dict[str, str] = {}
    for item in [] if metadata is None else metadata:
        values.setdefault(local(item), text_of(item).strip())
    facts = {key: values[name] for name, key in _METADATA.items() if values.get(name)}
    return values.get("title", ""), facts
