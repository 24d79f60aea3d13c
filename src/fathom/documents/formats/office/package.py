"""The package of every Office Open XML file: parts, relationships, core properties."""

import posixpath
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

from fathom.documents.base import ParseRefusal
from fathom.documents.xml_members import (
    Element,
    get_attribute,
    iter_children,
    read_facts,
    read_xml_member,
)
from fathom.documents.zipguard import open_zip
from fathom.types import Scalar

_PROPERTIES = {"creator": "author", "created": "created", "modified": "modified"}
_OFF = {"0", "false", "off", "none"}
_DOCTYPE_WITHIN = 8_192  # bytes; further on libxml2's own limit on amplification holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A link from one part to another.

    Attributes:
        id: The link's name in the XML of the linking part.
        kind: Last word of the relationship's type, such as `footnotes` or `slide`.
        target: Name of the part inside the package.
    """

    id: str
    kind: str
    target: str


class OfficePackage:
    """An opened package of parts.

    Args:
        data: The bytes of the file.

    Raises:
        ParseRefusal: For a damaged or protected zip, or a bomb.
    """

    def __init__(self, data: bytes) -> None:
        self._archive: zipfile.ZipFile = open_zip(data)

    @property
    def archive(self) -> zipfile.ZipFile:
        """The archive that holds the parts."""
        return self._archive

    def find_main(self, usual: str) -> tuple[str, Element]:
        """Return name and root of the part that holds the document.

        Args:
            usual: Its name if the package's relationships do not give one.

        Raises:
            ParseRefusal: `failed` when there is no such part.
        """
        # Programs may give the main part any name; only the relationship is certain.
        linked = [link.target for link in self.list_relations("") if link.kind == "officeDocument"]
        for name in (*linked, usual):
            root = self.read_part(name)
            if root is not None:
                return name, root
        raise ParseRefusal("failed", f"no part {usual}; save the file anew in its own program")

    def read_part(self, name: str) -> Element | None:
        """Return the root of a part, `None` when it is missing.

        Raises:
            ParseRefusal: `failed` when the part is damaged or declares entities.
        """
        return read_xml_member(self._archive, name)

    def forbid_doctypes(self) -> None:
        """Refuse a package with a document type, for parts that another library will read.

        Raises:
            ParseRefusal: `failed`; the format forbids document types, only entity bombs have them.
        """
        for name in self._archive.namelist():
            if name.endswith((".xml", ".rels")):
                with self._archive.open(name) as member:
                    start = member.read(_DOCTYPE_WITHIN).replace(b"\0", b"")  # also in UTF-16
                if b"<!DOCTYPE" in start:
                    raise ParseRefusal(
                        "failed", f"{name} declares XML entities, as in an entity bomb"
                    )

    def list_relations(self, part: str) -> list[Relation]:
        """Return the links of a part to others inside the package, in file order."""
        folder, name = posixpath.split(part)
        root = self.read_part(posixpath.join(folder, "_rels", f"{name}.rels"))
        links = [] if root is None else list(iter_children(root, "Relationship"))
        return [
            Relation(
                id=link.get("Id", ""),
                kind=link.get("Type", "").rpartition("/")[2],
                target=posixpath.normpath(posixpath.join("/", folder, link.get("Target", "")))[1:],
            )
            for link in links
            if link.get("TargetMode") != "External"
        ]

    def read_related(self, part: str, kind: str) -> Element | None:
        """Return the root of the first part that `part` links to as `kind`."""
        for link in self.list_relations(part):
            if link.kind == kind:
                return self.read_part(link.target)
        return None

    def read_properties(self) -> tuple[str, Mapping[str, Scalar]]:
        """Return the title, and author and dates if the package has them."""
        root = self.read_related("", "core-properties")
        if root is None:
            root = self.read_part("docProps/core.xml")
        return read_facts(() if root is None else root, _PROPERTIES)


def get_relation_id(element: Element) -> str:
    """Return the id of the relationship an element points to (`r:id`, `r:embed`), or `""`."""
    for key, value in element.attrib.items():
        if "/relationships}" in key:
            return str(value)
    return ""


def choose_alternative(element: Element) -> Element | None:
    """Return the alternative of an `mc:AlternateContent` to read."""
    return next(iter_children(element, "Choice"), next(iter_children(element, "Fallback"), None))


def is_on(element: Element | None) -> bool:
    """Return the value of an on/off property; an element without a value means on."""
    return element is not None and get_attribute(element, "val") not in _OFF
