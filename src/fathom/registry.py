"""Fathom's own strategies, retrievers and formats.

One entry declares each whole; nothing is imported before it is used. Other packages add theirs by
entry points: docs/extending.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """Something that has a name and is imported when it is used.

    Attributes:
        target: `module:attribute`.
    """

    name: str
    target: str

    def load(self) -> Any:  # noqa: ANN401 - a class or a function
        """Import the target."""
        return resolve_name(self.target)

    def make(self, *components: object) -> Any:  # noqa: ANN401 - a strategy or a retriever
        """Return the object that the class's `of` makes of these components."""
        return self.load().of(*components)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverEntry(RegistryEntry):
    """A retriever, whose class has `of(assembly, index)`.

    Attributes:
        by_embedder: Whether `NAME:EMBEDDER` searches the vector space of one embedder; `of` then
            has its name as the third argument.
    """

    by_embedder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Format(RegistryEntry):
    """A format of files, whose target parses bytes; `formats/sniff.py` recognises it.

    Attributes:
        endings: The endings of its files, without the dot.
        by_ending: Whether the ending alone tells it from other text.
        magic: The bytes that its files may begin with.
        media_types: The media types that its zip archives may declare.
        member: The beginning of the name of a member that only its zip archives have.
        lines: The function, `module:attribute`, that reduces a file to the text whose lines are
            counted for citations; empty for the file as it stands, `None` if nobody counts lines.
        pictures: Whether the parser takes a recogniser of text on pictures as its second argument.
    """

    endings: tuple[str, ...] = ()
    by_ending: bool = False
    magic: tuple[bytes, ...] = ()
    media_types: tuple[str, ...] = ()
    member: str = ""
    lines: str | None = None
    pictures: bool = False


STRATEGIES: Mapping[str, RegistryEntry] = {
    entry.name: entry
    for entry in (
        RegistryEntry("naive", "fathom.strategies.naive:Naive"),
        RegistryEntry("maf", "fathom.strategies.maf:Maf"),
        RegistryEntry("anchor", "fathom.strategies.anchor:AnchorGate"),
        RegistryEntry("rrf", "fathom.strategies.rrf:Rrf"),
        RegistryEntry("hybrid", "fathom.strategies.hybrid:Hybrid"),
        RegistryEntry("mao", "fathom.strategies.mao:Mao"),
        RegistryEntry("adaptive", "fathom.strategies.adaptive:Adaptive"),
    )
}
"""The strategies by name."""
RETRIEVERS: Mapping[str, RetrieverEntry] = {
    entry.name: entry
    for entry in (
        RetrieverEntry("vector", "fathom.retrieval.vector:VectorRetriever", by_embedder=True),
        RetrieverEntry("keyword", "fathom.retrieval.keyword:KeywordRetriever"),
        RetrieverEntry("hybrid", "fathom.retrieval.hybrid:HybridRetriever", by_embedder=True),
        RetrieverEntry("lead", "fathom.retrieval.vector:LeadRetriever"),
        RetrieverEntry("sentence", "fathom.retrieval.vector:SentenceRetriever"),
        RetrieverEntry("vector_feedback", "fathom.retrieval.vector:VectorFeedback"),
        RetrieverEntry("keyword_feedback", "fathom.retrieval.keyword:KeywordFeedback"),
    )
}
"""The retrievers by name."""
_TEXT = "application/vnd.oasis.opendocument.text"
_FORMATS = (
    Format("csv", "fathom.documents.formats.csv:parse", endings=("csv", "tsv", "tab"),
           by_ending=True, lines=""),
    Format("docx", "fathom.documents.formats.office.docx:parse", endings=("docx",), member="word/",
           pictures=True),
    Format("eml", "fathom.documents.formats.eml:parse", endings=("eml",)),
    Format("html", "fathom.documents.formats.html:parse", endings=("html", "htm", "xhtml"),
           lines="fathom.documents.source_lines:strip_tags"),
    Format("json", "fathom.documents.formats.json:parse", endings=("json", "jsonl")),
    Format("manual", "fathom.documents.formats.manual:parse",
           lines="fathom.documents.formats.manual:remove_printer_marks"),
    Format("markdown", "fathom.documents.formats.markdown:parse",
           endings=("md", "markdown", "mdown", "mkd"), by_ending=True, lines=""),
    Format("notebook", "fathom.documents.formats.notebook:parse", endings=("ipynb",)),
    Format("odt", "fathom.documents.formats.office.odt:parse", endings=("odt",),
           media_types=(_TEXT, f"{_TEXT}-template"), pictures=True),
    Format("pdf", "fathom.documents.formats.pdf.document:parse", endings=("pdf",),
           magic=(b"%PDF-",), pictures=True),
    Format("picture", "fathom.documents.formats.picture:parse",
           magic=(b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*"), pictures=True),
    Format("pptx", "fathom.documents.formats.office.pptx:parse", endings=("pptx",), member="ppt/",
           pictures=True),
    Format("rst", "fathom.documents.formats.rst:parse", endings=("rst",), by_ending=True, lines=""),
    Format("rtf", "fathom.documents.formats.rtf:parse", endings=("rtf",), magic=(b"{\\rtf",)),
    Format("text", "fathom.documents.formats.text:parse", endings=("txt", "text", "log"),
           by_ending=True, lines=""),
    Format("xlsx", "fathom.documents.formats.office.xlsx:parse", endings=("xlsx",), member="xl/"),
    # A book is looked for after the office formats, whose archives may have a folder META-INF too.
    Format("epub", "fathom.documents.formats.epub:parse", endings=("epub",),
           media_types=("application/epub+zip",), member="META-INF/container.xml"),
    Format("xml", "fathom.documents.formats.xml:parse", endings=("xml",),
           lines="fathom.documents.source_lines:strip_tags"),
)  # fmt: skip
FORMATS: Mapping[str, Format] = {entry.name: entry for entry in _FORMATS}
"""The formats by name."""
ENDINGS: Mapping[str, Format] = {ending: entry for entry in _FORMATS for ending in entry.endings}
"""The formats by the endings of files that Fathom itself reads."""
