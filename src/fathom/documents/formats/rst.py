"""reStructuredText, with every directive that reads a file or passes raw text switched off."""

import re

from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import SystemMessage

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.decode import decode_text
from fathom.documents.formats.cell_grid import CellGrid
from fathom.documents.formats.list_numbers import format_number
from fathom.documents.formats.rst_directives import register_directives
from fathom.documents.formats.superscripts import choose_sign

_SILENT = 5
_STYLES = {
    "loweralpha": "lowerLetter", "upperalpha": "upperLetter",
    "lowerroman": "lowerRoman", "upperroman": "upperRoman",
}  # fmt: skip
_FORBIDDEN = re.compile(
    r"(?:\.\.[ \t]+)?(?:\|[^|\n]*\|[ \t]+)?(?:include|raw)[ \t]*::", re.IGNORECASE
)
_UNSEEN = (nodes.comment, nodes.raw, nodes.target, nodes.substitution_definition)


def parse(data: bytes) -> ParsedDocument:
    """Parse a reStructuredText file; unknown roles and directives keep their text.

    Raises:
        ParseRefusal: `failed` if the file cannot be read at all, `empty` without text.
    """
    settings = {
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "report_level": _SILENT,
        "halt_level": _SILENT,
        "warning_stream": "",
        "_disable_config": True,
        "doctitle_xform": False,
        "smart_quotes": False,
        "line_length_limit": 1_000_000,
        "syntax_highlight": "none",
    }
    text = decode_text(data)
    register_directives(text)
    try:
        tree = publish_doctree(text, settings_overrides=settings)
    except SystemMessage as error:
        raise ParseRefusal("failed", f"damaged reStructuredText: {error}"[:200]) from error
    for complaint in list(tree.findall(nodes.system_message)):
        # A complaint may be inside a block that is read as one text.
        complaint.parent.replace(complaint, _list_unread_blocks(complaint))
    _mark_small_signs(tree)
    builder = Builder()
    _add_all(builder, tree, 0)
    return builder.build(_find_title(tree))


def _mark_small_signs(tree: nodes.document) -> None:
    """Keep superscripts, subscripts and marks of notes apart from a number before them."""
    for mark in list(tree.findall(nodes.Element)):
        if isinstance(mark, nodes.superscript | nodes.subscript):
            previous = mark.previous_sibling()
            before = previous.astext() if previous is not None else ""
            raised = isinstance(mark, nodes.superscript)
            mark.insert(0, nodes.Text(choose_sign(before, mark.astext(), raised=raised)))
        elif isinstance(mark, nodes.footnote_reference | nodes.citation_reference):
            mark[:] = [nodes.Text(f"[{mark.astext()}]")]


def _list_unread_blocks(complaint: nodes.Element) -> list[nodes.Node]:
    """Return the blocks in a complaint that docutils could not read, such as a malformed table.

    Directives that would read a file or pass raw text are left out.
    """
    blocks = [child for child in complaint.children if isinstance(child, nodes.literal_block)]
    return [block for block in blocks if not _FORBIDDEN.match(block.astext())]


def _find_title(tree: nodes.document) -> str:
    """Return the title in a `:title:` field at the head, or in a `title` directive; else `""`."""
    head = next((child for child in tree.children if not isinstance(child, _UNSEEN)), None)
    fields = head.children if isinstance(head, nodes.docinfo | nodes.field_list) else ()
    entries = [entry for entry in fields if isinstance(entry, nodes.field)]
    titles = (field[1].astext() for field in entries if field[0].astext().lower() == "title")
    return next(titles, "") or str(tree.get("title", ""))


def _add_all(builder: Builder, node: nodes.Node, level: int) -> None:
    """Add the blocks in a node; `level` is the level of the section around them."""
    for child in node.children:
        _add(builder, child, level)


def _add(builder: Builder, node: nodes.Node, level: int) -> None:
    """Add a block, or the blocks in it."""
    match node:
        case nodes.section():
            _add_all(builder, node, level + 1)
        case nodes.bullet_list() | nodes.enumerated_list():
            _add_list(builder, node, level)
        case nodes.thead() | nodes.tbody():
            _add_rows(builder, node)
        case _ if isinstance(node, _UNSEEN) or _is_contents(node):
            return
        case _ if not _add_leaf(builder, node, level):
            _add_all(builder, node, level)


def _is_contents(node: nodes.Node) -> bool:
    """Return whether a block is a table of contents that was made from the headings."""
    return isinstance(node, nodes.topic) and "contents" in node.get("classes", ())


def _add_leaf(builder: Builder, node: nodes.Node, level: int) -> bool:
    """Add a block that has no further blocks in it; return whether the node is one."""
    match node:
        case nodes.title() if isinstance(node.parent, nodes.section):
            builder.add_heading(node.astext(), level)
        case nodes.rubric():
            builder.add_heading(node.astext(), level + 1)
        case nodes.literal_block() | nodes.doctest_block() | nodes.math_block():
            builder.add_code(node.astext())
        case nodes.field() | nodes.option_list_item():
            builder.add_paragraph(": ".join(part.astext() for part in node.children))
        case nodes.footnote() | nodes.citation():
            builder.add_footnote(*_split_footnote(node))
        case nodes.TextElement():
            builder.add_paragraph(_join_lines(node.astext()))
        case _:
            return False
    return True


def _add_rows(builder: Builder, node: nodes.Element) -> None:
    """Add the rows of the head or the body of a table."""
    is_head = isinstance(node, nodes.thead)
    has_head = any(isinstance(part, nodes.thead) for part in node.parent.children)
    grid = CellGrid(has_head=has_head and not is_head)
    for row in node.children:
        cells = [
            (cell.astext(), cell.get("morecols", 0) + 1, cell.get("morerows", 0) + 1)
            for cell in row.children
        ]
        builder.add_row(grid.place_row(cells, head=is_head), head=is_head)


def _add_list(builder: Builder, node: nodes.Element, level: int) -> None:
    """Add the items of a list with their numbers or bullets."""
    style = _STYLES.get(node.get("enumtype", ""), "decimal")
    before, after = node.get("prefix", ""), node.get("suffix", ".")
    for number, item in enumerate(node.children, node.get("start", 1)):
        is_numbered = isinstance(node, nodes.enumerated_list)
        label = f"{before}{format_number(number, style)}{after}" if is_numbered else "-"
        for child in item.children:
            if isinstance(child, nodes.paragraph) and label:
                builder.add_item(_join_lines(child.astext()), label)
            else:
                _add(builder, child, level)
            label = ""


def _split_footnote(node: nodes.Element) -> tuple[str, str]:
    """Return the text and the mark of a footnote or citation."""
    label, *rest = node.children
    return " ".join(_join_lines(part.astext()) for part in rest), label.astext()


def _join_lines(text: str) -> str:
    return " ".join(text.split("\n"))
