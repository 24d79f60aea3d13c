import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.formats.office.cells import format_value
from fathom.documents.formats.office.number_format import print_number, read_date, read_format

ACCOUNTS = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'
EUROS = '_-* #,##0.00\\ [$€-407]_-;\\-* #,##0.00\\ [$€-407]_-;_-* "-"??\\ [$€-407]_-;_-@_-'


@pytest.mark.parametrize(
    ("form", "value", "printed"),
    [
        ("General", -3.25, "-3.25"),
        ('General" Std"', 3, "3 Std"),
        ("0.00E+00", 1234.5, "1234.5"),
        ("# ?/?", 0.5, "0.5"),
        (ACCOUNTS, -5, "-$5"),
        (ACCOUNTS, 0, "$0"),
        (EUROS, -7.5, "-7.5 €"),
        ("$#,##0_);[Red]($#,##0)", -3, "-$3"),
        ("[$USD] #,##0;[Red][$USD] -#,##0", -3, "-USD 3"),
        ("+0.0%;-0.0%", 0.03, "3%"),
        ("+0.0%;-0.0%", -0.03, "-3%"),
        ('0 "profit";0 "loss"', -5, "5 loss"),
        ("0;[Red]0", -5, "-5"),
        ('"Yes";;"No"', 1, "Yes"),
        ('"Yes";;"No"', 0, "No"),
        ('[<1]0.0" g";0" kg"', 0.5, "0.5 g"),
        ('[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', -5, "-5"),
        ('"ID-"0000', 12, "ID-0012"),
        ('"A"\\-000', 5, "A-005"),
        ("(000) 000-0000", 301234567, "(030) 123-4567"),
        ("000-000", 1234567, "1234-567"),
        ('"a;b"0;"c"0', 1, "a;b1"),
        ('0"€"/"kg"', 4, "4€/kg"),
        ('0"+"', 5, "5+"),
        ("0,.0", 1500, "1.5"),
        (";;;", 5, "5"),
        ("0;;", -5, "-5"),
        ("@", 5, "5"),
        ('0"' + "x" * 300 + '"', 5, "5"),
        ("[unclosed 0", 5, "[unclosed 5"),
    ],
)
def test_a_number_is_printed_as_its_format_says(form: str, value: float, printed: str) -> None:
    assert print_number(value, read_format(form)) == printed


@given(st.text('0#?.,%;"\\_*[]()+-$<>=kg @E', max_size=30), st.floats(-1e9, 1e9))
def test_any_format_can_be_read(form: str, value: float) -> None:
    stated = read_format(form)
    printed = print_number(value, stated)
    assert printed
    if not stated.parts:
        assert printed == format_value(value)


def test_dates_count_from_1900_or_1904() -> None:
    form = read_format("yyyy-mm-dd")
    assert form.is_date
    assert format_value(read_date(45413, form, from_1904=False)) == "2024-05-01"
    assert format_value(read_date(43951, form, from_1904=True)) == "2024-05-01"
    assert read_date(1e12, form, from_1904=False) == "#VALUE!"
