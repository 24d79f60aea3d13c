"""Typed tables: kinds, units and scales of columns, and the column that names the rows."""

from tests.tables.ports import PORTS_CSV, read_table


def test_columns_have_a_kind_by_their_cells() -> None:
    table = read_table()
    kinds = [column.kind for column in table.columns]
    assert kinds == ["text", "text", "date", "number", "number", "duration"]
    assert table.columns[table.key].name == "Port"
    assert table.title == "Harbours of the coast"


def test_a_head_gives_unit_and_scale() -> None:
    column = read_table().columns[4]
    assert column.unit == "million tonnes"
    assert column.scale == 1_000_000


def test_most_cells_give_the_unit_where_the_head_has_none() -> None:
    table = read_table("Ship,Weight,Crew\nAlma,84 t,12\nBora,120 t,9\nCora,62 t,7\n", "ships.csv")
    assert table.columns[1].unit == "t"
    assert table.get_value(1, 1) == 120


def test_equal_tables_of_two_formats_have_equal_values() -> None:
    first, second = read_table(), read_table(PORTS_CSV, "ports.csv")
    assert [[cell.text for cell in content] for content in first.contents] == [
        [cell.text for cell in content] for content in second.contents
    ]
    assert [column.kind for column in first.columns] == [column.kind for column in second.columns]


def test_a_column_that_only_numbers_the_rows_is_an_order() -> None:
    table = read_table("No,Ship,Crew\n1,Alma,12\n2,Bora,9\n3,Cora,7\n", "ships.csv")
    assert [column.is_order for column in table.columns] == [True, False, False]
    assert table.key == 1


def test_amounts_that_look_like_years_are_numbers_where_the_head_has_a_unit() -> None:
    table = read_table("Ship,Launch,Weight (t)\nAlma,1911,1200\nBora,1925,1750\n", "ships.csv")
    assert [column.kind for column in table.columns] == ["text", "date", "number"]
