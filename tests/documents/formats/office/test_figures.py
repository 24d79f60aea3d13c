import pytest
from lxml import etree

from fathom.documents.base import Builder
from fathom.documents.formats.office.figures import add_chart, add_diagram


def make_points(values: dict[int, str]) -> str:
    return "".join(f'<pt idx="{at}"><v>{value}</v></pt>' for at, value in values.items())


def make_series(name: str, names: dict[int, str], values: dict[int, str]) -> str:
    head = f"<tx><strRef>{make_points({0: name})}</strRef></tx>" if name else ""
    return f"<ser>{head}<cat>{make_points(names)}</cat><val>{make_points(values)}</val></ser>"


def build_chart(xml: str) -> str:
    builder = Builder()
    add_chart(builder, etree.fromstring(f"<chartSpace><chart>{xml}</chart></chartSpace>"))
    return builder.build().text


def test_each_category_is_a_row_with_every_series() -> None:
    names = {0: "May", 1: "June"}
    both = make_series("Loans", names, {0: "1.50", 1: "2"}) + make_series(
        "Visits", names, {1: "30"}
    )
    assert build_chart(both) == "May | Loans: 1.5\nJune | Loans: 2 | Visits: 30"


def test_a_series_without_name_gives_bare_values() -> None:
    assert build_chart(make_series("", {0: "May"}, {0: "7"})) == "May | 7"


def test_values_that_are_no_numbers_are_kept() -> None:
    assert build_chart(make_series("S", {0: "May"}, {0: "#N/A"})) == "May | S: #N/A"


def make_title(*lines: str) -> str:
    inner = "".join(f"<p><r><t>{line}</t></r></p>" for line in lines)
    return f"<title><tx><rich>{inner}</rich></tx></title>"


def make_axes(category: str = "", value: str = "") -> str:
    return f"<catAx>{category}</catAx><valAx>{value}</valAx>"


def test_the_titles_of_a_chart_and_of_its_axes_are_read() -> None:
    cache = f"<strCache>{make_points({0: 'Books lent'})}</strCache>"
    linked = f"<title><tx><strRef>{cache}</strRef></tx></title>"
    axes = make_axes(make_title("Month"), make_title("Loans in", "thousands"))
    series = make_series("Loans", {0: "May"}, {0: "7"})
    assert build_chart(f"{linked}<plotArea>{series}{axes}</plotArea>") == (
        "Books lent\n\nMonth\n\nLoans in thousands\n\nMay | Loans: 7"
    )


def test_a_series_without_name_has_that_of_the_only_axis_of_values() -> None:
    series = make_series("", {0: "May"}, {0: "7"})
    axes = make_axes(value=make_title("Loans"))
    assert build_chart(f"<plotArea>{series}{axes}</plotArea>") == "Loans\n\nMay | Loans: 7"
    both = f"{axes}<valAx>{make_title('Visits')}</valAx>"
    text = build_chart(f"<plotArea>{series}{both}</plotArea>")
    assert text == "Loans\n\nVisits\n\nMay | 7"


def make_numbers(name: str, form: str, *values: str) -> str:
    points = make_points(dict(enumerate(values)))
    cache = f"<numCache><formatCode>{form}</formatCode>{points}</numCache>"
    return f"<{name}><numRef>{cache}</numRef></{name}>"


@pytest.mark.parametrize(
    ("form", "value", "printed"),
    [
        ("0%", "0.25", "25%"),
        ("General", "0.25", "0.25"),
        ("0.0&quot; kg&quot;", "2.5", "2.5 kg"),
        ("m/d/yyyy", "45413", "2024-05-01"),
    ],
)
def test_numbers_of_a_chart_are_printed_by_their_format(
    form: str, value: str, printed: str
) -> None:
    series = f"<ser>{make_numbers('cat', form, value)}{make_numbers('val', form, value)}</ser>"
    assert build_chart(series) == f"{printed} | {printed}"


def test_dates_of_a_chart_may_count_from_1904() -> None:
    series = f"<ser>{make_numbers('cat', 'yyyy', '43951')}{make_numbers('val', '0', '7')}</ser>"
    root = f'<chartSpace><date1904 val="1"/><chart>{series}</chart></chartSpace>'
    builder = Builder()
    add_chart(builder, etree.fromstring(root))
    assert builder.build().text == "2024-05-01 | 7"


def test_a_diagram_is_a_list() -> None:
    builder = Builder()
    xml = "<m><pt><t><p><r><t>A</t></r><r><t>sk</t></r></p><p><r><t>Lend</t></r></p></t></pt></m>"
    add_diagram(builder, etree.fromstring(xml))
    assert builder.build().text == "- Ask\n- Lend"
