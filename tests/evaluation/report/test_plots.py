"""Plots are SVG in the colours of the page, reproducible and legible."""

import re
from xml.etree import ElementTree as ET

import pytest

from fathom.evaluation.report.canvas import COLOURS
from fathom.evaluation.report.curves import Curve, Front, FrontPoint, Heat
from fathom.evaluation.report.plots import (
    MIN_FOR_SHAPE,
    draw_front,
    draw_heat,
    draw_lines,
    draw_shares,
    draw_violins,
)
from fathom.evaluation.report.svg import INK, make_standalone

pytest.importorskip("matplotlib")

FRONT = Front(
    cost="tokens a question",
    measure="F1",
    points=(
        FrontPoint(name="naive", x=40, y=0.5, interval=(0.4, 0.6), best=True),
        FrontPoint(name="m$a$f_1 <b>", x=90, y=0.5, interval=(0.5, 0.5)),
    ),
)
LINES = [
    Curve(name="naive", points=((1, 0.2), (2, 0.4)), intervals=((0.1, 0.3), (0.3, 0.5))),
    Curve(name="maf", points=((1, 0.0),)),
]
SIZES = Curve(name="naive", points=tuple((x, 0.5) for x in (1000.0, 1010.0, 25000.0, 100000.0)))
HEAT = Heat(rows=("naive", "maf"), columns=("a" * 40, "b" * 40), cells=((0.5, 0.5), (1.0, None)))
MANY = [0.01 * (n + 1) for n in range(MIN_FOR_SHAPE)]

DRAWN = {
    "front": lambda: draw_front(FRONT),
    "lines": lambda: draw_lines(LINES, x="k", y="recall"),
    "sizes": lambda: draw_lines([SIZES], x="documents", y="F1", log=True, marked=True),
    "violins": lambda: draw_violins({"naive": MANY, "maf": [0.5, 60.0], "still": [0.0] * 20}),
    "shares": lambda: draw_shares(HEAT),
    "heat": lambda: draw_heat(HEAT),
}


def list_texts(svg: str) -> list[str]:
    return [
        "".join(element.itertext())
        for element in ET.fromstring(svg).iter()
        if "text" in element.tag
    ]


@pytest.mark.parametrize("name", DRAWN)
def test_a_plot_is_inline_svg_without_external_references(name: str) -> None:
    svg = DRAWN[name]()
    assert svg.startswith("<svg")
    tree = ET.fromstring(svg)
    assert "width" not in tree.attrib
    assert "viewBox" in tree.attrib
    assert INK not in svg
    assert "currentColor" in svg
    assert "<image" not in svg
    assert "<metadata" not in svg
    assert not re.search(r'href="(?!#)', svg)
    assert "@import" not in svg


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_data_give_the_same_bytes(name: str) -> None:
    assert DRAWN[name]() == DRAWN[name]()


@pytest.mark.parametrize("name", DRAWN)
def test_a_plot_file_is_small(name: str) -> None:
    assert len(make_standalone(DRAWN[name]()).encode()) < 60_000


def test_names_are_text_and_no_formulas() -> None:
    assert {"naive", "m$a$f_1 <b>", "tokens a question", "F1"} <= set(list_texts(DRAWN["front"]()))


def test_lines_are_distinguishable_without_colours() -> None:
    assert "stroke-dasharray" not in draw_lines(LINES[:1], x="k", y="recall")
    assert "stroke-dasharray" in draw_lines(LINES, x="k", y="recall")


def test_ticks_are_placed_at_values_as_space_allows() -> None:
    labels = list_texts(DRAWN["sizes"]())
    assert {"1,000", "25,000", "100,000"} <= set(labels)
    assert "1,010" not in labels


def test_few_questions_give_no_invented_shape() -> None:
    shaped, dotted = draw_violins({"naive": MANY}), draw_violins({"naive": MANY[1:]})
    assert "FillBetweenPolyCollection" in shaped
    assert "FillBetweenPolyCollection" not in dotted
    assert "PathCollection" in dotted


def test_there_are_never_more_phases_than_colours() -> None:
    names = tuple(f"phase {n}" for n in range(len(COLOURS) + 1))
    cells = (tuple(n / 45 for n in range(1, len(names) + 1)),)
    labels = list_texts(draw_shares(Heat(rows=("mao",), columns=names, cells=cells)))
    assert {"other", *names[2:]} <= set(labels)
    assert not {*names[:2]} & set(labels)


def test_the_longer_names_of_a_map_are_rows() -> None:
    long = [f"a kind of question {n}" for n in range(3)]
    cells = ((0.11, 0.12, 0.13), (0.21, 0.22, None))
    labels = list_texts(draw_heat(Heat(rows=("naive", "maf"), columns=tuple(long), cells=cells)))
    assert [label for label in labels if "0." in label or label == "-"] == [
        "0.11", "0.21", "0.12", "0.22", "0.13", "-",
    ]  # fmt: skip


def test_a_share_is_never_below_zero() -> None:
    point = FrontPoint(name="naive", x=1, y=0.0, interval=(0.0, 0.1), best=True)
    assert not [
        label
        for label in list_texts(draw_front(Front(cost="seconds", measure="F1", points=(point,))))
        if label.startswith("\N{MINUS SIGN}")
    ]
