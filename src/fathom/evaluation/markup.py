"""The pieces of a page: what others wrote is always text, tables and pictures can be read aloud."""

from collections.abc import Sequence
from html import escape

from fathom.evaluation.svg import told_apart

Cells = Sequence[Sequence[str]]


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; nothing of nothing."""
    held = f' class="{kind}"' if kind else ""
    return f"<p{held}>{escape(text)}</p>" if text else ""


def items(sentences: Sequence[str]) -> str:
    """A list; nothing of nothing."""
    lines = "\n".join(f"<li>{escape(each)}</li>" for each in sentences)
    return f"<ul>\n{lines}\n</ul>" if sentences else ""


def value(shown: str, around: str = "") -> str:
    """A cell's number, with what is known of its uncertainty below it."""
    return f"{escape(shown)}<small>{escape(around)}</small>" if around else escape(shown)


def table(caption: str, head: Sequence[str], names: Sequence[str], cells: Cells) -> str:
    """A table that can be scrolled sideways, its first column staying in sight.

    Args:
        caption: Says what it shows.
        head: Above each column, the names' included.
        names: Of the rows.
        cells: As many rows; markup, as from `value`.
    """
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in row)
        + "</tr>"
        for name, row in zip(names, cells, strict=True)
    )
    told = escape(caption)
    return (
        f'<div class="wide" role="region" aria-label="{told}" tabindex="0">'
        f"<table><caption><span>{told}</span></caption>\n"
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{lines}\n</tbody></table></div>"
    )


def contents(titles: Sequence[str]) -> str:
    """Links to sections of these titles; see `section`."""
    links = "\n".join(
        f'<li><a href="#s{place}">{escape(title)}</a></li>' for place, title in enumerate(titles)
    )
    return f'<nav aria-label="Contents">\n<ul>\n{links}\n</ul>\n</nav>'


def section(place: int, title: str, body: Sequence[str]) -> str:
    """A section with its heading, that can be linked to."""
    inner = "\n".join(part for part in body if part)
    heading = f'<h2 id="s{place}">{escape(title)}</h2>'
    return f'<section aria-labelledby="s{place}">\n{heading}\n{inner}\n</section>'


class Pictures:
    """Numbers the figures of one page, so that their ids do not meet."""

    def __init__(self) -> None:
        """None so far."""
        self._count = 0

    def figure(self, svg: str, title: str, told: str) -> str:
        """A plot under its title, with a sentence on how to read it."""
        self._count += 1
        label = escape(f"{title}. {told}")
        named = told_apart(svg, f"p{self._count}")
        labelled = named.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
        caption = f"<strong>{escape(title)}.</strong> {escape(told)}"
        return f"<figure>\n<figcaption>{caption}</figcaption>\n{labelled}\n</figure>"
