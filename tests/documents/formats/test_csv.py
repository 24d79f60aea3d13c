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
