"""Pieces of a page: text stays text, and can be read aloud."""

from fathom.evaluation.markup import (
    Pictures,
    contents,
    items,
    paragraph,
    section,
    table,
    value,
)

EVIL = '<b>"&'
SAFE = "&lt;b&gt;&quot;&amp;"
SVG = '<svg viewBox="0 0 1 1"><g id="a"/><use href="#a"/></svg>'


def test_nothing_makes_nothing() -> None:
    assert paragraph("") == ""
    assert items([]) == ""


def test_text_is_no_markup_anywhere() -> None:
    for made in (
        paragraph(EVIL),
        items([EVIL]),
        value(EVIL, EVIL),
        table(EVIL, [EVIL], [EVIL], [[]]),
        contents([EVIL]),
        section(0, EVIL, []),
        Pictures().figure(SVG, EVIL, EVIL),
    ):
        assert SAFE in made
        assert EVIL not in made


def test_a_table_names_its_rows_and_columns() -> None:
    made = table("Answers", ["", "naive"], ["F1"], [[value("0.5", "[0.4, 0.6]")]])
    assert '<th scope="col">naive</th>' in made
    assert '<th scope="row">F1</th><td>0.5<small>[0.4, 0.6]</small></td>' in made
    assert 'role="region" aria-label="Answers" tabindex="0"' in made


def test_the_contents_lead_to_sections() -> None:
    assert '<a href="#s1">Second</a>' in contents(["First", "Second"])
    assert section(1, "Second", ["<p>x</p>", ""]) == (
        '<section aria-labelledby="s1">\n<h2 id="s1">Second</h2>\n<p>x</p>\n</section>'
    )


def test_figures_of_a_page_have_ids_of_their_own() -> None:
    pictures = Pictures()
    first, second = (pictures.figure(SVG, "Time", "Less is better.") for _ in range(2))
    assert 'role="img" aria-label="Time. Less is better."' in first
    assert 'id="p1-a"' in first
    assert 'id="p2-a"' in second
    assert "<strong>Time.</strong> Less is better.</figcaption>" in first
