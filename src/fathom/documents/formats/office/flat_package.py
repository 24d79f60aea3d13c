"""Office Open XML in one XML file, as Word saves its "XML document"."""

import base64
import binascii
import zipfile
from io import BytesIO

from lxml import etree

from fathom.documents.base import ParsedDocument
from fathom.documents.formats.office import docx, pptx
from fathom.documents.xml_members import Element, find_child, get_attribute, iter_children, read_xml

_PACKAGE = "{http://schemas.microsoft.com/office/2006/xmlPackage}package"


def is_flat(root: Element) -> bool:
    """Return whether the root of an XML file is that of a flat package."""
    return str(root.tag) == _PACKAGE


def parse_flat(data: bytes) -> ParsedDocument:
    """Parse a flat package as the file whose parts it holds.

    Raises:
        ParseRefusal: As for a DOCX or PPTX file.
    """
    root = read_xml(data, "the file")
    buffer = BytesIO()
    names: set[str] = set()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part in iter_children(root, "part"):
            name = (get_attribute(part, "name") or "").lstrip("/")
            if name and name not in names:
                names.add(name)
                archive.writestr(name, _read_part(part))
    is_deck = any(name.startswith("ppt/") for name in names)
    return pptx.parse(buffer.getvalue()) if is_deck else docx.parse(buffer.getvalue())


def _read_part(part: Element) -> bytes:
    """Return the bytes of a part; none for one that is damaged."""
    content = find_child(part, "xmlData")
    for root in () if content is None else content:
        return bytes(etree.tostring(root, encoding="utf-8", with_tail=False))
    binary = find_child(part, "binaryData")
    try:
        return base64.b64decode("" if binary is None else binary.text or "")
    except (binascii.Error, ValueError):
        return b""
