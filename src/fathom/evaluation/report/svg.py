"""Plots as SVG: a part of a page with the page's text colour and font, or a separate file."""

import re

INK = "#010203"
"""The placeholder for the text colour of the page until the SVG is written."""
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
PAPER, ON_PAPER = "#ffffff", "#1c1e21"
"""The background and the text colour of a separate file."""
SCALE = 1.7
"""The pixels of a separate file for a unit of the drawing, so that text has the size of a page."""


def inline_svg(svg: str) -> str:
    """Convert an SVG file to a part of a page, with the page's text colour, font and width."""
    body = svg[svg.index("<svg") :]
    # The metadata contains the version of the drawing library, which would change the bytes.
    body = re.sub(r"<metadata>(?:(?!<metadata>).)*?</metadata>", "", body, flags=re.DOTALL)
    # Without a size the plot fills the column of the page.
    body = re.sub(r'(<svg[^<>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^<>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r"font-family: [^:;\"]*; ?", "", body)
    return body.replace(INK, "currentColor").strip()


def prefix_ids(svg: str, name: str) -> str:
    """Prefix the ids of an SVG with a name, so that they are unique in a page."""
    prefixed = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", prefixed)


def make_standalone(svg: str) -> str:
    """Convert a part of a page to a separate file with a white background.

    Equal plots give equal bytes.
    """
    head, _, body = svg.partition(">")
    _, _, width, height = head.split('viewBox="')[1].split('"')[0].split()
    size = f'width="{SCALE * float(width):.0f}" height="{SCALE * float(height):.0f}"'
    paper = f'<rect width="{width}" height="{height}" rx="4" fill="{PAPER}"/>'
    return f'{head} {size} color="{ON_PAPER}" font-family="{FONT}">{paper}{body}\n'
