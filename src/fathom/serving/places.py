"""Where citations and hits lead: places in one line, and paths that a terminal can open."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from fathom.types import Answer, Hit, Place

_PAGE_WORDS = {".pptx": "slide", ".xlsx": "sheet"}


def place_text(place: Place) -> str:
    """A place in one line: title, section and page, then path and line."""
    name = " > ".join(filter(None, (place.title, place.section)))
    page = f", {page_word(place.path)} {place.page}" if place.page else ""
    line = f":{place.line}" if place.line else ""
    return f"{name}{page} ({near(place.path)}{line})" if place.path else f"{name}{page}"


def page_word(path: str) -> str:
    """What the pages of a file are called."""
    return _PAGE_WORDS.get(PurePath(path).suffix.lower(), "page")


def near(path: str) -> str:
    """A path as short as it can be given here: from the working directory if it lies below."""
    inside = path.removeprefix(f"{Path.cwd()}{os.sep}")
    return inside or path


def citation_links(answer: Answer) -> dict[str, str]:
    """Where the paths that `answer_text` names lead to."""
    links = {}
    for citation in answer.citations:
        if citation.source == "web":
            address = citation.document.removeprefix("web:")
            links[address] = address
        elif citation.path:
            links[near(citation.path)] = file_link(citation.path, citation.document)
    return links


def place_links(places: Sequence[Place], hits: Sequence[Hit]) -> dict[str, str]:
    """Where the paths that `hits_text` names lead to."""
    return {
        near(place.path): file_link(place.path, hit.chunk.document_id)
        for place, hit in zip(places, hits, strict=True)
        if place.path
    }


def file_link(path: str, document: str) -> str:
    """The address of the file that a document was read from."""
    return Path(path.removesuffix(f"#{document}")).absolute().as_uri()
