"""The escaping of document text in Markdown.

Chat clients render Markdown. The text of a document must not become a link that hides its target,
an image (which is loaded at once, and so reveals the reader to its server), HTML, a fence that
includes the rest of the answer, or a placeholder that a client fills in. As little as possible is
escaped, because other clients show the text unrendered: words, addresses and file names stay.
"""

import re

from fathom.serving.shapes import replace_invisible

_ACTIVE = re.compile(
    r"""
    \[(?P<mark>\d[^\[\]\n]{0,40})\]  # looks like a citation mark
    | \\(?=[!-/:-@\[-`{-~])          # would escape the next character
    | (?<=\])[(:]                    # a link, an image, the definition of one
    | (?P<tag><)(?=[A-Za-z/!?|])     # HTML; clients look for tags such as <think> in the raw text
    | &(?=\#?\w+;)                   # an entity
    | (?<=\{)\{                      # a placeholder
    | [`*]
    | ~(?=~)
    | (?<!\w)_ | _(?!\w)
    | ^[\#>=]
    """,
    re.VERBOSE | re.MULTILINE,
)


def escape_markdown(text: str, marks: frozenset[int] = frozenset()) -> str:
    """Escape everything that Markdown or a chat client would interpret.

    Args:
        text: The text of a document, or of a language model that has read one.
        marks: The numbers of citations, whose marks, such as `[1]`, are not escaped.
    """

    def escape_match(match: re.Match[str]) -> str:
        mark, whole = match["mark"], match[0]
        if mark is not None:
            is_mark = mark.isdecimal() and int(mark) in marks
            return whole if is_mark else rf"{whole[:-1]}\]"
        return "&lt;" if match["tag"] else f"\\{whole}"

    return _ACTIVE.sub(escape_match, replace_invisible(text))


def escape_line(text: str, longest: int) -> str:
    """Escape a text as one line; cut it to `longest` characters before escaping."""
    line = " ".join(text.split())
    return escape_markdown(line if len(line) <= longest else f"{line[:longest].rstrip()}…")


def escape_label(text: str, longest: int) -> str:
    """Escape a text as one line for the label of a link; square brackets become round."""
    return escape_line(text.translate({ord("["): "(", ord("]"): ")"}), longest)
