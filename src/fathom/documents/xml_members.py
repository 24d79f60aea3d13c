"""Reads XML without network, entities or unbounded trees, and finds elements by plain name.

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
    """The root of an XML file; mild damage is mended.

    Args:
        data: The file's bytes.
        name: What to call it in a refusal.

    Raises:
        Refused: `failed` when it declares entities, is no XML at all, or is nested more than
            256 levels deep.
    """
    try:
        root = etree.fromstring(data, _parser(recover=False))
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT:  # mending would cut the text short
            raise Refused("failed", f"{name} is nested too deep or expands too much") from error
        root = _mended(data, name, str(error))
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise Refused("failed", f"{name} declares XML entities, as in an entity bomb")
    return root


def read_member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """The bytes of a member, `None` when there is none of this name.

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
    """The root of an XML member, `None` when there is none of this name.

    Raises:
        Refused: `failed` when the member is damaged or declares entities.
    """
    data = read_member(archive, name)
    return None if data is None else read_xml(data, name)


def local(element: Element) -> str:
    """The element's name without namespace; empty for comments and processing instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str | None:
    """The first attribute of this name in whatever namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def children(element: Element, *names: str) -> Iterator[Element]:
    """Direct children with one of these names."""
    return (child for child in element if local(child) in names)


def child(element: Element | None, *path: str) -> Element | None:
    """The first child along a path of names."""
    for name in path:
        if element is None:
            return None
        element = next(children(element, name), None)
    return element


def descendants(element: Element, *names: str) -> Iterator[Element]:
    """All elements below with one of these names, in document order."""
    return (below for below in element.iterdescendants() if local(below) in names)


def text_of(element: Element | None) -> str:
    """All character data below an element."""
    return "" if element is None else "".join(str(part) for part in element.itertext())


def number(value: str | None, default: int = 0) -> int:
    """A whole number from an attribute; `default` when it is missing or is none."""
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
