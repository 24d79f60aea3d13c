"""The valid values of the `_id` of a record."""

import pytest

from fathom.documents.record_ids import (
    MAX_ID_BYTES,
    check_record_id,
    is_file_id,
    name_record,
    restore_name,
)


@pytest.mark.parametrize(
    "name",
    [
        *("7", "vaswani-npl/npl-9680", "https://example.org/a?b#c", "/etc/passwd", "a..b"),
        *("v1../x", "\u0645\u06cc\u200c\u062e", "C#", "a b", "x" * MAX_ID_BYTES),
    ],
)
def test_ids_of_data_sets_are_accepted(name: str) -> None:
    check_record_id(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("..", "part of a path"),
        ("x/../../keys.db", "part of a path"),
        ("x\\..\\keys.db", "part of a path"),
        ("../x", "part of a path"),
        ("x/ ..", "part of a path"),
        ("0123456789abcdef", "form of the id of a file"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("\x1b[31m", "control character"),
        ("\ud800", "control character"),
        ("x" * (MAX_ID_BYTES + 1), "longer than 1000 bytes"),
        ("é" * MAX_ID_BYTES, "longer than 1000 bytes"),
    ],
)
def test_an_id_that_leads_elsewhere_or_cannot_be_shown_is_refused(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as raised:
        check_record_id(name)
    assert name not in str(raised.value).replace('".."', "")


def test_no_record_has_the_id_of_a_file_and_no_two_share_one() -> None:
    names = [
        f"{'_' * count}{'0123456789abcdef'[:length]}" for count in range(4) for length in (15, 16)
    ]
    names += ["0123456789ABCDEF", "0123456789abcdef\n", "0123456789abcdef0", "d1", "_d1", ""]
    ids = [name_record(name) for name in names]
    assert len(set(ids)) == len(names)
    assert [name for name in names if is_file_id(name)] == ["0123456789abcdef"]
    assert not any(map(is_file_id, ids))
    assert [restore_name(name) for name in ids] == names
    assert [name for name, record_id in zip(names, ids, strict=True) if name != record_id] == [
        f"{'_' * count}0123456789abcdef" for count in range(4)
    ]
    assert restore_name("0123456789abcdef") == "0123456789abcdef"  # of a file
