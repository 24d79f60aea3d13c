"""A plot as a part of a page, or as a file for any page."""

import re
from xml.etree import ElementTree as ET

from fathom.evaluation.report.svg import (
    FONT,
    INK,
    ON_PAPER,
    PAPER,
    inline_svg,
    make_standalone,
    prefix_ids,
)

WRITTEN = f"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg width="518pt" height="244pt" viewBox="0 0 518.4 244.8" xmlns="http://www.w3.org/2000/svg">
 <metadata>made
 today</metadata>
 <defs><path id="m1" d="M 0 0" style="stroke: {INK}"/></defs>
 <g clip-path="url(#c1)"><use href="#m1" width="7"/></g><clipPath id="c1"/>
 <text style="font-size: 10px; font-family: 'DejaVu Sans', sans-serif; fill: {INK}">F1</text>
</svg>
"""
INLINE = inline_svg(WRITTEN)


def test_a_plot_in_a_page_takes_size_colour_and_font_of_the_page() -> None:
    root = ET.fromstring(INLINE)
    assert INLINE.startswith("<svg")
    assert set(root.attrib) == {"viewBox"}
    assert 'style="font-size: 10px; fill: currentColor">F1' in INLINE
    assert '<use href="#m1" width="7"/>' in INLINE
    for gone in (INK, "DejaVu", "today"):
        assert gone not in INLINE


def test_ids_and_their_references_are_made_distinct() -> None:
    apart = prefix_ids(INLINE, "p7")
    ids = set(re.findall(r'\bid="([^"]+)"', apart))
    named = set(re.findall(r'(?:url\(|href=")#([^")]+)', apart))
    assert ids == named == {"p7-m1", "p7-c1"}


def test_a_plot_file_has_its_own_size_colour_font_and_background() -> None:
    written = make_standalone(INLINE)
    root = ET.fromstring(written)
    assert root.attrib == {
        "viewBox": "0 0 518.4 244.8", "width": "881", "height": "416",
        "color": ON_PAPER, "font-family": FONT,
    }  # fmt: skip
    assert (root[0].attrib["width"], root[0].attrib["height"]) == ("518.4", "244.8")
    assert root[0].attrib["fill"] == PAPER
    assert make_standalone(INLINE) == written
