"""XML without network, entities or unbounded trees, and look-up of elements by plain name.

Names are compared without their namespace. So the transitional and the ISO strict variant of an
office file give the same text, and so do files with a wrong namespace prefix.
"""

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TypeAlias

from lxml import etree

from fathom.documents.base import ParseRefusal
from fathom.documents.zipguard import unpack_member
from fathom.types import Scalar

Element: TypeAlias = etree._Element  # noqa: SLF001 - lxml gives its element type no public name


def read_xml(data: bytes, name: str) -> Element:
    """Return the root of an XML file; mild damage is repaired.

    Args:
        data: The file's bytes.
        name: The file's name, for the refusal.

    Raises:
        ParseRefusal: `failed` if the file declares entities, is no XML at all, or is nested more
            than 256 levels deep.
    """
    try:
        root = etree.fromstring(data, _make_parser(recover=False))
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT:  # repair would cut the text short
            raise ParseRefusal(
                "failed", f"{name} is nested too deep or expands too much"
            ) from error
        root = _parse_damaged(data, name, str(error))
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise ParseRefusal("failed", f"{name} declares XML entities, as in an entity bomb")
    return root


def read_member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return the bytes of a member of a zip; `None` if there is no member of this name.

    Raises:
        ParseRefusal: `failed` if the member is damaged.
    """
    try:
        return unpack_member(archive, name)
    except KeyError:
        return None
    except zipfile.BadZipFile as error:
        raise ParseRefusal("failed", f"damaged zip member {name}: {error}") from error


def read_xml_member(archive: zipfile.ZipFile, name: str) -> Element | None:
    """Return the root of an XML member of a zip; `None` if there is no member of this name.

    Raises:
        ParseRefusal: `failed` if the member is damaged, or as for `read_xml`.
    """
    data = read_member(archive, name)
    return None if data is None else read_xml(data, name)


def get_local_name(element: Element) -> str:
    """Return the element's name without namespace; empty for a comment or an instruction."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def get_attribute(element: Element, name: str) -> str | None:
    """Return the first attribute of this name in any namespace; `None` without one."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def get_value(element: Element | None, *path: str) -> str | None:
    """Return the attribute `val` of the first child along a path of names; `None` without one."""
    child = find_child(element, *path)
    return None if child is None else get_attribute(child, "val")


def read_facts(items: Iterable[Element], keys: Mapping[str, str]) -> tuple[str, dict[str, Scalar]]:
    """Return the title (or `""`) and the other facts that elements state, the last of each name.

    Args:
        items: Elements such as `title` and `creator`.
        keys: The key of each fact, by the name of its element.
    """
    values = {get_local_name(item): get_text(item).strip() for item in items}
    facts: dict[str, Scalar] = {key: values[name] for name, key in keys.items() if values.get(name)}
    return values.get("title", ""), facts


def iter_elements(stream: IO[bytes], *tags: str) -> Iterator[Element]:
    """Yield the elements of some names in a long XML file; each is emptied after its turn.

    Args:
        stream: The file; it must declare no entities.
        tags: The names with their namespaces.

    Raises:
        etree.XMLSyntaxError: If the file is no XML, or is nested too deep.
    """
    for _, element in etree.iterparse(
        stream,
        tag=tags,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    ):
        yield element
        element.clear()
        # Otherwise the parent would keep the empty elements in memory.
        while element.getprevious() is not None:
            del element.getparent()[0]


def iter_children(element: Element, *names: str) -> Iterator[Element]:
    """Yield the direct children with one of these names."""
    return (child for child in element if get_local_name(child) in names)


def find_child(element: Element | None, *path: str) -> Element | None:
    """Return the first child along a path of names; `None` without one."""
    for name in path:
        if element is None:
            return None
        element = next(iter_children(element, name), None)
    return element


def iter_descendants(element: Element, *names: str) -> Iterator[Element]:
    """Yield all elements at any depth below with one of these names, in document order."""
    return (below for below in element.iterdescendants() if get_local_name(below) in names)


def get_text(element: Element | None) -> str:
    """Return all text below an element; `""` for `None`."""
    return "" if element is None else "".join(str(part) for part in element.itertext())


def parse_number(value: str | None, default: int = 0) -> int:
    """Parse a whole number from an attribute; `default` if it is missing or not a number."""
    try:
        return default if value is None else int(value)
    except ValueError:
        return default


def _parse_damaged(data: bytes, name: str, problem: str) -> Element:
    """Return the root of a damaged XML file after its repair.

    Raises:
        ParseRefusal: `failed` if it cannot be repaired.
    """
    try:
        root = etree.fromstring(data, _make_parser(recover=True))
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        raise ParseRefusal("failed", f"{name} is not XML: {problem}")
    return root


def _make_parser(*, recover: bool) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
    )
