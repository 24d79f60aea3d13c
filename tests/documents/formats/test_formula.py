import pytest
from lxml import etree

from fathom.documents.formats.formula import format_math
from fathom.documents.formats.html import parse as parse_html
from fathom.documents.formats.xml import parse as parse_xml

HALF = "<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac>"
POWER = "<msup><mi>e</mi><mrow><mn>2</mn><mo>&#x2062;</mo><mi>x</mi></mrow></msup>"


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (HALF, "a/(b+1)"),
        (POWER, "e^(2x)"),
        ("<msup><mn>10</mn><mn>12</mn></msup>", "10^12"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "x_i^2"),
        ("<msqrt><mi>b</mi><mo>+</mo><mn>2</mn></msqrt>", "√(b+2)"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "√[3]x"),
        ("<munderover><mo>∑</mo><mn>0</mn><mi>n</mi></munderover><mi>k</mi>", "∑_0^n k"),
        ("<mi>sin</mi><mo>&#x2061;</mo><mi>x</mi>", "sin x"),
        ("<mi>x</mi><mtext> if </mtext><mi>y</mi>", "x if y"),
        ("<mfenced><mi>x</mi><mi>y</mi></mfenced>", "(x,y)"),
        ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>", "1, 2"),
        ("<semantics><mi>F</mi><annotation>\\tex</annotation></semantics>", "F"),
        ("<mphantom><mi>x</mi></mphantom><mi>y</mi><!-- z -->", "y"),
        ("<mfrac><mi>a</mi></mfrac>", "a"),
        ("<mrow>" * 150 + "<mi>x</mi>" + "</mrow>" * 150, "x"),
    ],
)
def test_formulas_are_written_in_one_line(inner: str, text: str) -> None:
    assert format_math(etree.fromstring(f"<math>{inner}</math>")) == text


def test_a_formula_without_parts_has_its_stated_text() -> None:
    assert format_math(etree.fromstring('<math alttext="x^2"/>')) == "x^2"


def test_formulas_of_pages_are_read() -> None:
    page = (
        f"<p>It is <math><mi>F</mi><mo>=</mo>{HALF}</math> a day.</p>"
        f'<p>So:<math display="block">{POWER}</math>where x is 1.</p>'
    )
    assert parse_html(page.encode()).text == (
        "It is F=a/(b+1) a day.\n\nSo:\n\ne^(2x)\n\nwhere x is 1."
    )


def test_formulas_that_pages_draw_by_other_means_are_read_once() -> None:
    katex = (
        f'<span class="katex"><span class="katex-mathml"><math>{POWER}</math></span>'
        '<span class="katex-html" aria-hidden="true">e2x</span></span>'
    )
    wikipedia = (
        '<span class="mwe-math-element"><span class="mwe-math-mathml-inline"'
        f' style="display: none;"><math>{HALF}</math></span><img alt="a over b"></span>'
    )
    assert parse_html(f"<p>{katex} and {wikipedia}.</p>".encode()).text == "e^(2x) and a/(b+1)."


def test_formulas_of_articles_are_read_once() -> None:
    space = 'xmlns:mml="http://www.w3.org/1998/Math/MathML"'
    formula = f"<mml:math>{POWER}</mml:math>".replace("<m", "<mml:m").replace("</m", "</mml:m")
    formula = formula.replace("mml:mml:", "mml:")
    both = f"<alternatives><tex-math>e^{{2x}}</tex-math>{formula}</alternatives>"
    article = (
        f"<article {space}><p>It is <inline-formula>{both}</inline-formula> a day.</p>"
        f"<disp-formula>{formula}</disp-formula></article>"
    )
    assert parse_xml(article.encode()).text == "It is e^(2x) a day.\n\ne^(2x)"
