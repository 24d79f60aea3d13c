"""XML without network, entities or unbounded trees, and look-up of elements by plain name.

Names are compared without their namespace: the transitional and the ISO strict variant of an
office file, and files with a wrong namespace prefix, then read the same.
"""

import zipfile
from collections.abc import Iterator
from typing import TypeAlias

from lxml import etree

from fathom.documents.base import Refused
from fathom.documents.zipguard import unpack

Element: TypeAlias = etree._Element  # noqa: SLF001 - lxml gives its element type no public name


def read_xml(data: bytes, name: str) -> Element:
    """Return the root of an XML file; mild damage is repaired.

    Args:
        data: The file's bytes.
        name: The file's name in a refusal.

    Raises:
        Refused: `failed` when it declares entities, is no XML at all, or is nested more than
            256 levels deep.
    """
    try:
        root = etree.fromstring(data, _parser(recover=False))
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT:  # repair would cut the text short
            raise Refused("failed", f"{name} is nested too deep or expands too much") from error
        root = _mended(data, name, str(error))
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise Refused("failed", f"{name} declares XML entities, as in an entity bomb")
    return root


def read_member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return the bytes of a member, or `None` without a member of this name.

    Raises:
        Refused: `failed` when the member is damaged.
    """
    try:
        return unpack(archive, name)
    except KeyError:
        return None
    except zipfile.BadZipFile as error:
        raise Refused("failed", f"damaged zip member {name}: {error}") from error


def member_xml(archive: zipfile.ZipFile, name: str) -> Element | None:
    """Return the root of an XML member, or `None` without a member of this name.

    Raises:
        Refused: `failed` when the member is damaged or declares entities.
    """
    data = read_member(archive, name)
    return None if data is None else read_xml(data, name)


def local(element: Element) -> str:
    """Return the element's name without namespace; empty for a comment or an instruction."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str | None:
    """Return the first attribute of this name in any namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def children(element: Element, *names: str) -> Iterator[Element]:
    """Yield the direct children with one of these names."""
    return (child for child in element if local(child) in names)


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first child along a path of names."""
    for name in path:
        if element is None:
            return None
        element = next(children(element, name), None)
    return element


def descendants(element: Element, *names: str) -> Iterator[Element]:
    """Yield all elements below with one of these names, in document order."""
    return (below for below in element.iterdescendants() if local(below) in names)


def text_of(element: Element | None) -> str:
    """Return all character data below an element."""
    return "" if element is None else "".join(str(part) for part in element.itertext())


def number(value: str | None, default: int = 0) -> int:
    """Parse a whole number from an attribute; `default` if it is missing or not a number."""
    try:
        return default if value is None else int(value)
    except ValueError:
        return default


def _mended(data: bytes, name: str, problem: str) -> Element:
    try:
        root = etree.fromstring(data, _parser(recover=True))
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        raise Refused("failed", f"{name} is not XML: {problem}")
    return root


def _parser(*, recover: bool) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
    )
