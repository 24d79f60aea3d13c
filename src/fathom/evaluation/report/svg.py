"""A plot as text: a part of a page that takes the page's ink, or a file of its own."""

import re

INK = "#010203"
"""Stands for the colour of the text around, until the SVG is written."""
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
PAPER, ON_PAPER = "#ffffff", "#1c1e21"
"""Of a file of its own, which cannot know what it is shown on."""
SCALE = 1.7
"""Pixels of a file of its own for a unit of the drawing, so that its words are of a page's size."""


def inline(svg: str) -> str:
    """An SVG as a part of a page: no prolog, the page's colour and font, no size of its own.

    Args:
        svg: As the drawing library writes it.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r"font-family: [^;\"]*; ?", "", body)
    return body.replace(INK, "currentColor").strip()


def told_apart(svg: str, name: str) -> str:
    """The SVG with ids of its own, so that several can stand in one page.

    Args:
        svg: As drawn.
        name: A word that no other SVG of the page has.
    """
    apart = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", apart)


def standalone(svg: str) -> str:
    """The SVG as a file of its own: on white paper, so that it is legible on light and dark pages.

    Args:
        svg: As drawn.

    Returns:
        Without any tie to the outside; equal plots give equal bytes.
    """
    head, _, body = svg.partition(">")
    _, _, width, height = head.split('viewBox="')[1].split('"')[0].split()
    size = f'width="{SCALE * float(width):.0f}" height="{SCALE * float(height):.0f}"'
    paper = f'<rect width="{width}" height="{height}" rx="4" fill="{PAPER}"/>'
    return f'{head} {size} color="{ON_PAPER}" font-family="{FONT}">{paper}{body}\n'
