"""The common parts of all plots: legends where needed, wrapped names, marks beside colours."""

import sys
from xml.etree import ElementTree as ET

import pytest

from fathom.errors import UsageError
from fathom.evaluation.report.canvas import (
    COLOURS,
    MAX_LINE,
    check_drawing,
    compute_height,
    open_plot,
    pick_colour,
    pick_dashes,
    pick_mark,
    pick_text_colour,
    wrap_name,
)

pytest.importorskip("matplotlib")


def list_places(names: list[str]) -> dict[str, str]:
    """Return the places of the names of a legend."""
    with open_plot() as plot:
        for name in names:
            plot.axes.plot([0, 1], [0, 1], label=name)
        plot.axes.set_xticks([])
        plot.axes.set_yticks([])
        plot.add_legend()
    labels = [element for element in ET.fromstring(plot.svg).iter() if element.tag.endswith("text")]
    return {"".join(element.itertext()): element.attrib["y"] for element in labels}


def test_one_series_needs_no_legend() -> None:
    assert list_places(["naive"]) == {}
    assert set(list_places(["naive", "maf"])) == {"naive", "maf"}


def test_letters_that_the_font_lacks_cause_no_warning() -> None:
    assert set(list_places(["价格 \U0001f4a1", "naive"])) == {"价格 \U0001f4a1", "naive"}


def test_names_are_side_by_side_while_there_is_room() -> None:
    assert len(set(list_places(["naive", "maf", "rrf"]).values())) == 1
    assert len(set(list_places([f"naive (rrf.k={n}00)" for n in range(4)]).values())) == 2


def test_long_names_continue_on_the_next_line() -> None:
    name = "naive (generation.temperature=0.1, rrf.k=60)"
    assert max(map(len, wrap_name(name).splitlines())) <= MAX_LINE
    assert wrap_name(name).replace("\n", " ") == name
    assert compute_height([name]) > compute_height(["naive"])


def test_neighbours_differ_in_colour_mark_and_dashes() -> None:
    for place in range(20):
        assert pick_colour(place) != pick_colour(place + 1)
        assert pick_mark(place) != pick_mark(place + 1)
        assert pick_dashes(place) != pick_dashes(place + 1)
    assert len({(pick_colour(place), pick_mark(place)) for place in range(56)}) == 56


def compute_contrast(first: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2."""
    light = []
    for colour in (first, other):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        light.append(0.05 + linear[0] * 0.2126 + linear[1] * 0.7152 + linear[2] * 0.0722)
    return max(light) / min(light)


@pytest.mark.parametrize("series_colour", COLOURS)
def test_colours_and_their_labels_are_legible_on_light_and_dark(series_colour: str) -> None:
    assert compute_contrast(series_colour, "#ffffff") > 3
    assert compute_contrast(series_colour, "#16181b") > 3
    assert compute_contrast(series_colour, pick_text_colour(series_colour)) > 4.5


def test_without_the_library_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'fathom-qa\[eval\]'"):
        check_drawing()
