"""Plots as text: a part of a page that takes the page's ink, or a separate file."""

import re

INK = "#010203"
"""The placeholder for the colour of the text around, until the SVG is written."""
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
PAPER, ON_PAPER = "#ffffff", "#1c1e21"
"""The colours of a separate file, which cannot know its background."""
SCALE = 1.7
"""The pixels of a separate file for a unit of the drawing: its words are of a page's size."""


def inline_svg(svg: str) -> str:
    """Return an SVG as a part of a page: no prolog, the page's colour and font, no fixed size."""
    body = svg[svg.index("<svg") :]
    # The metadata name the version of the drawing library, which would change the bytes.
    body = re.sub(r"<metadata>(?:(?!<metadata>).)*?</metadata>", "", body, flags=re.DOTALL)
    # Without a size of its own the plot fills the column of the page.
    body = re.sub(r'(<svg[^<>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^<>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r"font-family: [^:;\"]*; ?", "", body)
    return body.replace(INK, "currentColor").strip()


def prefix_ids(svg: str, name: str) -> str:
    """Return the SVG with unique ids, so that several can stand in one page."""
    prefixed = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", prefixed)


def make_standalone(svg: str) -> str:
    """Return the SVG as a separate file: on white paper, legible on light and dark pages.

    Returns:
        An SVG without any tie to the outside; equal plots give equal bytes.
    """
    head, _, body = svg.partition(">")
    _, _, width, height = head.split('viewBox="')[1].split('"')[0].split()
    size = f'width="{SCALE * float(width):.0f}" height="{SCALE * float(height):.0f}"'
    paper = f'<rect width="{width}" height="{height}" rx="4" fill="{PAPER}"/>'
    return f'{head} {size} color="{ON_PAPER}" font-family="{FONT}">{paper}{body}\n'
