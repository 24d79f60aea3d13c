"""Text of documents inside Markdown: it stays text, whatever stands in it.

Chat clients render what they get. Nothing of a document may become a link that hides where it
leads, an image (which is loaded at once, and so tells its server who reads), HTML, a fence that
swallows what follows, or a placeholder that a client fills in. As little as possible is changed,
because other clients show the text as it is: words, addresses and file names stay.
"""

import re

from fathom.serving.shapes import harmless

_ACTIVE = re.compile(
    r"""
    \[(?P<mark>\d[^\[\]\n]{0,40})\]  # looks like the mark of a citation
    | \\(?=[!-/:-@\[-`{-~])          # would take away the meaning of what follows
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


def inert(text: str, marks: frozenset[int] = frozenset()) -> str:
    """The text with nothing in it that Markdown, or a chat client, would act on.

    Args:
        text: From a document, or from a language model that has read one.
        marks: The numbers whose marks, `[1]`, are marks indeed.
    """

    def quiet(found: re.Match[str]) -> str:
        mark, whole = found["mark"], found[0]
        if mark is not None:
            known = mark.isdecimal() and int(mark) in marks
            return whole if known else rf"{whole[:-1]}\]"
        return "&lt;" if found["tag"] else f"\\{whole}"

    return _ACTIVE.sub(quiet, harmless(text))


def inert_line(text: str, longest: int) -> str:
    """As `inert`, in one line of at most so many characters of the text."""
    line = " ".join(text.split())
    return inert(line if len(line) <= longest else f"{line[:longest].rstrip()}…")


def label(text: str, longest: int) -> str:
    """As `inert_line`, for the words of a link: brackets would end them."""
    return inert_line(text.translate({ord("["): "(", ord("]"): ")"}), longest)
