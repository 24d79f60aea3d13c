"""What all plots share: a legend where it is needed, names in lines, marks beside colours."""

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


def places(names: list[str]) -> dict[str, str]:
    """Where the names of a legend stand."""
    with open_plot() as made:
        for name in names:
            made.axes.plot([0, 1], [0, 1], label=name)
        made.axes.set_xticks([])
        made.axes.set_yticks([])
        made.add_legend()
    found = [each for each in ET.fromstring(made.svg).iter() if each.tag.endswith("text")]
    return {"".join(each.itertext()): each.attrib["y"] for each in found}


def test_one_thing_needs_no_legend() -> None:
    assert places(["naive"]) == {}
    assert set(places(["naive", "maf"])) == {"naive", "maf"}


def test_names_stand_side_by_side_while_there_is_room() -> None:
    assert len(set(places(["naive", "maf", "rrf"]).values())) == 1
    assert len(set(places([f"naive (rrf.k={n}00)" for n in range(4)]).values())) == 2


def test_long_names_go_on_in_the_next_line() -> None:
    name = "naive (generation.temperature=0.1, rrf.k=60)"
    assert max(map(len, wrap_name(name).splitlines())) <= MAX_LINE
    assert wrap_name(name).replace("\n", " ") == name
    assert compute_height([name]) > compute_height(["naive"])


def test_neighbours_differ_in_colour_in_mark_and_in_dashes() -> None:
    for place in range(20):
        assert pick_colour(place) != pick_colour(place + 1)
        assert pick_mark(place) != pick_mark(place + 1)
        assert pick_dashes(place) != pick_dashes(place + 1)
    assert len({(pick_colour(place), pick_mark(place)) for place in range(56)}) == 56


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    light = []
    for each in (one, other):
        parts = [int(each[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        light.append(0.05 + linear[0] * 0.2126 + linear[1] * 0.7152 + linear[2] * 0.0722)
    return max(light) / min(light)


@pytest.mark.parametrize("each", COLOURS)
def test_colours_are_legible_on_light_and_dark_and_so_are_words_on_them(each: str) -> None:
    assert contrast(each, "#ffffff") > 3
    assert contrast(each, "#16181b") > 3
    assert contrast(each, pick_text_colour(each)) > 4.5


def test_without_the_library_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'fathom-qa\[eval\]'"):
        check_drawing()
