import pytest

from fathom.text.language import detect_language


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
def test_english_and_indonesian_are_distinguished(text: str, expected: str) -> None:
    assert detect_language(text) == expected
