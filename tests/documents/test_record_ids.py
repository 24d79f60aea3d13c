"""What the `_id` of a record may be."""

import pytest

from fathom.documents.record_ids import MOST_BYTES, check_record_id


@pytest.mark.parametrize(
    "name",
    [
        *("7", "vaswani-npl/npl-9680", "https://example.org/a?b#c", "/etc/passwd", "a..b"),
        *("v1../x", "\u0645\u06cc\u200c\u062e", "C#", "a b", "x" * MOST_BYTES),
    ],
)
def test_ids_of_data_sets_are_taken(name: str) -> None:
    check_record_id(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("..", "part of a path"),
        ("x/../../keys.db", "part of a path"),
        ("x\\..\\keys.db", "part of a path"),
        ("../x", "part of a path"),
        ("x/ ..", "part of a path"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("\x1b[31m", "control character"),
        ("\ud800", "control character"),
        ("x" * (MOST_BYTES + 1), "longer than 1000 bytes"),
        ("é" * MOST_BYTES, "longer than 1000 bytes"),
    ],
)
def test_an_id_that_could_lead_elsewhere_or_cannot_be_shown_is_refused(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as told:
        check_record_id(name)
    assert name not in str(told.value).replace('".."', "")
