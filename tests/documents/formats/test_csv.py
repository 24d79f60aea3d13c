import pytest

from fathom.documents.formats.csv import is_csv, parse


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_rows_name_their_columns_whatever_the_delimiter(mark: str) -> None:
    text = f"Name{mark}City\nAnn{mark}Rome\nBob{mark}Bonn\n"
    assert parse(text.encode()).text == (
        "Name | City\nName: Ann | City: Rome\nName: Bob | City: Bonn"
    )


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_commas_in_texts_are_no_delimiters(mark: str) -> None:
    text = f"Name{mark}Note\nAnn{mark}a, b, c\nBob{mark}d, e, f\n"
    assert parse(text.encode()).text == (
        "Name | Note\nName: Ann | Note: a, b, c\nName: Bob | Note: d, e, f"
    )


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_a_line_that_states_the_delimiter_is_no_row(line: str) -> None:
    text = f"{line}Name;Fee\nAnn;1,50\nBob;2,50\n"
    assert parse(text.encode()).text == "Name | Fee\nName: Ann | Fee: 1,50\nName: Bob | Fee: 2,50"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line", ["", "sep=;\r\n", "sep=^\r\n"])
def test_decimal_commas_are_kept_in_files_of_excel(encoding: str, line: str) -> None:
    text = "Name;Preis;Stück\r\nStuhl;1.234,50;3\r\nTisch;99,9;1\r\n"
    text = text.replace(";", line[4:5] or ";")
    assert parse(f"{line}{text}".encode(encoding)).text == (
        "Name | Preis | Stück\nName: Stuhl | Preis: 1.234,50 | Stück: 3\n"
        "Name: Tisch | Preis: 99,9 | Stück: 1"
    )


def test_a_comma_in_each_line_is_no_delimiter_beside_tabs() -> None:
    assert parse(b"Name\tFee, EUR\nA, B\t1\nC, D\t2\n").text == (
        "Name | Fee, EUR\nName: A, B | Fee, EUR: 1\nName: C, D | Fee, EUR: 2"
    )


def test_one_column_of_decimal_commas_is_not_split() -> None:
    assert parse(b"Preis\n1,5\n1.250,75\n").text == "Preis\n1,5\n1.250,75"
    assert parse(b"a,b\n1,5\n2,5\n").text == "a | b\na: 1 | b: 5\na: 2 | b: 5"


@pytest.mark.parametrize("title", ["", "Zahlen\n"])
def test_years_name_columns(title: str) -> None:
    text = f"{title}Jahr;2023;2024\nUmsatz;1,5;2,5\nGewinn;-1,5;2\n"
    assert parse(text.encode()).text == (
        f"{title}Jahr | 2023 | 2024\nJahr: Umsatz | 2023: 1,5 | 2024: 2,5\n"
        "Jahr: Gewinn | 2023: -1,5 | 2024: 2"
    )


def test_entries_with_years_name_no_columns() -> None:
    text = "Weill,1900,1950\nBach,1685,1750\n"
    assert parse(text.encode()).text == "Weill | 1900 | 1950\nBach | 1685 | 1750"
    text = "1999,2000\n5,6\n"
    assert parse(text.encode()).text == "1999 | 2000\n5 | 6"


def test_a_title_above_a_table_does_not_hide_its_delimiter() -> None:
    assert parse(b"Sales, 2024\na;b;c\n1;2;3\n4;5;6\n").text == (
        "Sales, 2024\na | b | c\na: 1 | b: 2 | c: 3\na: 4 | b: 5 | c: 6"
    )


@pytest.mark.parametrize("end", ["", ";;"])
def test_a_title_above_the_names_of_the_columns_names_no_column(end: str) -> None:
    text = f"Fees of 2024{end}\nAll in euros{end}\n\nItem;Fee;Since\nSkip;1,5;2020\nBin;2;2021\n"
    assert parse(text.encode()).text == (
        "Fees of 2024\nAll in euros\nItem | Fee | Since\n"
        "Item: Skip | Fee: 1,5 | Since: 2020\nItem: Bin | Fee: 2 | Since: 2021"
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Name;;\nAnn;1;2\nBob;3;4\n", "Name |  | \nName: Ann | 1 | 2\nName: Bob | 3 | 4"),
        (";Fee\nSkip;5\nBin;6\n", " | Fee\nSkip | Fee: 5\nBin | Fee: 6"),
        ("Towns\nRome\nBonn\n", "Towns\nRome\nBonn"),
        ("Notes\nRome, Bonn\nOslo\n", "Notes\nRome | Bonn\nOslo"),
    ],
)
def test_a_row_of_one_cell_above_no_names_is_no_title(text: str, read: str) -> None:
    assert [line.strip() for line in parse(text.encode()).text.split("\n")] == [
        line.strip() for line in read.split("\n")
    ]


def test_ragged_and_quoted_rows_are_read() -> None:
    data = b'Name,Note\r\nAnn,"a, b\nc",extra\r\nBob\r\n'
    assert parse(data).text == "Name | Note\nName: Ann | Note: a, b c | extra\nName: Bob"


def test_a_text_too_long_for_a_name_stands_before_no_value() -> None:
    question, essay = "q" * 500, "e" * 501
    assert parse(f"{question},{essay},Age\nyes,no,7\n".encode()).text == (
        f"{question} | {essay} | Age\n{question}: yes | no | Age: 7"
    )


def test_a_quotation_mark_that_is_never_closed_swallows_no_rows() -> None:
    assert parse(b'Pipe\tSize\nA\t"5 inch\nB\t6\n').text == (
        'Pipe | Size\nPipe: A | Size: "5 inch\nPipe: B | Size: 6'
    )


def test_a_table_without_column_names_is_read() -> None:
    assert parse(b"1,2\na,b\n").text == "1 | 2\na | b"


def test_csv_is_recognised() -> None:
    assert is_csv("a,b,c\n1,2,3\n4,5,6")
    assert not is_csv("One, two.\nThree, four, five.\nSix")
