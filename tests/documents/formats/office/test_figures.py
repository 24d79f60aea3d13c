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


def test_a_diagram_is_a_list() -> None:
    builder = Builder()
    xml = "<m><pt><t><p><r><t>A</t></r><r><t>sk</t></r></p><p><r><t>Lend</t></r></p></t></pt></m>"
    add_diagram(builder, etree.fromstring(xml))
    assert builder.build().text == "- Ask\n- Lend"
