"""Markdown: headings, numbered steps, code fences and tables keep their form."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode as Node

from fathom.documents.base import Builder, ParsedDocument
from fathom.documents.decode import decode_text
from fathom.documents.formats.superscripts import choose_sign
from fathom.documents.scalars import parse_scalar

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?P<lines>.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_START = re.compile(r"(?:#[^\n]*\n)*[\"']?[A-Za-z_][\w.-]*[\"']?[ \t]*:(?:\s|\Z)")
_FRONT_LINE = re.compile(r"(?P<key>[A-Za-z][\w-]{0,63}):[ \t]+(?P<value>\S.*)")
READERS = "readers"
"""The key of the readers of the document."""
_READERS_BLOCK = re.compile(
    r"^[\"']?readers[\"']?[ \t]*:[^\n]*(?P<items>(?:\n[ \t]*(?:-[^\n]*|#[^\n]*)?(?=\n|\Z))*)",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"^[ \t]*-[ \t]+([^\s#][^\n#]*)", re.MULTILINE)
_FOLDED = re.compile(r"(?P<key>[A-Za-z][\w-]{0,63}:)[ \t]+[|>][-+]?\d?[ \t]*")
"""The line before a text that stands on indented lines."""
_LISTED = re.compile(r"(?P<key>authors?:)[ \t]*", re.IGNORECASE)
"""The line before a list of authors; other lists are left out, and readers are read apart."""
_ATTRIBUTES = re.compile(
    r"(?<![ \t])[ \t]*\{:?[ \t]*(?:[#.][\w:.-]+|[\w-]+=[^\s{}]+)"
    r"(?:[ \t]+(?:[#.][\w:.-]+|[\w-]+=[^\s{}]+))*[ \t]*\}$"
)
"""The identifier and the classes of a heading, which are not printed."""
_STRIKE_TAG = re.compile(r"<(?P<end>/?)(?:del|s|strike)\b[^<>]*>", re.IGNORECASE)
_NESTED = re.compile(r"-[ \t]+[\w-]+:(?:[ \t]|$)")
"""The beginning of a value that has keys of its own."""
_COMMENT = re.compile(r"(?<!\s)\s+# ")
_TAG = re.compile(r"<[^<>]*>")
_NOTE = re.compile(r"\[\^(?P<label>[^\s\[\]]{1,100})\]:[ \t]*")
"""The beginning of a footnote."""
_NOTE_MARK = re.compile(r"\[\^(?P<label>[^\s\[\]]{1,100})\]")
_NOTES = "notes"
"""The key of the labels of footnotes that were read."""
_MOST_NESTED = 60


def parse(data: bytes) -> ParsedDocument:
    """Parse a Markdown file: CommonMark, tables, and a block of `key: value` lines at its head.

    Raises:
        ParseRefusal: `no_document` for binary data, `unsupported` for an unknown encoding, `empty`
            for a file without text.
    """
    text = decode_text(data).replace("\r\n", "\n").replace("\r", "\n")
    facts: dict[str, str] = {}
    front = _FRONT_MATTER.match(text)
    if front and _is_front_matter(front["lines"]):
        facts = _read_facts(front["lines"])
        text = text[front.end() :]
    title = facts.pop("title", "").strip("\"'")
    builder = Builder()
    add_markdown(builder, text)
    metadata = {key: parse_scalar(value) for key, value in facts.items()}
    # The names of readers stay a text, even if one looks like a number, such as the group 2021.
    readers = {READERS: facts[READERS]} if READERS in facts else {}
    return builder.build(title, {**metadata, **readers})


def add_markdown(builder: Builder, text: str) -> None:
    """Add the blocks of a Markdown text, without what is struck through."""
    tree = Node(_get_parser().parse(text))
    builder.skip_hidden(sum(map(_begins_strike, tree.walk())))
    _add_all(builder, tree)


@cache
def _get_parser() -> MarkdownIt:
    """Return the Markdown parser, which is shared because its creation takes long.

    It keeps nothing of a text.
    """
    parser = MarkdownIt("commonmark", {"maxNesting": _MOST_NESTED})
    parser.enable(["table", "strikethrough"])
    # Before links: a footnote of one word looks like the target of one.
    parser.block.ruler.before(
        "reference", "footnote", _read_note, {"alt": ["paragraph", "reference"]}
    )
    parser.inline.ruler.before("link", "footnote_mark", _read_note_mark)
    return parser


def _read_note(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a footnote; the lines that belong to it are indented by four spaces."""
    start = state.bMarks[first] + state.tShift[first]
    note = _NOTE.match(state.src, start, state.eMarks[first])
    if note is None or state.is_code_block(first):
        return False
    if silent:
        return True
    state.env.setdefault(_NOTES, set()).add(note["label"])
    state.push("footnote_open", "", 1).meta["label"] = note["label"]
    kept = state.bMarks[first], state.tShift[first], state.sCount[first], state.parentType
    state.bMarks[first], state.tShift[first] = note.end(), 0
    state.blkIndent += 4
    state.sCount[first] = state.blkIndent
    state.parentType = "footnote"
    state.md.block.tokenize(state, first, last)
    state.blkIndent -= 4
    state.bMarks[first], state.tShift[first], state.sCount[first], state.parentType = kept
    state.push("footnote_close", "", -1)
    return True


def _read_note_mark(state: StateInline, silent: bool) -> bool:
    """Read the mark of a footnote of this text, as it is printed."""
    mark = _NOTE_MARK.match(state.src, state.pos)
    if mark is None or mark["label"] not in state.env.get(_NOTES, ()):
        return False
    if not silent:
        state.push("text", "", 0).content = f"[{mark['label']}]"
    state.pos = mark.end()
    return True


def _is_front_matter(lines: str) -> bool:
    """Return whether the lines between two rules are values by their keys, and no text."""
    # Lines that name readers always count, so that a list of readers is never overlooked.
    return bool(_FRONT_START.match(lines) or _READERS_BLOCK.search(lines))


def _drop_comment(value: str) -> str:
    """Return a value without its comment; a value that ends with a quotation mark has none."""
    return value if value.endswith(('"', "'")) else _COMMENT.split(value, 1)[0]


def _read_facts(lines: str) -> dict[str, str]:
    """Return the flat values as written, and authors and texts of several lines in one line.

    Nested values and keys without a value are left out.
    """
    matches = (_FRONT_LINE.fullmatch(line) for line in _join_values(lines.split("\n")))
    pairs = ((m["key"].lower(), _drop_comment(m["value"])) for m in matches if m)
    facts = {key: value for key, value in pairs if value.lower() not in {"", "null", "~"}}
    # Readers may be on lines of their own; if no name is understood, nobody may read.
    if READERS not in facts and (block := _READERS_BLOCK.search(lines)):
        facts[READERS] = ", ".join(map(str.strip, _ITEM.findall(block["items"]))) or "[]"
    return facts


def _join_values(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a head, with the value of a key on the line of the key."""
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        at += 1
        folded, listed = _FOLDED.fullmatch(line), _LISTED.fullmatch(line)
        if folded:
            texts = list(takewhile(lambda text: text[:1] in {"", " ", "\t"}, lines[at:]))
            line = f"{folded['key']} {' '.join(' '.join(texts).split())}"
        elif listed:
            texts = list(takewhile(_is_list_value, lines[at:]))
            values = [text.strip()[1:].strip().strip("\"'") for text in texts]
            line = f"{listed['key']} {', '.join(values)}"
        else:
            texts = []
        at += len(texts)
        yield line


def _is_list_value(line: str) -> bool:
    """Return whether a line of a head is a plain value of a list."""
    return _ITEM.fullmatch(line.rstrip()) is not None and _NESTED.search(line) is None


def _add_all(builder: Builder, node: Node, label: str = "") -> None:
    """Add the blocks in a node; the first one gets the label."""
    for child in node.children:
        _add(builder, child, label)
        label = ""  # the label of a list item belongs to its first block


def _add(builder: Builder, node: Node, label: str) -> None:
    """Add a block; a paragraph with a label is a list item."""
    match node.type:
        case "heading":
            title = _ATTRIBUTES.sub("", _collect_text(node))
            builder.add_heading(title, int(node.tag[1:]))
        case "paragraph":
            builder.add_labelled(_collect_text(node), label)
        case "fence" | "code_block":
            builder.add_code(node.content)
        case "html_block":
            _add_html(builder, node.content)
        case "bullet_list" | "ordered_list":
            _add_list(builder, node)
        case "tr":
            head = node.parent is not None and node.parent.type == "thead"
            builder.add_row([_collect_text(cell) for cell in node.children], head=head)
        case "footnote":
            _add_note(builder, node)
        case _:
            _add_all(builder, node, label)


def _add_note(builder: Builder, node: Node) -> None:
    label = str(node.meta["label"])
    for child in node.children:
        if child.type == "paragraph":
            builder.add_footnote(_collect_text(child), label)
        else:
            _add(builder, child, "")
        label = ""


def _add_list(builder: Builder, node: Node) -> None:
    """Add the items of a list with their numbers or bullets."""
    start = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, start):
        mark = item.markup if node.type == "ordered_list" else ""
        _add_all(builder, item, f"{number}{mark}" if mark else "-")


def _add_html(builder: Builder, content: str) -> None:
    """Add the visible text of a block of HTML, unless it has only tags."""
    if not _TAG.sub("", content).strip():
        return
    from fathom.documents.formats.html import add_fragment

    add_fragment(builder, content)


def _collect_text(node: Node) -> str:
    """Return the text of a block without Markdown's marks; wrapped lines are joined."""
    words: list[str] = []
    script = ""
    for child in _iter_unstruck(node):
        match child.type:
            case "text" | "code_inline":
                if script:
                    before = "".join(words[-3:])
                    words.append(choose_sign(before, child.content, raised=script == "<sup>"))
                words.append(child.content)
                script = ""
            case "softbreak":
                words.append(" ")
            case "hardbreak":
                words.append("\n")
            case "html_inline" if child.content.lower().startswith("<br"):
                words.append("\n")
            case "html_inline" if child.content.lower() in {"<sup>", "<sub>"}:
                script = child.content.lower()
            case _:
                pass
    return "".join(words).replace("\u00ad", "")  # soft hyphens are no part of a word


def _iter_unstruck(node: Node) -> Iterator[Node]:
    """Yield the nodes below a node in order, without those that are struck through."""
    struck: set[Node] = set()
    depth = 0
    for child in node.walk():
        tag = _STRIKE_TAG.fullmatch(child.content) if child.type == "html_inline" else None
        if tag is not None:
            depth = max(0, depth - 1) if tag["end"] else depth + 1
        elif child.type == "s":
            struck.update(child.walk())
        elif not depth and child not in struck:
            yield child


def _begins_strike(node: Node) -> bool:
    """Return whether a node begins text that is struck through."""
    tag = _STRIKE_TAG.fullmatch(node.content) if node.type == "html_inline" else None
    return node.type == "s" or (tag is not None and not tag["end"])
