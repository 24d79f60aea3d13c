import pytest

from fathom.documents.language import detect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The quick brown fox jumps over the lazy dog and runs into the woods.", "en"),
        ("Undang-undang ini mulai berlaku pada tanggal diundangkan dan wajib ditaati.", "id"),
        ("How many days of leave do I have?", "en"),
        ("Berapa hari cuti yang saya dapat?", "id"),
        ("Der schnelle braune Fuchs springt über den faulen Hund.", "und"),
        ("Однажды в студеную зимнюю пору", "und"),
        ("12 34 56", "und"),
        ("", "und"),
    ],
)
def test_tells_english_from_indonesian(text: str, expected: str) -> None:
    assert detect(text) == expected
