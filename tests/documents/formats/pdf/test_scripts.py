import pytest
from tests.documents.factories import make_pdf

from fathom.documents.formats.pdf.document import parse


def read_text(content: str) -> str:
    return parse(make_pdf(content)).text


@pytest.mark.parametrize(
    ("shift", "size", "text"),
    [
        (4, 6, "Volume: 10^6 litres"),
        (-2, 6, "Volume: 10_6 litres"),
        (4, 10, "Volume: 106 litres"),  # not smaller: no superscript
        (0, 6, "Volume: 106 litres"),
    ],
)
def test_small_shifted_digits_are_kept_apart_from_the_number_before(
    shift: int, size: int, text: str
) -> None:
    content = (
        f"BT /F1 10 Tf 50 700 Td (Volume: 10) Tj {shift} Ts /F1 {size} Tf (6) Tj"
        " 0 Ts /F1 10 Tf ( litres) Tj ET"
    )
    assert read_text(content) == text


def test_a_superscript_of_several_letters_has_one_sign_and_words_need_none() -> None:
    content = (
        "BT /F1 10 Tf 50 700 Td (about 10) Tj 4 Ts /F1 6 Tf (-12) Tj 0 Ts /F1 10 Tf ( m) Tj"
        " 4 Ts /F1 6 Tf (2) Tj 0 Ts /F1 10 Tf ( of water) Tj 4 Ts /F1 6 Tf (3) Tj ET"
    )
    assert read_text(content) == "about 10^-12 m2 of water^3"


def test_letters_whose_size_the_file_scales_are_compared_as_they_are_drawn() -> None:
    content = (
        "BT /F1 1 Tf 10 0 0 10 50 700 Tm (Tank 10) Tj 6 0 0 6 87 704 Tm (6) Tj"
        " 10 0 0 10 91 700 Tm ( litres) Tj ET"
    )
    assert read_text(content) == "Tank 10^6 litres"


def test_turned_digits_are_no_superscripts() -> None:
    assert "106" in read_text("BT /F1 10 Tf 0 1 -1 0 50 500 Tm (Tank 106) Tj ET")


def test_cells_of_tables_have_the_signs() -> None:
    rows = "".join(
        f"BT /F1 10 Tf 50 {y} Td ({name} 10) Tj 4 Ts /F1 6 Tf ({n}) Tj 0 Ts /F1 10 Tf"
        f" [-3000 (litres) -8000 (7{n}) -8000 (8{n})] TJ ET\n"
        for y, name, n in ((700, "Tank", 6), (686, "Pond", 7), (672, "Lake", 9))
    )
    assert read_text(rows).split("\n") == [
        "Tank 10^6 | litres | 76 | 86",
        "Pond 10^7 | litres | 77 | 87",
        "Lake 10^9 | litres | 79 | 89",
    ]
