"""The package of an Office Open XML file: its parts, relationships and core properties."""

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
_DOCTYPE_WITHIN = 8_192  # bytes; after them, libxml2's own limit on amplification holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A link from one part to another.

    Attributes:
        id: The name of the link in the XML of the linking part.
        kind: The last word of the relationship's type, such as `footnotes` or `slide`.
        target: The name of the linked part inside the package.
    """

    id: str
    kind: str
    target: str


class OfficePackage:
    """An opened package of parts.

    Args:
        data: The bytes of the file.

    Raises:
        ParseRefusal: `failed` for a damaged zip or a bomb, `encrypted` for a protected one.
    """

    def __init__(self, data: bytes) -> None:
        self._archive: zipfile.ZipFile = open_zip(data)

    @property
    def archive(self) -> zipfile.ZipFile:
        """The archive that holds the parts."""
        return self._archive

    def find_main(self, usual: str) -> tuple[str, Element]:
        """Return the name and the root of the main part of the document.

        Args:
            usual: The name of the part if the package's relationships do not give one.

        Raises:
            ParseRefusal: `failed` if there is no such part.
        """
        # Programs may give the main part any name; only the relationship is certain.
        linked = [link.target for link in self.list_relations("") if link.kind == "officeDocument"]
        for name in (*linked, usual):
            root = self.read_part(name)
            if root is not None:
                return name, root
        raise ParseRefusal("failed", f"no part {usual}; save the file anew in its own program")

    def read_part(self, name: str) -> Element | None:
        """Return the root of a part; `None` if it is missing.

        Raises:
            ParseRefusal: `failed` if the part is damaged or declares entities.
        """
        return read_xml_member(self._archive, name)

    def forbid_doctypes(self) -> None:
        """Check that no part has a document type, before another library reads the parts.

        Raises:
            ParseRefusal: `failed` if one has. The format forbids document types, so only entity
                bombs have them.
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
        """Return the links of a part to other parts of the package, in file order.

        Args:
            part: The name of the part; empty for the package itself.
        """
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
        """Return the root of the first part to which a part has a link of a kind, or `None`."""
        for link in self.list_relations(part):
            if link.kind == kind:
                return self.read_part(link.target)
        return None

    def read_properties(self) -> tuple[str, Mapping[str, Scalar]]:
        """Return the title (or `""`), and the author and the dates if the package has them."""
        root = self.read_related("", "core-properties")
        if root is None:
            root = self.read_part("docProps/core.xml")
        return read_facts(() if root is None else root, _PROPERTIES)


def get_relation_id(element: Element) -> str:
    """Return the id of the relationship that an element names (`r:id`, `r:embed`), or `""`."""
    for key, value in element.attrib.items():
        if "/relationships}" in key:
            return str(value)
    return ""


def choose_alternative(element: Element) -> Element | None:
    """Return the alternative of an `mc:AlternateContent` to read: its first choice or fallback."""
    return next(iter_children(element, "Choice"), next(iter_children(element, "Fallback"), None))


def is_on(element: Element | None) -> bool:
    """Return whether an on/off property is on; an element without a value means on."""
    return element is not None and get_attribute(element, "val") not in _OFF
