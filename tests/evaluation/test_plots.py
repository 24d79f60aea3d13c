"""Plots are SVG of the page's own colour, the same every time."""

import re
import sys
from xml.etree import ElementTree as ET

import pytest

from fathom.errors import UsageError
from fathom.evaluation.curves import Front, Heat, Line, Point
from fathom.evaluation.plots import (
    check_drawing,
    draw_front,
    draw_heat,
    draw_lines,
    draw_shares,
    draw_violins,
)

pytest.importorskip("matplotlib")

FRONT = Front(
    cost="tokens a question",
    measure="F1",
    points=(
        Point(name="naive", x=40, y=0.5, interval=(0.4, 0.6), best=True),
        Point(name="m$a$f_1 <b>", x=90, y=0.5, interval=(0.5, 0.5)),
    ),
)
LINES = [
    Line(name="naive", points=((1, 0.2), (2, 0.4)), intervals=((0.1, 0.3), (0.3, 0.5))),
    Line(name="maf", points=((1, 0.0),)),
]
HEAT = Heat(rows=("naive", "maf"), columns=("a" * 40, "b" * 40), cells=((0.5, 0.5), (1.0, None)))

DRAWN = {
    "front": lambda: draw_front(FRONT),
    "lines": lambda: draw_lines(LINES, x="k", y="recall"),
    "sizes": lambda: draw_lines(LINES, x="documents", y="F1", log=True, marked=True),
    "violins": lambda: draw_violins({"naive": [0.1, 0.2, 2.0], "maf": [0.5], "still": [0.0, 0.0]}),
    "shares": lambda: draw_shares(HEAT),
    "heat": lambda: draw_heat(HEAT),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_plot_is_inline_svg_without_ties_to_anywhere(name: str) -> None:
    svg = DRAWN[name]()
    assert svg.startswith("<svg")
    tree = ET.fromstring(svg)
    assert "width" not in tree.attrib
    assert "viewBox" in tree.attrib
    assert "currentColor" in svg
    assert "<image" not in svg
    assert "<metadata" not in svg
    assert not re.search(r'href="(?!#)', svg)
    assert "@import" not in svg


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_data_give_the_same_bytes(name: str) -> None:
    assert DRAWN[name]() == DRAWN[name]()


def test_names_are_text_and_no_formulas() -> None:
    svg = DRAWN["front"]()
    texts = ["".join(each.itertext()) for each in ET.fromstring(svg).iter() if "text" in each.tag]
    assert {"naive", "m$a$f_1 <b>", "tokens a question", "F1"} <= set(texts)


def test_without_the_library_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'fathom\[eval\]'"):
        check_drawing()
